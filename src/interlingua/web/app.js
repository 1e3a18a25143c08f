// The views by their addresses, and the question for a key where the gateway asks for one. A view is
// a function of its element, what it shows, the part of that, and a signal that it was left; what it
// returns is asked whether it can show another address itself. A new one is a line in VIEWS here, a
// line in route.js and a link in index.html.

import { ask, hasKey, Refused, setKey, unreachable } from "./api.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { empty, loading, problem } from "./parts.js";
import { go, moved, placeOf, titled } from "./route.js";

const VIEWS = {
  overview: async () => (await import("./overview.js")).overviewView,
  tasks: async () => (await import("./tasks.js")).tasksView,
  sessions: async () => (await import("./sessions.js")).sessionsView,
  requests: async () => (await import("./requests.js")).requestsView,
  convert: async () => (await import("./convert.js")).convertView,
  playground: async () => (await import("./playground.js")).playgroundView,
  admin: async () => (await import("./admin.js")).adminView,
  missing: async () => missingView,
};
const LATE = 150; // milliseconds before a view says that it loads
const main = document.getElementById("main");
let leaving = new AbortController();
let current = null;

/** @type {NodeListOf<HTMLAnchorElement>} */
const links = document.querySelectorAll(".side nav a");

/** Mark the link of a view, whose words are returned. */
function mark(name) {
  let title = "";
  for (const link of links) {
    if (link.getAttribute("href") === (name === "overview" ? "/" : `/${name}`)) {
      link.setAttribute("aria-current", "page");
      title = link.textContent.trim();
    } else {
      link.removeAttribute("aria-current");
    }
  }
  return title;
}

/** Administration is there for keys that administer. */
async function offerAdmin() {
  const link = document.getElementById("admin");
  link.hidden = true;
  if (!hasKey()) return;
  const { admin } = await ask("GET", "/keys").catch(() => ({ admin: false }));
  link.hidden = !admin;
}

async function show() {
  if (location.hash === "#main") return;
  const elsewhere = moved(location.hash);
  if (elsewhere) history.replaceState(null, "", elsewhere);
  const found = placeOf(location.pathname, location.hash);
  const name = VIEWS[found.name] ? found.name : "missing";
  const title = mark(name);
  if (current?.name === name && current.go?.(found.id, found.part)) return;
  titled(title);
  leaving.abort();
  leaving = new AbortController();
  const view = { name };
  current = view;
  const element = h("div", { class: `view ${name}` });
  fill(main, element);
  main.scrollTop = 0;
  const late = setTimeout(() => element.firstChild || fill(element, loading()), LATE);
  try {
    const drawn = await VIEWS[name]().catch(unreachable);
    if (current === view) view.go = await drawn(element, found.id, found.part, leaving.signal);
  } catch (odd) {
    if (current === view && odd.status === 404) missingView(element);
    else if (current === view) fill(element, problem(odd.message, odd.status === 0 ? () => location.reload() : again));
    if (!(odd instanceof Refused)) throw odd;
  }
  clearTimeout(late);
}

function again() {
  current = null;
  show();
}

function missingView(element) {
  const home = h("a", { class: "button first", href: "/" }, "Go to the overview");
  fill(element, empty("circle-help", "There is nothing at this address", "It may have been mistyped, or its content was deleted.", home));
}

/** Links to views are followed without a reload. */
function follow(event) {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (link.getAttribute("href").startsWith("#") || placeOf(link.pathname, "").name === "missing") return;
  event.preventDefault();
  if (link.href !== location.href) go(`${link.pathname}${link.search}${link.hash}`);
  else show();
}

function askForKey(event) {
  if (document.getElementById("key")) return;
  leaving.abort();
  current = null;
  const input = h("input", { id: "key", type: "password", autocomplete: "off", required: true });
  const useKey = (submitted) => {
    submitted.preventDefault();
    setKey(input.value.trim());
    offerAdmin();
    show();
  };
  fill(
    main,
    h(
      "form",
      { class: "key card", onsubmit: useKey },
      h("span", { class: "disc" }, icon("key-round")),
      h("h1", {}, "API key required"),
      h("p", { role: "alert" }, (hasKey() && event.detail) || "Every request to this gateway needs a key."),
      h("label", { class: "field" }, h("span", {}, "Key"), input),
      h("p", { class: "quiet" }, "It is stored in this tab only, until the tab is closed."),
      h("button", { type: "submit", class: "first" }, "Use this key"),
    ),
  );
  input.focus();
}

const THEMES = { system: "monitor", light: "sun", dark: "moon" };

/** A button that goes through the system's colours, light and dark. */
function themeButton() {
  const names = Object.keys(THEMES);
  const root = document.documentElement;
  const now = () => root.dataset.theme ?? "system";
  const words = () => `Colours: ${now()}`;
  const made = h("button", { type: "button", class: "bare theme" });
  const draw = () => {
    fill(made, icon(THEMES[now()]), h("span", { class: "label" }, words()));
    made.title = words();
  };
  draw();
  made.addEventListener("click", () => {
    const next = names[(names.indexOf(now()) + 1) % names.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("interlingua-theme", next);
    } catch {
      // it holds until the page is left
    }
    draw();
  });
  return made;
}

for (const link of links) {
  const words = h("span", { class: "label" }, link.textContent);
  fill(link, icon(link.dataset.icon), words);
  link.title = words.textContent;
}
document.getElementById("foot").append(themeButton());
offerAdmin();
addEventListener("click", follow);
addEventListener("popstate", show);
addEventListener("moved", show);
addEventListener("key-wanted", askForKey);
show();
