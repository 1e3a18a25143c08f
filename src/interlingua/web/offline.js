// A transcript in a file of its own: what it shows is in the file, without any request.

import { goTo, transcript } from "./transcript.js";

function source({ row, messages, summary }) {
  const places = new Map(messages.map(({ id }, place) => [id, place]));
  return {
    row,
    page: async ({ limit, before, after, around }) => {
      const [start, end] = range(limit, places.get(before), places.get(after), places.get(around));
      const part = messages.slice(start, end);
      return { messages: part, text: null, has_earlier: start > 0, has_later: end < messages.length };
    },
    summary: async () => summary,
    link: (id) => `#${encodeURIComponent(id)}`,
    href: () => "#",
    go: () => {},
  };

  function range(limit, before, after, around) {
    if (after !== undefined) return [after + 1, Math.min(messages.length, after + 1 + limit)];
    if (around !== undefined) {
      const start = Math.max(0, around - Math.floor(limit / 2));
      return [start, Math.min(messages.length, start + limit)];
    }
    const end = before ?? messages.length;
    return [Math.max(0, end - limit), end];
  }
}

function messageInHash() {
  try {
    return decodeURIComponent(location.hash.slice(1)) || null;
  } catch {
    return null;
  }
}

async function show() {
  const exported = JSON.parse(document.getElementById("conversation").textContent);
  const view = document.createElement("div");
  view.className = "view sessions";
  document.getElementById("main").append(view);
  const known = exported.messages.some(({ id }) => id === messageInHash()) ? messageInHash() : null;
  const shown = await transcript(view, source(exported), known);
  addEventListener("hashchange", () => messageInHash() && goTo(shown, messageInHash()));
}

show();
