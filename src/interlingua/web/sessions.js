// Sessions in the store and those of other agents on this machine: found by words and filters, and
// the transcript of one.

import { ask, askText } from "./api.js";
import { field, fill, h, lit, wideField } from "./dom.js";
import { exportPanel } from "./export.js";
import { ago, plural, spent, when } from "./format.js";
import { icon } from "./icons.js";
import { memorySource } from "./memory.js";
import { badge, copyButton, empty, head, named, snippet } from "./parts.js";
import { address, go as goToAddress, remember, remembered, titled } from "./route.js";
import { goTo, transcript } from "./transcript.js";
import { viewAs } from "./viewas.js";

const PAGE = 100;
const PAUSE = 200;
const OWN = { chat: "Chat", gateway: "Gateway", task: "Tasks" };
const TIMES = { "": "Any time", 1: "Last day", 7: "Last week", 30: "Last month" };

export async function sessionsView(element, id, part, signal) {
  if (!id) return listing(element, signal);
  return id.includes(":") ? elsewhere(element, id, part, signal) : one(element, id, part, signal);
}

async function listing(element, signal) {
  const wanted = remembered();
  const { transcripts, titles } = await others();
  const agents = [...new Set(transcripts.map((row) => row.source))].sort();
  const known = { ...OWN, ...titles };
  const sources = { "": "All", ...OWN, ...Object.fromEntries(agents.map((each) => [each, titles[each] ?? each])) };
  const input = (name, placeholder) => h("input", { type: "search", autocomplete: "off", placeholder, value: wanted[name] ?? "" });
  const controls = {
    q: input("q", "Words in names and messages"),
    source: named(sources, wanted.source),
    model: input("model", "Any"),
    folder: input("folder", "Any"),
    days: named(TIMES, wanted.days),
  };
  const list = h("ul", { "aria-label": "Sessions", class: "sessions" });
  const hits = h("section", { "aria-label": "Found in messages", hidden: true });
  const state = h("p", { role: "status", class: "quiet" });
  const rest = h("button", { type: "button", hidden: true }, "Older sessions");
  const none = h("div", { hidden: true });
  let latest = 0;
  let last = null;
  let stored = [];
  const isAgent = () => agents.includes(controls.source.value);
  /** Sessions of other agents that fit the filters. */
  const matching = (params) => {
    const source = params.get("source");
    if (source && source in OWN) return [];
    const fits = (text, part) => !part || (text ?? "").toLowerCase().includes(part.toLowerCase());
    const since = params.get("since");
    return transcripts.filter(
      (row) =>
        (!source || row.source === source) &&
        fits(`${row.name} ${row.workspace_path} ${row.active_model}`, params.get("q")) &&
        fits(row.active_model, params.get("model")) &&
        fits(row.workspace_path, params.get("folder")) &&
        (!since || row.updated_at >= since),
    );
  };

  const query = () => {
    const { days, ...others } = controls;
    const filters = Object.entries(others).map(([name, control]) => [name, control.value.trim()]);
    const made = new URLSearchParams(filters.filter(([, value]) => value));
    remember(Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.value.trim()])));
    if (days.value) made.set("since", new Date(Date.now() - Number(days.value) * 86_400_000).toISOString());
    return made;
  };
  const load = async (more) => {
    const number = ++latest;
    const params = query();
    params.set("limit", String(PAGE));
    params.set("costs", "true");
    if (more) params.set("before", last);
    const found = isAgent() ? { sessions: [], has_more: false } : await ask("GET", `/sessions?${params}`);
    if (number !== latest || signal.aborted) return;
    stored = more ? [...stored, ...found.sessions] : found.sessions;
    last = found.sessions.at(-1)?.id ?? last;
    const rows = [...stored, ...matching(params)].sort((a, b) => new Date(b.updated_at).getTime() - new Date(a.updated_at).getTime());
    fill(list, rows.map((row) => line(row, controls.q.value, known)));
    const sessions = `${plural(rows.length, "session")}${found.has_more ? " and more" : ""}`;
    fill(state, sessions);
    none.hidden = rows.length > 0;
    fill(none, rows.length ? null : nothing(params.size > 2));
    rest.hidden = !found.has_more;
    if (!more) await inMessages(controls.q.value.trim(), hits, () => number === latest && !signal.aborted);
    if (hits.hidden) return;
    none.hidden = true;
    fill(state, `${sessions} · ${plural(hits.querySelectorAll("li").length, "message")}`);
  };
  let waiting = null;
  const soon = () => {
    const words = controls.q.value.trim().toLowerCase();
    for (const each of list.querySelectorAll("li")) each.hidden = !each.dataset.words.includes(words);
    clearTimeout(waiting);
    waiting = setTimeout(() => signal.aborted || load(false), PAUSE);
  };
  for (const control of Object.values(controls)) control.addEventListener("input", soon);
  rest.addEventListener("click", () => load(true));
  await load(false);
  fill(
    element,
    head("Sessions", state),
    h(
      "div",
      { class: "toolbar", role: "search" },
      wideField("Search", controls.q),
      field("Source", controls.source),
      field("Model", controls.model),
      field("Folder", controls.folder),
      field("Changed", controls.days),
    ),
    list,
    none,
    h("p", { class: "center" }, rest),
    hits,
  );
}

/** Those of other agents; a gateway that does not tell has none. */
async function others(limit = 500) {
  try {
    return await ask("GET", `/transcripts?limit=${limit}`);
  } catch {
    return { transcripts: [], tools: [], titles: {} };
  }
}

function nothing(filtered) {
  if (filtered) return empty("search", "No session matches these filters", "Search looks at names, folders, models and the words of messages.");
  return empty("messages-square", "No sessions yet", "Chats, tasks and sessions over the API are listed here, together with those of coding agents on this machine.", h("a", { class: "button first", href: address("tasks") }, "Start a task"));
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
        h("span", { class: "name" }, lit(snippet, words)),
        h("span", { class: "quiet" }, [role, name, when(at)].join(" · ")),
      ),
    );
  fill(section, h("h2", {}, "In messages"), h("ul", { class: "sessions" }, messages.map(hit)));
  section.hidden = false;
}

function line(row, looked, titles) {
  const isOther = !("turn_in_flight" in row);
  const id = isOther ? `${row.source}:${row.id}` : row.id;
  const words = [row.name, row.workspace_path, row.active_model ?? row.answered_by].filter(Boolean).join(" ").toLowerCase();
  const facts = [row.active_model ?? row.answered_by, row.workspace_path, row.parent_id ? "a branch" : null];
  return h(
    "li",
    { "data-words": words },
    h(
      "a",
      { href: to(id) },
      h("span", { class: "name", title: row.name || row.workspace_path }, lit(row.name || row.workspace_path || row.id, looked)),
      h("span", { class: "quiet" }, lit(facts.filter(Boolean).join(" · "), looked)),
    ),
    h("span", { class: "far" }, badge(titles[row.source] ?? row.source, isOther ? "accent" : null)),
    h("span", { class: "num far messages" }, plural(row.message_count, "message")),
    h("span", { class: "num" }, spent(row, 4)),
    h("span", { class: "num quiet", title: when(row.updated_at) }, ago(row.updated_at)),
    copyButton(() => resume(id, isOther), isOther ? "Copy the command that resumes it" : "Copy the command that continues it"),
  );
}

/** The command that goes on with a session: in the terminal chat, or in another tool. */
function resume(id, isOther, tool = "chat") {
  if (!isOther && tool === "chat") return `interlingua chat --resume ${id}`;
  return `interlingua resume ${isOther ? "" : "store:"}${id} --in ${tool}`;
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
    search: async (q) => (await ask("GET", `/search?${new URLSearchParams({ q, session: row.id, limit: "20" })}`)).messages,
    link: (message) => to(row.id, message),
    href: (id) => to(id),
    go: (id) => goToAddress(to(id)),
  };
}

async function one(element, id, message, signal) {
  const [row, { formats }, { tools: agents }] = await Promise.all([ask("GET", `/sessions/${encodeURIComponent(id)}`), ask("GET", "/convert"), others(1)]);
  titled(row.name || row.workspace_path);
  const tools = (shown) => {
    const view = viewAs(formats, () => shown.text, row.active_model);
    return {
      before: [toAll()],
      actions: [h("a", { class: "button", href: `/playground?session=${encodeURIComponent(id)}` }, icon("flask-conical"), "Try on other models")],
      above: [view.output],
      beside: [resuming(id, false, agents), view.control, exportPanel(row, (place) => to(id, place))],
    };
  };
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

/** A session of another agent, read from its files. */
async function elsewhere(element, name, message, signal) {
  const at = name.indexOf(":");
  const [agent, id] = [name.slice(0, at), name.slice(at + 1)];
  const [found, { tools }] = await Promise.all([ask("GET", `/transcripts/${encodeURIComponent(agent)}/${encodeURIComponent(id)}`), others()]);
  const places = { link: (part) => to(name, part), href: (each) => to(each), go: (each) => goToAddress(to(each)) };
  const around = { before: [toAll()], beside: [resuming(name, true, tools.filter((each) => each !== agent))] };
  const shown = await transcript(element, memorySource(found, places), message, signal, () => around);
  return (next, part) => {
    if (next !== name || !part) return false;
    goTo(shown, part);
    return true;
  };
}

/** The way back to the list. */
function toAll() {
  return h("a", { href: address("sessions"), class: "back" }, icon("arrow-left"), "All sessions");
}

/** The command that carries a session over, for the tool that is chosen. */
function resuming(name, isOther, tools) {
  const out = h("div", {});
  const names = [...new Set(["chat", ...tools])];
  const choose = (tool) => fill(out, snippet(resume(name, isOther, tool), "the command"));
  const tool = h("select", {}, names.map((each) => h("option", { value: each }, each)));
  tool.addEventListener("change", () => choose(tool.value));
  choose(names[0]);
  return h("div", { class: "resuming" }, field("Resume in", tool), out);
}
