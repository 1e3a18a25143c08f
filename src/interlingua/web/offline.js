// A transcript in a file of its own: what it shows is in the file, without any request.

import { memorySource } from "./memory.js";
import { goTo, transcript } from "./transcript.js";

const PLACES = { link: (id) => `#${encodeURIComponent(id)}`, href: () => "#", go: () => {} };

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
  const shown = await transcript(view, memorySource(exported, PLACES), known);
  addEventListener("hashchange", () => messageInHash() && goTo(shown, messageInHash()));
}

show();
