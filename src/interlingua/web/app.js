// The views by their addresses, and the question for a key where the gateway asks for one.

import { Refused, setKey } from "./api.js";
import { fill, h } from "./dom.js";
import { convertView } from "./convert.js";
import { requestsView } from "./requests.js";
import { sessionsView } from "./sessions.js";
import { tasksView } from "./tasks.js";

const VIEWS = { tasks: tasksView, sessions: sessionsView, convert: convertView, requests: requestsView };
const main = document.getElementById("main");
let leaving = new AbortController();
let current = null;

function place() {
  const [name, id, part] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  return { name: VIEWS[name] ? name : "tasks", id: id || null, part: part || null };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function mark(name) {
  for (const link of document.querySelectorAll("nav[aria-label=Main] a")) {
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

async function show() {
  if (location.hash === "#main") return;
  const { name, id, part } = place();
  mark(name);
  if (current?.name === name && current.go?.(id, part)) return;
  leaving.abort();
  leaving = new AbortController();
  const view = { name };
  current = view;
  const element = h("div", { class: `view ${name}` });
  fill(main, element);
  try {
    view.go = await VIEWS[name](element, id, part, leaving.signal);
  } catch (odd) {
    if (current === view) fill(element, h("p", { role: "alert" }, odd.message));
    if (!(odd instanceof Refused)) throw odd;
  }
}

function askForKey(event) {
  if (document.getElementById("key")) return;
  leaving.abort();
  current = null;
  const input = h("input", { id: "key", type: "password", autocomplete: "off", required: true });
  const useKey = (submitted) => {
    submitted.preventDefault();
    setKey(input.value.trim());
    show();
  };
  fill(
    main,
    h(
      "form",
      { class: "key", onsubmit: useKey },
      h("h1", {}, "API key required"),
      h("p", { role: "alert" }, event.detail),
      h("label", { class: "field" }, h("span", {}, "Key"), input),
      h("p", { class: "quiet" }, "It stays in this tab, until the tab is closed."),
      h("button", { type: "submit" }, "Use this key"),
    ),
  );
  input.focus();
}

addEventListener("hashchange", show);
addEventListener("key-wanted", askForKey);
show();
