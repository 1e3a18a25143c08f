// What passes the gateway, as it ends; found by time, model, status and key.

import { ask, askBlob, follow } from "./api.js";
import { field, fill, h, wideField } from "./dom.js";
import { save } from "./export.js";
import { ago, clock, count, plural, spent, took, when } from "./format.js";
import { keyList } from "./keylist.js";
import { badge, button, empty, head, named } from "./parts.js";
import { oneRequest } from "./request.js";
import { address, remember, remembered } from "./route.js";

const PAGE = 100;
const MOST = 500;
const COLUMNS = ["Time", "Status", "Model", "Route", "Input", "Output", "First byte", "Took", "Cost", "Losses", "Key"];
const FAR = new Set(["Route", "Input", "Output", "First byte", "Took", "Losses", "Key"]); // left out where there is little room
const NUMBERS = new Set(["Input", "Output", "First byte", "Took", "Cost", "Losses"]);
const STATUSES = { "": "All", ok: "Successful", failed: "Failed", "4xx": "4xx", "5xx": "5xx", 429: "429" };
const RANGES = { "": "Any time", 1: "Last hour", 24: "Last 24 hours", 168: "Last 7 days", 720: "Last 30 days", own: "From … until …" };

export async function requestsView(element, id, _part, signal) {
  const { keys, admin } = await ask("GET", "/keys");
  const names = new Map(keys.map((key) => [key.id, key.name]));
  await (id ? oneRequest(element, id, names) : allRequests(element, keys, names, admin, signal));
}

async function allRequests(element, keys, names, admin, signal) {
  const wanted = remembered();
  const model = h("input", { type: "search", autocomplete: "off", list: "asked", placeholder: "Whole name of a model or route", value: wanted.model ?? "" });
  const passed = h("datalist", { id: "asked" });
  model.addEventListener("focus", () => suggest(passed), { once: true });
  const status = named(STATUSES, wanted.status);
  const key = named({ "": "All", ...Object.fromEntries(names) }, wanted.key);
  const range = named(RANGES, wanted.since || wanted.until ? "own" : wanted.hours);
  const since = h("input", { type: "datetime-local", value: wanted.since ?? "" });
  const until = h("input", { type: "datetime-local", value: wanted.until ?? "" });
  const own = h("div", { class: "toolbar" }, field("From", since), field("Until", until));
  const state = h("p", { role: "status", class: "quiet live" });
  const older = h("button", { type: "button", hidden: true }, "Older requests");
  const body = h("tbody", {});
  const none = h("div", { hidden: true });
  const grid = h("table", { "aria-label": "Requests", class: names.size ? "requests" : "requests keyless" }, heads(), body);
  const table = new Table(body, names, () => (older.hidden = false), () => shown());
  let live = new AbortController();

  const chosen = () => {
    const mine = range.value === "own" ? { since: since.value, until: until.value } : { hours: range.value };
    return { model: model.value.trim(), status: status.value, key: key.value, ...mine };
  };
  const filters = () => {
    const { hours, since: from, until: to, ...rest } = chosen();
    const times = { since: hours ? new Date(Date.now() - Number(hours) * 3_600_000).toISOString() : instant(from), until: instant(to) };
    return new URLSearchParams(Object.entries({ ...rest, ...times }).filter(([, value]) => value));
  };
  const shown = () => {
    const isEmpty = !body.children.length;
    grid.hidden = isEmpty;
    none.hidden = !isEmpty;
    if (isEmpty) fill(none, nothing(filters().size > 0, clear));
  };
  const clear = () => {
    for (const control of [model, status, key, range, since, until]) control.value = "";
    changed();
  };
  const page = async (more) => {
    const query = filters();
    query.set("limit", String(PAGE));
    if (more) query.set("before", table.last);
    const found = await ask("GET", `/requests?${query}`);
    older.hidden = !found.has_more;
    return found;
  };
  const begin = async () => {
    live.abort();
    const current = (live = new AbortController());
    const first = await page(false);
    if (current.signal.aborted || signal.aborted) return;
    table.clear();
    table.older(first.requests);
    shown();
    if (until.value && range.value === "own") return fill(state);
    const query = filters();
    query.set("after", first.last);
    const ends = AbortSignal.any([signal, current.signal]);
    const hear = (name, row) => name === "request" && table.newer(row);
    const heard = (now, odd) => {
      state.classList.toggle("lost", now !== "open");
      fill(state, STATES[now] ?? odd?.message);
    };
    follow(`/requests?${query}`, hear, heard, ends);
  };
  const trying = (work) => () => work().catch((odd) => fill(state, odd.message));
  const changed = trying(async () => {
    own.hidden = range.value !== "own";
    remember(chosen());
    await begin();
  });
  older.addEventListener("click", trying(async () => table.older((await page(true)).requests)));
  for (const control of [model, status, key, range, since, until]) control.addEventListener("change", changed);
  const csv = button("download", "CSV", {
    onclick: trying(async () => {
      const { blob, name } = await askBlob("GET", `/requests.csv?${filters()}`);
      save(blob, name);
    }),
  });
  own.hidden = range.value !== "own";
  await begin();
  fill(
    element,
    head("Requests", state, csv),
    h(
      "div",
      { class: "toolbar", role: "search" },
      wideField("Model", model),
      passed,
      field("Time range", range),
      field("Status", status),
      names.size ? field("Key", key) : null,
    ),
    own,
    grid,
    none,
    h("p", { class: "center" }, older),
    keys.length ? keyList(keys, admin) : null,
  );
}

/** The models and routes of the last 30 days, to choose from. @param {HTMLDataListElement} list */
async function suggest(list) {
  const { models, routes } = await ask("GET", "/stats?days=30").catch(() => ({ models: [], routes: [] }));
  const names = [...routes, ...models].map((/** @type {{ name: string }} */ { name }) => name);
  fill(list, [...new Set(names)].filter((name) => name !== "(others)").map((name) => h("option", { value: name })));
}

function instant(local) {
  const date = new Date(local ?? "");
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

function nothing(filtered, clear) {
  if (filtered) return empty("search", "No request matches these filters", "Another time range or status may have some.", h("button", { type: "button", onclick: clear }, "Clear the filters"));
  return empty("activity", "No requests yet", "Each request that passes this gateway is listed here as it ends, with its tokens, cost, latency and losses.", h("a", { class: "button first", href: "/" }, "Send a first one"));
}

const STATES = { open: "Live: new requests appear on top.", lost: "The connection is lost; trying again." };

function heads() {
  return h("thead", {}, h("tr", {}, COLUMNS.map((text) => h("th", { scope: "col", class: classOf(text) }, text))));
}

function classOf(column) {
  return [column.toLowerCase().replace(" ", "-"), FAR.has(column) && "far", NUMBERS.has(column) && "num"].filter(Boolean).join(" ");
}

/** The name that was asked for, where it is another one than the model that answered. */
function routeOf({ model, asked }) {
  return asked && model && asked !== model && !model.endsWith(`:${asked}`) ? asked : null;
}

/** The model that answered, and below it what was asked for where that has no column. */
function modelOf(row) {
  const { model, asked, attempts, error } = row;
  const [, provider, name] = /^([^:]*:)(.*)$/s.exec(model ?? "") ?? [];
  const words = name ? [h("span", { class: "far provider" }, provider), name] : (model ?? asked ?? "");
  const route = routeOf(row);
  return [
    h("span", { class: "name" }, words),
    route || attempts > 1
      ? h("span", { class: attempts > 1 ? "quiet" : "quiet asked" }, route ? h("span", { class: "asked" }, `${route} `) : null, attempts > 1 ? badge(`${attempts} attempts`, "warn") : null)
      : null,
    row.losses ? h("span", { class: "quiet lossy" }, badge(plural(row.losses, "loss", "losses"), "warn")) : null,
    error ? h("span", { class: "quiet wrong" }, error) : null,
  ];
}

/** The rows, each by its id; those that come in one frame are drawn together. `cut` is called when
 *  there are so many that the oldest make room, `drawn` after each change. */
class Table {
  waiting = new Map();

  constructor(body, names, cut, drawn) {
    this.body = body;
    this.names = names;
    this.cut = cut;
    this.drawn = drawn;
  }

  get last() {
    return this.body.lastElementChild?.dataset.id;
  }

  clear() {
    this.waiting.clear();
    fill(this.body);
  }

  older(rows) {
    this.body.append(...rows.map((row) => this.line(row)));
  }

  newer(row) {
    if (!this.waiting.size) requestAnimationFrame(() => this.draw());
    this.waiting.set(row.id, row);
  }

  draw() {
    const rows = [...this.waiting.values()].reverse();
    this.waiting.clear();
    const there = new Set([...this.body.children].slice(0, MOST).map((line) => line.dataset.id));
    this.body.prepend(...rows.filter(({ id }) => !there.has(id)).map((row) => this.line(row)));
    if (this.body.children.length > MOST) this.cut();
    while (this.body.children.length > MOST) this.body.lastElementChild.remove();
    this.drawn();
  }

  line(row) {
    const [input, output] = tokens(row.usage);
    const cells = {
      Time: h("a", { href: address("requests", row.id), title: `${when(row.at)}, ${ago(row.at)}` }, clock(row.at, true)),
      Status: badge(String(row.status), row.error ? "bad" : "good"),
      Model: modelOf(row),
      Route: routeOf(row),
      Input: input,
      Output: output,
      "First byte": took(row.first_byte_ms),
      Took: took(row.duration_ms),
      Cost: cost(row.usage),
      Losses: row.losses ? badge(count(row.losses), "warn") : h("span", { class: "zero" }, "0"),
      Key: this.names.get(row.key_id) ?? row.key_id ?? "",
    };
    const made = COLUMNS.map((name) => h("td", { class: classOf(name) }, cells[name]));
    return h("tr", { "data-id": row.id, class: row.error ? "failed" : null }, made);
  }
}

function tokens(usage) {
  if (usage?.input_tokens == null && usage?.output_tokens == null) return ["", ""];
  const { input_tokens: fresh = 0, cached_input_tokens: read = 0, cache_creation_input_tokens: written = 0 } = usage;
  return [count(fresh + read + written), count(usage.output_tokens ?? 0)];
}

function cost(usage) {
  if (!usage) return "";
  return usage.cost_usd == null ? "unknown" : spent(usage, 4);
}
