// The first page: what is running, and what passed today, in 7 and in 30 days; how to connect where
// nothing has passed yet.

import { ask, follow } from "./api.js";
import { bars, lines, share, spark } from "./charts.js";
import { connectCard, firstRequest, models } from "./connect.js";
import { fill, folded, h } from "./dom.js";
import { ago, count, decimals, HOURS, money, percent, plural, spent, took } from "./format.js";
import { icon } from "./icons.js";
import { badge, head, named as choiceOf, segments } from "./parts.js";
import { address, remember, remembered } from "./route.js";

const WINDOWS = { 1: "Today", 7: "7 days", 30: "30 days" };
const KEYS = { 1: "today", 7: "week", 30: "month" };
const KINDS = { models: "Model", routes: "Route", keys: "Key", teams: "Team" };
const EVERY = 15_000; // milliseconds between two looks
const RUNNING_EVERY = 2000;
const FAILURES = 6;
const COLOURED = 5; // names that have a colour of their own in a chart

/** What the large chart can show: its title, the value of the window, the values of a period, and the
 *  name of a name's own series. */
const METRICS = {
  spend: { title: "Spend", value: (t) => spent(t), parts: ["main"], of: (p) => [Number(p.cost_usd)], shown: (v) => money(v), by: "cost_usd" },
  requests: { title: "Requests", value: (t) => count(t.requests), parts: ["ok", "failed"], of: (p) => [p.requests - p.failed, p.failed], shown: (v) => count(Math.round(v)), by: "requests" },
  tokens: { title: "Tokens", value: (t) => count(tokens(t)), parts: ["cached", "fresh", "output"], of: (p) => [p.cached_tokens, p.input_tokens + p.written_tokens, p.output_tokens], shown: (v) => count(Math.round(v)), by: "tokens" },
  errors: { title: "Errors", value: (t) => percent(t.failed, t.requests), parts: ["failed"], of: (p) => [p.failed], shown: (v) => count(v), by: "failed" },
  latency: { title: "Latency", value: (t) => took(t.p50_ms) || "–", parts: ["p50", "p95"], of: (p) => [p.p50_ms, p.p95_ms], shown: (v) => took(v), by: "typical_ms", lines: true },
  cache: { title: "Cache share", value: (t) => percent(t.cache_share), parts: ["share"], of: (p) => [p.cache_share], shown: (v) => percent(v), by: "cache_share", lines: true },
  losses: { title: "Losses", value: (t) => count(t.losses), parts: ["losses"], of: (p) => [p.losses], shown: (v) => count(v), by: "losses" },
};

function tokens(totals) {
  return totals.input_tokens + totals.cached_tokens + totals.written_tokens + totals.output_tokens;
}

/** The line below a tile's value. */
function below(name, stats, totals) {
  switch (name) {
    case "spend":
      return totals.unpriced ? `${plural(totals.unpriced, "request")} without a price` : others(stats, (each) => spent(each));
    case "requests":
      return totals.fallbacks ? plural(totals.fallbacks, "fallback") : others(stats, (each) => count(each.requests));
    case "tokens":
      return `${count(totals.output_tokens)} output`;
    case "errors":
      return `${count(totals.failed)} of ${count(totals.requests)}`;
    case "latency":
      return `p95 ${took(totals.p95_ms) || "–"}`;
    case "cache":
      return `${count(totals.cached_tokens)} tokens read`;
    default:
      return `in ${plural(totals.lossy, "request")}`;
  }
}

/** The same of the other windows. */
function others(stats, value) {
  const rest = Object.entries(KEYS).filter(([days]) => Number(days) !== stats.days);
  return rest.map(([days, key]) => `${WINDOWS[days].toLowerCase()} ${value(stats[key])}`).join(" · ");
}

export async function overviewView(element, _id, _part, signal) {
  const wanted = remembered();
  let days = wanted.days in WINDOWS ? Number(wanted.days) : 7;
  let metric = wanted.show in METRICS ? wanted.show : "requests";
  let by = wanted.by in KINDS ? wanted.by : "";
  /** @type {any} */
  let stats = null;
  const names = new Map();
  const opened = new Set();
  const parts = { stats: h("div", {}), side: h("div", { class: "stack" }), names: h("div", {}) };
  const state = () => remember({ days: days === 7 ? "" : String(days), show: metric === "requests" ? "" : metric, by });
  const choose = (name) => {
    metric = name;
    state();
    draw();
  };
  const draw = () => {
    const held = parts.stats.contains(document.activeElement) ? document.activeElement?.getAttribute("data-metric") : null;
    const split = (value) => {
      by = value;
      state();
      draw();
    };
    fill(parts.stats, tiles(stats, metric, choose), chart(stats, metric, by, names, split));
    fill(parts.names, breakdown(stats, metric, names, opened));
    /** @type {HTMLElement | null} */
    const again_ = held ? parts.stats.querySelector(`[data-metric="${held}"]`) : null;
    again_?.focus();
  };
  const load = async () => {
    const [found, { keys }, failed] = await Promise.all([
      ask("GET", `/stats?days=${days}`),
      ask("GET", "/keys"),
      ask("GET", `/requests?status=failed&limit=${FAILURES}`),
    ]);
    if (signal.aborted) return;
    stats = found;
    for (const { id, name } of keys) names.set(id, name);
    for (const [id, name] of Object.entries(stats.team_names)) names.set(id, name);
    failures(parts.side.lastElementChild, failed.requests);
  };
  const running = h("section", { class: "card", "aria-label": "Running" });
  parts.side.append(running, h("section", { class: "card", "aria-label": "Last failures" }));
  await load();
  if (signal.aborted) return null;
  if (!stats.month.requests) return firstRun(element, signal);
  const choice = segments("Time range", WINDOWS, String(days), (value) => {
    days = Number(value);
    state();
    again();
  });
  const task = h("a", { href: address("tasks"), class: "button" }, icon("plus"), "New task");
  const again = () => load().then(draw, () => {}); // the next look may be luckier
  fill(
    element,
    head("Overview", location.host, choice, task),
    h("div", { class: "dashboard" }, parts.stats, parts.side),
    parts.names,
    h("div", { class: "more" }, folded("Connect an SDK or an agent", connecting())),
  );
  draw();
  whatRuns(running, names, signal);
  const timer = setInterval(() => document.hidden || again(), EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/** Filled when it is opened first. */
function connecting() {
  const made = h("div", { class: "stack" });
  models().then((names) => fill(made, connectCard(names)), () => {});
  return made;
}

const DOORS = [
  ["convert", "arrow-left-right", "Convert", "Paste a request, a stream or a transcript, and see what another format loses."],
  ["playground", "flask-conical", "Playground", "Ask several models the same thing, and compare answers, cost and speed."],
  ["tasks", "list-checks", "Tasks", "Let an agent work in a folder; it asks before it changes anything."],
  ["sessions", "messages-square", "Sessions", "Read, search and export what was discussed, here and in your coding agents."],
];

async function firstRun(element, signal) {
  const names = await models();
  const hero = h(
    "div",
    { class: "hero" },
    h("h2", {}, "Nothing has passed this gateway yet"),
    h("p", {}, "Point a program here, or send the first request yourself. Spend, tokens, latency, errors and losses show up on this page as they happen."),
  );
  const passed = [
    h("h2", {}, "The first request has passed"),
    h("p", {}, "Its time, tokens and cost are on the overview, where your own programs appear as well."),
    h("p", { class: "now" }, h("a", { class: "button first", href: "/?days=1" }, "Show the overview")),
  ];
  const done = () => setTimeout(() => signal.aborted || fill(hero, passed), 300);
  fill(
    element,
    head("Overview", location.host, h("a", { href: address("tasks"), class: "button" }, icon("plus"), "New task")),
    hero,
    h("div", { class: "cards first-run" }, firstRequest(names, done), connectCard(names)),
    h("section", { class: "doors", "aria-label": "What else is here" }, DOORS.map(([name, sign, title, words]) => h("a", { href: address(name) }, icon(sign), h("strong", {}, title), h("span", {}, words)))),
  );
}

/** The one value of a period that a small chart shows. */
function course(name, period) {
  const { of, lines: asLines } = METRICS[name];
  return asLines ? of(period)[0] : of(period).reduce((all, each) => all + each, 0);
}

function tiles(stats, chosen, choose) {
  const totals = stats[KEYS[stats.days]];
  const tile = ([name, { title, value }]) =>
    h(
      "button",
      { type: "button", class: "tile", "aria-pressed": String(name === chosen), "data-metric": name, onclick: () => choose(name) },
      h("span", { class: "label" }, title),
      h("span", { class: "value" }, value(totals)),
      h("span", { class: "below" }, below(name, stats, totals)),
      spark(null, stats.series.map((period) => course(name, period)), METRICS[name].parts[0]),
    );
  return h("div", { class: "tiles", role: "group", "aria-label": "Totals" }, Object.entries(METRICS).map(tile));
}

function chart(stats, name, by, names, split) {
  const { title, shown, lines: asLines } = METRICS[name];
  const unit = stats.days === 1 ? "hour" : "day";
  const kinds = Object.entries(KINDS).filter(([kind]) => stats[kind].length && stats.days > 1);
  const kind = kinds.some(([each]) => each === by) ? by : "";
  const label = `${title} by ${unit}${kind ? ` and ${KINDS[kind].toLowerCase()}` : ""}`;
  const { points, parts, titles } = kind ? splitUp(stats, name, kind, names) : whole(stats, name);
  const when = (at) => {
    const date = new Date(at);
    if (stats.days === 1) return date.toLocaleTimeString([], HOURS);
    return date.toLocaleDateString(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
  };
  const drawn = (asLines ? lines : bars)({ label, points, parts, shown, when, titles });
  const legend = parts.length > 1 && h("span", { class: "legend" }, parts.map((part, at) => h("span", { class: `key ${part}` }, titles[at])));
  const choice = kinds.length ? choiceOf({ "": "All together", ...Object.fromEntries(kinds.map(([each, words]) => [each, `By ${words.toLowerCase()}`])) }, kind) : null;
  choice?.setAttribute("aria-label", "Split the chart");
  choice?.setAttribute("data-metric", "split");
  choice?.addEventListener("change", () => split(choice.value));
  return h("figure", { class: "card" }, h("figcaption", {}, h("span", {}, label), legend || null, choice), drawn);
}

function whole(stats, name) {
  const { parts, of } = METRICS[name];
  return { points: stats.series.map((period) => ({ at: period.at, values: of(period) })), parts, titles: parts.map((part) => LEGEND[part] ?? part) };
}

/** The names that had most of it, each with a colour, and all others together. */
function splitUp(stats, name, kind, names) {
  const { by, of, lines: asLines } = METRICS[name];
  const sum = (row) => row.series[by].reduce((all, each) => all + (each ?? 0), 0);
  const drawn = stats[kind].filter((row) => row.series && sum(row) > 0).sort((a, b) => sum(b) - sum(a)).slice(0, COLOURED);
  const points = stats.series.map((period, day) => {
    const values = drawn.map((row) => row.series[by][day]);
    const rest = of(period).reduce((all, each) => all + (each ?? 0), 0) - values.reduce((all, each) => all + (each ?? 0), 0);
    return { at: period.at, values: asLines ? values : [...values, Math.max(0, rest)] };
  });
  const parts = drawn.map((_, at) => `c${at + 1}`);
  const titles = drawn.map((row) => names.get(row.name) ?? row.name);
  const others = !asLines && points.some(({ values }) => values.at(-1) > 1e-9);
  if (!others && !asLines) for (const point of points) point.values.pop();
  return { points, parts: others ? [...parts, "others"] : parts, titles: others ? [...titles, "others"] : titles };
}

const LEGEND = { ok: "ok", fresh: "fresh input", failed: "failed", cached: "input from cache", output: "output" };

/** Who had how much of it, kind by kind; kinds with nothing in them are left out. */
function breakdown(stats, metric, names, opened) {
  const shown = Object.entries(KINDS).filter(([kind]) => stats[kind].length);
  return h("div", { class: "breakdown" }, shown.map(([kind, title]) => byKind(title, stats[kind], metric, names, opened)));
}

const MOST = 8;
const MANY = 0.05; // failures of all requests that are too many

function byKind(title, rows, metric, names, opened) {
  const most = Math.max(...rows.map((row) => row.requests), 1);
  const { by, title: what, parts } = METRICS[metric];
  const top = Math.max(...rows.flatMap((row) => row.series?.[by] ?? []), 0);
  const small = (row) => (row.series ? spark(`${what} by day of ${names.get(row.name) ?? row.name}`, row.series[by], parts[0], top) : share(row.requests / most));
  const columns = [title, "Requests", "Errors", "p50", "p95", "Tokens", "Cache", "Losses", "Spend"];
  const far = new Set(["p50", "p95", "Tokens", "Cache", "Losses"]);
  const least = decimals(rows.map((row) => row.cost_usd));
  const line = (row) => {
    const cells = [count(row.requests), percent(row.failed, row.requests), took(row.p50_ms), took(row.p95_ms), count(tokens(row)), percent(row.cache_share), count(row.losses), spent(row, least)];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, named(title, row.name, names), small(row)),
      cells.map((cell, at) => h("td", { class: `num${far.has(columns[at + 1]) ? " far" : ""}${columns[at + 1] === "Errors" && row.failed >= MANY * row.requests ? " bad" : ""}` }, cell)),
    );
  };
  const body = h("tbody", {}, rows.slice(0, opened.has(title) ? rows.length : MOST).map(line));
  const rest = opened.has(title) ? 0 : rows.length - MOST;
  const open = () => {
    opened.add(title); // it stays so when the figures are drawn again
    all.remove();
    fill(body, rows.map(line));
  };
  const all = h("button", { type: "button", class: "bare", onclick: open }, `Show ${rest} more`);
  const heads = columns.map((text, at) => h("th", { scope: "col", class: at ? `num${far.has(text) ? " far" : ""}` : null }, text));
  return h(
    "section",
    { class: "card", "aria-label": `By ${title.toLowerCase()}` },
    h("div", { class: "wide" }, h("table", { "aria-label": `By ${title.toLowerCase()}` }, h("thead", {}, h("tr", {}, heads)), body)),
    rest > 0 ? all : null,
  );
}

function named(title, name, names) {
  const words = names.get(name) ?? name;
  if (name === "(others)" || title === "Team") return h("span", { class: "name" }, words);
  const query = title === "Key" ? { key: name } : { model: name };
  return h("a", { class: "name", href: `${address("requests")}?${new URLSearchParams(query)}` }, words);
}

function failures(section, rows) {
  const line = (row) =>
    h(
      "li",
      {},
      h(
        "a",
        { href: address("requests", row.id) },
        h("span", { class: "name" }, row.model ?? row.asked ?? "Request"),
        h("span", { class: "quiet" }, badge(String(row.status), "bad"), ` ${row.error ?? ""} · ${ago(row.at)}`),
      ),
    );
  fill(
    section,
    h("h2", {}, "Last failures"),
    rows.length ? h("ul", { class: "plain" }, rows.map(line)) : h("p", { class: "quiet" }, icon("check"), " No request has failed."),
    rows.length ? h("a", { class: "quiet", href: `${address("requests")}?status=failed` }, "All failures") : null,
  );
}

/** Tasks that run or wait for an answer, as they change; and requests that are being answered. */
function whatRuns(section, names, signal) {
  const known = new Map();
  let asked = { requests: [], count: 0 };
  const draw = () => {
    const busy = [...known.values()].filter((task) => task.status === "generating" || task.waiting);
    const lines = [...busy.map(runningTask), ...asked.requests.slice(0, MOST).map((row) => runningRequest(row, names))];
    const rest = asked.count - Math.min(asked.requests.length, MOST);
    const held = section.contains(document.activeElement) ? document.activeElement?.getAttribute("href") : null;
    fill(
      section,
      h("h2", {}, "Running", lines.length ? h("span", { class: "size" }, count(busy.length + asked.count)) : null),
      lines.length ? h("ul", { class: "plain", "aria-label": "What is running" }, lines) : h("p", { class: "quiet" }, "No task and no request is running."),
      rest > 0 ? h("p", { class: "quiet" }, `and ${plural(rest, "request")} more`) : null,
    );
    if (held) [...section.querySelectorAll("a")].find((each) => each.getAttribute("href") === held)?.focus();
  };
  draw();
  const hear = (name, data) => {
    if (name === "daemon.tasks.synchronized") {
      known.clear();
      for (const task of data.tasks) known.set(task.id, task);
    } else if (name === "daemon.task.changed") {
      if (data.task.ended) known.delete(data.task.id);
      else known.set(data.task.id, data.task);
    }
    draw();
  };
  follow("/events", hear, () => {}, signal);
  const look = async () => {
    const found = await ask("GET", "/requests/running").catch(() => asked);
    if (signal.aborted || (!found.count && !asked.count)) return;
    asked = found;
    draw();
  };
  look();
  const timer = setInterval(() => document.hidden || look(), RUNNING_EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function runningTask(task) {
  return h(
    "li",
    {},
    h(
      "a",
      { href: address("tasks", task.id) },
      h("span", { class: "name" }, task.name || task.cwd),
      h("span", { class: "quiet" }, task.waiting ? badge("needs approval", "warn") : badge("task", "accent"), ` ${task.model ?? ""}`),
    ),
  );
}

function runningRequest(row, names) {
  const state = row.first_byte_ms == null ? "waiting" : "streaming";
  const about = [took(row.elapsed_ms), row.asked !== row.model && row.model ? row.asked : null, names.get(row.key_id)];
  return h("li", { class: "request" }, h("span", { class: "name" }, row.model ?? row.asked ?? row.action), h("span", { class: "quiet" }, badge(state, "accent"), ` ${about.filter(Boolean).join(" · ")}`));
}
