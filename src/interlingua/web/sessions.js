// Sessions in the store: found by words and filters, and the transcript of one.

import { ask, askText } from "./api.js";
import { choice } from "./convert.js";
import { icon } from "./icons.js";
import { field, fill, h, when } from "./dom.js";
import { exportPanel } from "./export.js";
import { address, go as goToAddress } from "./route.js";
import { goTo, transcript } from "./transcript.js";
import { viewAs } from "./viewas.js";

const PAGE = 100;
const PAUSE = 200;
const SOURCES = { "": "all", chat: "chat", gateway: "gateway", task: "tasks" };
const TIMES = { "": "any time", 1: "the last day", 7: "the last week", 30: "the last month" };

export async function sessionsView(element, id, part, signal) {
  fill(element, h("p", { role: "status" }, "Loading"));
  return id ? one(element, id, part, signal) : listing(element, signal);
}

async function listing(element, signal) {
  const controls = {
    q: h("input", { type: "search", autocomplete: "off" }),
    source: named(SOURCES),
    model: h("input", { type: "search", autocomplete: "off", placeholder: "any" }),
    folder: h("input", { type: "search", autocomplete: "off", placeholder: "any" }),
    days: named(TIMES),
  };
  const list = h("ul", { "aria-label": "Sessions", class: "sessions" });
  const hits = h("section", { "aria-label": "Found in messages", hidden: true });
  const state = h("p", { role: "status", class: "quiet" });
  const rest = h("button", { type: "button", hidden: true }, "Older sessions");
  let latest = 0;
  let last = null;

  const query = () => {
    const { days, ...others } = controls;
    const filters = Object.entries(others).map(([name, control]) => [name, control.value.trim()]);
    const made = new URLSearchParams(filters.filter(([, value]) => value));
    if (days.value) made.set("since", new Date(Date.now() - days.value * 86_400_000).toISOString());
    return made;
  };
  const load = async (more) => {
    const number = ++latest;
    const params = query();
    params.set("limit", PAGE);
    if (more) params.set("before", last);
    const found = await ask("GET", `/sessions?${params}`);
    if (number !== latest || signal.aborted) return;
    if (!more) fill(list);
    last = found.sessions.at(-1)?.id ?? last;
    list.append(...found.sessions.map(line));
    const count = list.children.length;
    fill(state, count ? `${count}${found.has_more ? " and more" : ""} found` : "No session.");
    rest.hidden = !found.has_more;
    if (!more) await inMessages(controls.q.value.trim(), hits, () => number === latest && !signal.aborted);
  };
  let waiting = null;
  const soon = () => {
    const words = controls.q.value.trim().toLowerCase();
    for (const each of list.children) each.hidden = !each.dataset.words.includes(words);
    clearTimeout(waiting);
    waiting = setTimeout(() => load(false), PAUSE);
  };
  for (const control of Object.values(controls)) control.addEventListener("input", soon);
  rest.addEventListener("click", () => load(true));
  await load(false);
  fill(
    element,
    h("h1", {}, "Sessions"),
    h(
      "div",
      { class: "row", role: "search" },
      field("Search", controls.q),
      field("Source", controls.source),
      field("Model", controls.model),
      field("Folder", controls.folder),
      field("Changed", controls.days),
    ),
    state,
    list,
    rest,
    hits,
  );
}

function named(words) {
  const made = choice(Object.keys(words), "");
  for (const option of made.options) option.textContent = words[option.value];
  return made;
}

/** Messages in which the words occur, below the sessions. */
async function inMessages(words, section, isWanted) {
  section.hidden = true;
  if (!words) return;
  const { messages } = await ask("GET", `/search?limit=20&q=${encodeURIComponent(words)}`);
  if (!isWanted() || !messages.length) return;
  const hit = ({ session_id: id, session_name: name, message_id: message, role, snippet, created_at: at }) =>
    h(
      "li",
      {},
      h(
        "a",
        { href: to(id, message) },
        h("span", { class: "name" }, snippet),
        h("span", { class: "quiet" }, [role, name, when(at)].join(" · ")),
      ),
    );
  fill(section, h("h2", {}, "In messages"), h("ul", { class: "sessions" }, messages.map(hit)));
  section.hidden = false;
}

function line(row) {
  const facts = [row.source, `${row.message_count} messages`, row.active_model, row.parent_id ? "a branch" : null, when(row.updated_at)];
  const words = [row.name, row.workspace_path, row.active_model].filter(Boolean).join(" ").toLowerCase();
  return h(
    "li",
    { "data-words": words },
    h(
      "a",
      { href: to(row.id) },
      h("span", { class: "name" }, row.name || row.workspace_path),
      h("span", { class: "quiet" }, facts.filter(Boolean).join(" · ")),
    ),
  );
}

const to = (id, message) => address("sessions", id, message);

/** A session as the gateway tells it. */
function source(row) {
  const path = `/sessions/${encodeURIComponent(row.id)}`;
  return {
    row,
    page: async (query) => {
      const text = await askText("GET", `${path}/messages?${new URLSearchParams(query)}`);
      const part = text.slice(text.indexOf("[") + 1, text.lastIndexOf("]"));
      return { ...JSON.parse(text), text: part };
    },
    summary: () => ask("GET", `${path}/summary`),
    link: (message) => to(row.id, message),
    href: (id) => to(id),
    go: (id) => goToAddress(to(id)),
  };
}

async function one(element, id, message, signal) {
  const [row, { formats }] = await Promise.all([ask("GET", `/sessions/${encodeURIComponent(id)}`), ask("GET", "/convert")]);
  const tools = (shown) => [
    h("a", { class: "button", href: `/playground?session=${encodeURIComponent(id)}` }, icon("flask-conical"), "Try on other models"),
    viewAs(formats, () => shown.text, row.active_model),
    exportPanel(row, (place) => to(id, place)),
  ];
  let shown = null;
  const showing = transcript(element, source(row), message, signal, tools);
  showing.then((made) => (shown = made));
  await showing;
  return (next, part) => {
    if (next !== id || !part || !shown) return false;
    goTo(shown, part);
    return true;
  };
}
