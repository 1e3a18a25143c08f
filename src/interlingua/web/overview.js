// The first page: what is running, and what passed today, in 7 and in 30 days; how to connect where
// nothing has passed yet.

import { ask, follow } from "./api.js";
import { bars, lines, share } from "./charts.js";
import { connectCard, firstRequest, models } from "./connect.js";
import { fill, folded, h } from "./dom.js";
import { ago, count, money, percent, plural, took } from "./format.js";
import { icon } from "./icons.js";
import { badge, empty, head, segments } from "./parts.js";
import { address, remember, remembered } from "./route.js";

const WINDOWS = { 1: "Today", 7: "7 days", 30: "30 days" };
const KEYS = { 1: "today", 7: "week", 30: "month" };
const EVERY = 15_000; // milliseconds between two looks
const FAILURES = 6;

/** What the large chart can show: its title, the value of the window, the values of a period. */
const METRICS = {
  spend: { title: "Spend", value: (t) => money(t.cost_usd), parts: ["main"], of: (p) => [Number(p.cost_usd)], shown: (v) => money(v) },
  requests: { title: "Requests", value: (t) => count(t.requests), parts: ["ok", "failed"], of: (p) => [p.requests - p.failed, p.failed], shown: (v) => count(Math.round(v)) },
  tokens: { title: "Tokens", value: (t) => count(tokens(t)), parts: ["cached", "fresh", "output"], of: (p) => [p.cached_tokens, p.input_tokens + p.written_tokens, p.output_tokens], shown: (v) => count(Math.round(v)) },
  errors: { title: "Errors", value: (t) => percent(t.failed, t.requests), parts: ["failed"], of: (p) => [p.failed], shown: (v) => count(v) },
  latency: { title: "Latency", value: (t) => took(t.p50_ms) || "–", parts: ["p50", "p95"], of: (p) => [p.p50_ms, p.p95_ms], shown: (v) => took(v), lines: true },
  cache: { title: "Cache share", value: (t) => percent(t.cache_share), parts: ["share"], of: (p) => [p.cache_share], shown: (v) => percent(v), lines: true },
  losses: { title: "Losses", value: (t) => count(t.losses), parts: ["losses"], of: (p) => [p.losses], shown: (v) => count(v) },
};

function tokens(totals) {
  return totals.input_tokens + totals.cached_tokens + totals.written_tokens + totals.output_tokens;
}

/** The line below a tile's value. */
function below(name, stats, totals) {
  switch (name) {
    case "spend":
      return totals.unpriced ? `${plural(totals.unpriced, "request")} without a price` : others(stats, (each) => money(each.cost_usd));
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
  /** @type {any} */
  let stats = null;
  const names = new Map();
  const parts = { stats: h("div", {}), side: h("div", { class: "stack" }) };
  const state = () => remember({ days: days === 7 ? "" : String(days), show: metric === "requests" ? "" : metric });
  const choose = (name) => {
    metric = name;
    state();
    draw();
  };
  const draw = () => {
    const held = parts.stats.contains(document.activeElement) ? document.activeElement?.getAttribute("data-metric") : null;
    fill(parts.stats, tiles(stats, metric, choose), chart(stats, metric), breakdown(stats, names));
    for (const each of parts.stats.querySelectorAll("button")) if (held && each.dataset.metric === held) each.focus();
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
    h("div", { class: "more" }, folded("Connect an SDK or an agent", connecting())),
  );
  draw();
  tasks(running, signal);
  const timer = setInterval(() => document.hidden || again(), EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
}

/** Filled when it is opened first. */
function connecting() {
  const made = h("div", { class: "stack" });
  models().then((names) => fill(made, connectCard(names)), () => {});
  return made;
}

async function firstRun(element, signal) {
  const names = await models();
  const done = () => setTimeout(() => signal.aborted || element.querySelector(".now")?.removeAttribute("hidden"), 300);
  fill(
    element,
    head("Overview", location.host, h("a", { href: address("tasks"), class: "button" }, icon("plus"), "New task")),
    h(
      "div",
      { class: "hero" },
      h("h2", {}, "Nothing has passed this gateway yet"),
      h("p", {}, "Point a program here, or send the first request yourself. Spend, tokens, latency, errors and losses show up on this page as they happen."),
    ),
    h("div", { class: "cards" }, firstRequest(names, done), connectCard(names)),
    h("p", { class: "now", hidden: true }, h("a", { class: "button first", href: "/?days=1" }, "Show the overview")),
  );
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
    );
  return h("div", { class: "tiles", role: "group", "aria-label": "Totals" }, Object.entries(METRICS).map(tile));
}

function chart(stats, name) {
  const { title, parts, of, shown, lines: asLines } = METRICS[name];
  const points = stats.series.map((period) => ({ at: period.at, values: of(period) }));
  const unit = stats.days === 1 ? "hour" : "day";
  const label = `${title} by ${unit}`;
  const when = (at) => {
    const date = new Date(at);
    if (stats.days === 1) return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    return date.toLocaleDateString(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
  };
  const drawn = (asLines ? lines : bars)({ label, points, parts, shown, when });
  const legend = parts.length > 1 && h("span", { class: "legend" }, parts.map((part) => h("span", { class: `key ${part}` }, LEGEND[part])));
  return h("figure", { class: "card" }, h("figcaption", {}, h("span", {}, label), legend || null), drawn);
}

const LEGEND = { ok: "ok", fresh: "fresh input", failed: "failed", cached: "input from cache", output: "output", p50: "p50", p95: "p95" };

const KINDS = { models: "Model", routes: "Route", keys: "Key", teams: "Team" };

/** Who had how much of it, kind by kind; kinds with nothing in them are left out. */
function breakdown(stats, names) {
  const shown = Object.entries(KINDS).filter(([kind]) => stats[kind].length);
  return h("div", { class: "breakdown" }, shown.map(([kind, title]) => byKind(title, stats[kind], names)));
}

const MOST = 8;

function byKind(title, rows, names) {
  const most = Math.max(...rows.map((row) => row.requests), 1);
  const columns = [title, "Requests", "Errors", "p50", "p95", "Tokens", "Cache", "Losses", "Spend"];
  const far = new Set(["p50", "p95", "Tokens", "Cache", "Losses"]);
  const line = (row) => {
    const cells = [count(row.requests), percent(row.failed, row.requests), took(row.p50_ms), took(row.p95_ms), count(tokens(row)), percent(row.cache_share), count(row.losses), money(row.cost_usd)];
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, named(title, row.name, names), share(row.requests / most)),
      cells.map((cell, at) => h("td", { class: `num${far.has(columns[at + 1]) ? " far" : ""}${columns[at + 1] === "Errors" && row.failed ? " bad" : ""}` }, cell)),
    );
  };
  const body = h("tbody", {}, rows.slice(0, MOST).map(line));
  const rest = rows.length - MOST;
  const all = h("button", { type: "button", class: "bare", onclick: () => all.replaceWith("") ?? fill(body, rows.map(line)) }, `Show ${rest} more`);
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

/** Tasks that run or wait for an answer, as they change. */
function tasks(section, signal) {
  const known = new Map();
  const draw = () => {
    const busy = [...known.values()].filter((task) => task.status === "generating" || task.waiting);
    const line = (task) =>
      h(
        "li",
        {},
        h(
          "a",
          { href: address("tasks", task.id) },
          h("span", { class: "name" }, task.name || task.cwd),
          h("span", { class: "quiet" }, task.waiting ? badge("needs approval", "warn") : badge("running", "accent"), ` ${task.model ?? ""}`),
        ),
      );
    fill(section, h("h2", {}, "Running"), busy.length ? h("ul", { class: "plain", "aria-label": "Running tasks" }, busy.map(line)) : h("p", { class: "quiet" }, "No task is running."));
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
}
