// What passes the gateway, as it ends; one request with what it lost; keys and their caps.

import { ask, follow } from "./api.js";
import { choice } from "./convert.js";
import { field, fill, folded, h, shown, when } from "./dom.js";
import { icon } from "./icons.js";
import { outline } from "./outline.js";
import { address } from "./route.js";

const PAGE = 100;
const MOST = 500;
const COLUMNS = ["Time", "Model", "Status", "Tokens", "Cost", "Losses", "Took", "Key"];
const FAR = new Set(["Tokens", "Took", "Key"]); // left out where there is little room
const FREE = new Set(["Model", "Status"]); // broken anywhere

export async function requestsView(element, id, _part, signal) {
  fill(element, h("p", { role: "status" }, "Loading"));
  const { keys } = await ask("GET", "/keys");
  const names = new Map(keys.map((key) => [key.id, key.name]));
  await (id ? oneRequest(element, id, names) : allRequests(element, keys, names, signal));
}

async function allRequests(element, keys, names, signal) {
  const body = h("tbody", {});
  const state = h("p", { role: "status", class: "quiet" });
  const older = h("button", { type: "button", hidden: true }, "Older requests");
  const model = h("input", { type: "search", autocomplete: "off", placeholder: "all" });
  const status = choice(["", "ok", "failed"], "");
  const key = choice(["", ...names.keys()], "");
  for (const option of key.options) option.textContent = names.get(option.value) ?? "all";
  status.options[0].textContent = "all";
  const table = new Table(body, names, () => {
    older.hidden = false;
  });
  let live = new AbortController();

  const filters = () => {
    const values = { model: model.value.trim(), status: status.value, key: key.value };
    return new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  };
  const page = async (more) => {
    const query = filters();
    query.set("limit", PAGE);
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
    const query = filters();
    query.set("after", first.last);
    const ends = AbortSignal.any([signal, current.signal]);
    const hear = (name, row) => name === "request" && table.newer(row);
    follow(`/requests?${query}`, hear, (now, odd) => fill(state, STATES[now] ?? odd?.message), ends);
  };
  const trying = (work) => () => work().catch((odd) => fill(state, odd.message));
  older.addEventListener("click", trying(async () => table.older((await page(true)).requests)));
  for (const control of [model, status, key]) control.addEventListener("change", trying(begin));
  await begin();
  fill(
    element,
    h("h1", {}, "Requests"),
    h("div", { class: "row" }, field("Model", model), field("Status", status), names.size ? field("Key", key) : null),
    state,
    h("table", { "aria-label": "Requests", class: "requests" }, head(COLUMNS), body),
    older,
    keys.length ? keyList(keys) : null,
  );
}

const STATES = { open: "Live: new requests appear on top.", lost: "The connection is lost; trying again." };

function head(columns) {
  const cell = (text) => h("th", { scope: "col", class: classOf(text) }, text);
  return h("thead", {}, h("tr", {}, columns.map(cell)));
}

function classOf(column) {
  if (FREE.has(column)) return "free";
  return FAR.has(column) ? "far" : null;
}

/** The time of day; with the day, where that is another one. */
function clock(time) {
  const date = new Date(time);
  const today = date.toDateString() === new Date().toDateString();
  const day = date.toLocaleDateString(undefined, { month: "short", day: "numeric" });
  return today ? date.toLocaleTimeString() : `${day} ${date.toLocaleTimeString()}`;
}

/** The model that answered; its provider is left out where there is little room. */
function modelOf({ model, asked }) {
  const [, provider, name] = /^([^:]*:)(.*)$/s.exec(model ?? "") ?? [];
  return name ? [h("span", { class: "far" }, provider), name] : (model ?? asked ?? "");
}

/** The rows, each by its id; those that come in one frame are drawn together. `cut` is called when
 *  there are so many that the oldest make room. */
class Table {
  waiting = new Map();

  constructor(body, names, cut) {
    this.body = body;
    this.names = names;
    this.cut = cut;
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
  }

  line(row) {
    const cells = {
      Time: h("a", { href: address("requests", row.id), title: when(row.at) }, clock(row.at)),
      Model: modelOf(row),
      Status: row.error ? `${row.status} ${row.error}` : String(row.status),
      Tokens: tokens(row.usage),
      Cost: cost(row.usage),
      Losses: String(row.losses),
      Took: `${row.duration_ms.toLocaleString()} ms`,
      Key: this.names.get(row.key_id) ?? row.key_id ?? "",
    };
    const made = COLUMNS.map((name) => h("td", { class: classOf(name) }, cells[name]));
    return h("tr", { "data-id": row.id, class: row.error ? "failed" : null }, made);
  }
}

function tokens(usage) {
  if (usage?.input_tokens == null && usage?.output_tokens == null) return "";
  const { input_tokens: fresh = 0, cached_input_tokens: read = 0, cache_creation_input_tokens: written = 0 } = usage;
  return `${(fresh + read + written).toLocaleString()} + ${(usage.output_tokens ?? 0).toLocaleString()}`;
}

function cost(usage) {
  if (!usage) return "";
  return usage.cost_usd == null ? "unknown" : `$${usage.cost_usd}`;
}

async function oneRequest(element, id, names) {
  const row = await ask("GET", `/requests/${encodeURIComponent(id)}`);
  fill(
    element,
    h("a", { href: address("requests"), class: "back" }, icon("arrow-left"), "All requests"),
    h("h1", {}, row.model ?? row.asked ?? "Request"),
    h("p", { class: "quiet" }, row.id),
    facts(row, names),
    attempts(row.tries),
    losses(row),
    ...row.trace.map((event) => folded(`${event.type}, ${when(event.timestamp)}`, h("pre", {}, shown(event.payload)))),
  );
}

function facts(row, names) {
  const usage = row.usage ?? {};
  const session = row.session_id && h("a", { href: address("sessions", row.session_id) }, row.session_id);
  const known = {
    Time: when(row.at),
    Key: row.key_id && `${names.get(row.key_id) ?? ""} ${row.key_id}`.trim(),
    User: row.user_id,
    Team: row.team_id,
    Session: session,
    Asked: [row.asked, row.front, row.action === "generate" ? null : row.action, row.stream ? "stream" : null],
    Answered: [row.model, row.dialect],
    Status: [row.status, row.error, row.code],
    Ended: row.stop_reason,
    Took: [`${row.duration_ms} ms`, row.first_byte_ms == null ? null : `first byte after ${row.first_byte_ms} ms`],
    "Fresh input": usage.input_tokens,
    "Read from cache": usage.cached_input_tokens,
    "Written to cache": usage.cache_creation_input_tokens,
    Output: usage.output_tokens,
    "Of it thinking": usage.reasoning_tokens,
    Cost: row.usage ? cost(usage) : null,
  };
  const joined = (value) => (Array.isArray(value) ? value.filter((part) => part != null).join(" · ") : value);
  const pairs = Object.entries(known).map(([name, value]) => [name, joined(value)]);
  const rows = pairs.filter(([, value]) => value != null && value !== "");
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function attempts(tries) {
  if (!tries.length) return null;
  const line = ({ model, kind, status, waited, request_id: id }) =>
    [model, status, kind ?? "ok", waited ? `after ${waited.toFixed(1)} s` : null, id].filter(Boolean).join(" · ");
  return [h("h2", {}, "Attempts"), h("ol", { "aria-label": "Attempts" }, tries.map((each) => h("li", {}, line(each))))];
}

function losses(row) {
  const count = row.losses === 1 ? "1 loss" : `${row.losses} losses`;
  if (!row.losses) return h("p", {}, "Nothing was lost.");
  if (!row.report) return h("p", {}, `${count}; the report is no longer stored.`);
  const rest = row.report.count - row.report.losses.length;
  return [
    h("h2", {}, `${count} in ${row.report.target}`),
    h("p", { class: "quiet" }, "At their places in the request. Its content is not stored."),
    outline(row.report.losses),
    rest > 0 ? h("p", { class: "quiet" }, `and ${rest} more`) : null,
  ];
}

function keyList(keys) {
  const columns = ["Name", "State", "Today", "This month", "Limits"];
  const line = (key) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, key.name),
      h("td", {}, key.status),
      h("td", {}, capsOf(key, "day")),
      h("td", {}, capsOf(key, "month")),
      h("td", {}, limitsOf(key)),
    );
  return folded(
    "Keys and caps",
    h("p", { class: "quiet" }, "They are changed with the command line: interlingua keys."),
    h(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "Keys and caps" },
      h("table", { "aria-label": "Keys" }, head(columns), h("tbody", {}, keys.map(line))),
    ),
  );
}

function capsOf(key, window) {
  return key.caps
    .filter((cap) => cap.window === window)
    .map((cap) => {
      const words = `$${cap.spent_usd} of $${cap.limit_usd}${cap.scope === "key" ? "" : ` (${cap.scope})`}`;
      const [value, max] = [Number(cap.spent_usd), Number(cap.limit_usd)];
      return h("div", {}, words, " ", h("meter", { min: 0, max, value, "aria-label": words }));
    });
}

function limitsOf(key) {
  const known = {
    "requests a minute": key.requests_per_minute,
    "tokens a minute": key.tokens_per_minute,
    "at a time": key.concurrent,
  };
  const counts = Object.entries(known).filter(([, count]) => count != null);
  const parts = counts.map(([words, count]) => `${count.toLocaleString()} ${words}`);
  if (key.allowed_models) parts.push(`only ${key.allowed_models.join(", ")}`);
  if (key.expires_at) parts.push(`until ${when(key.expires_at)}`);
  return parts.join("; ");
}
