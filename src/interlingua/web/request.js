// One request: what became of it, how long each part took, its attempts, its losses at their places.

import { ask } from "./api.js";
import { article } from "./blocks.js";
import { fill, folded, h, s, shown } from "./dom.js";
import { ago, count, money, plural, spent, took, when } from "./format.js";
import { icon } from "./icons.js";
import { outline } from "./outline.js";
import { badge, copyButton, head } from "./parts.js";
import { address, titled } from "./route.js";
import { tree } from "./tree.js";

const TIMES = 6;
const PAUSE = 300;

/** A request that has just ended may be written a moment later. */
async function stored(id) {
  for (let left = TIMES; ; left -= 1) {
    try {
      return await ask("GET", `/requests/${encodeURIComponent(id)}`);
    } catch (odd) {
      if (odd.status !== 404 || left === 1) throw odd;
      await new Promise((go) => setTimeout(go, PAUSE));
    }
  }
}

export async function oneRequest(element, id, names) {
  const row = await stored(id);
  const marks = [
    badge(String(row.status), row.error ? "bad" : "good"),
    row.stream ? badge("stream") : null,
    row.attempts > 1 ? badge(`${row.attempts} attempts`, "warn") : null,
    row.losses ? badge(plural(row.losses, "loss", "losses"), "warn") : null,
  ];
  titled(`Request to ${row.model ?? row.asked ?? "no model"}`);
  const about = [h("span", {}, row.id), copyButton(() => row.id, "Copy the request id"), ` ${when(row.at)}, ${ago(row.at)}`];
  fill(
    element,
    h("a", { href: address("requests"), class: "back" }, icon("arrow-left"), "All requests"),
    head(row.model ?? row.asked ?? "Request", about, marks),
    row.error ? h("p", { class: "problem" }, icon("circle-alert"), h("span", {}, [row.error, row.code].filter(Boolean).join(": "))) : null,
    h("div", { class: "cards" }, timeline(row), usage(row)),
    h("div", { class: "cards" }, h("section", { class: "card", "aria-label": "Details" }, h("h2", {}, "Details"), facts(row, names)), attempts(row.tries)),
    losses(row),
    cache(row.cache, row.usage),
    content(row.content, row.front),
    row.trace.length ? trace(row.trace) : null,
  );
}

/**
 * What the time went into, one after the other: pauses, attempts that failed, the wait for the first
 * byte, the stream. Attempts of before say nothing of their time; then it is in the wait.
 * @param {any} row
 * @returns {[string, number, string][]}
 */
export function phases({ duration_ms: whole, first_byte_ms: first, tries = [] }) {
  const until = Math.min(first ?? whole, whole);
  /** @type {[string, number, string][]} */
  const parts = [];
  let left = until;
  const add = (/** @type {string} */ words, /** @type {number} */ ms, /** @type {string} */ tone) => {
    const size = Math.min(Math.round(ms), left);
    left -= size;
    if (size > 0) parts.push([words, size, tone]);
  };
  for (const each of tries) {
    add("Pause before the next attempt", 1000 * (each.waited ?? 0), "pause");
    if (each.kind) add(`${each.model ?? "Attempt"}: ${each.kind}`, 1000 * (each.took ?? 0), "failed");
  }
  const last = tries.at(-1);
  const wait = first == null ? "Waiting for the answer" : "Until the first byte";
  const answered = tries.length > 1 && last && !last.kind ? `${wait} of ${last.model}` : wait;
  if (left > 0 || (!parts.length && first == null)) parts.push([answered, left, "main"]);
  if (first != null && whole >= until) parts.push(["Streaming", whole - until, "cached"]);
  return parts.filter(([, ms], at) => ms > 0 || at === parts.length - 1);
}

function timeline(row) {
  const whole = Math.max(row.duration_ms, 1);
  let start = 0;
  const line = ([name, ms, tone]) => {
    const rect = { x: ((100 * start) / whole).toFixed(2), width: Math.max((100 * ms) / whole, 0.4).toFixed(2), height: 8 };
    start += ms;
    const drawn = s("svg", { class: "chart phase", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, s("rect", { class: "track", width: 100, height: 8 }), s("rect", { class: `part ${tone}`, ...rect }));
    return h("li", {}, h("span", {}, name), h("span", { class: "num" }, took(ms)), drawn);
  };
  return h(
    "section",
    { class: "card", "aria-label": "Time" },
    h("h2", {}, "Time"),
    h("p", { class: "figure" }, took(row.duration_ms), h("span", { class: "quiet" }, speed(row))),
    h("ul", { class: "waterfall", "aria-label": "Waterfall" }, phases(row).map(line)),
  );
}

/** How fast a stream came. */
function speed({ duration_ms: whole, first_byte_ms: first, usage: used }) {
  const seconds = first == null ? 0 : (whole - first) / 1000;
  const many = used?.output_tokens ?? 0;
  return seconds > 0.05 && many > 1 ? ` ${count(Math.round(many / seconds))} tokens a second` : "";
}

/** A count with a bar that shows how much of the largest it is. @param {any[]} entry  @param {number} most */
function measure([name, [value, tone]], most) {
  return h(
    "li",
    {},
    h("span", {}, name),
    h("span", { class: "num" }, value.toLocaleString("en")),
    s("svg", { class: "chart phase", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, s("rect", { class: "track", width: 100, height: 8 }), s("rect", { class: `part ${tone}`, width: ((100 * value) / most).toFixed(2), height: 8 })),
  );
}

function usage(row) {
  const used = row.usage ?? {};
  const known = {
    "Fresh input": [used.input_tokens, "main"],
    "Read from cache": [used.cached_input_tokens, "cached"],
    "Written to cache": [used.cache_creation_input_tokens, "losses"],
    Output: [used.output_tokens, "output"],
  };
  const counts = Object.entries(known).filter(([, [value]]) => value);
  const most = Math.max(...counts.map(([, [value]]) => value), 1);
  const price = !row.usage ? "–" : used.cost_usd == null ? "Cost unknown" : spent(used);
  return h(
    "section",
    { class: "card", "aria-label": "Tokens and cost" },
    h("h2", {}, "Tokens and cost"),
    h("p", { class: "figure" }, price),
    used.unpriced ? h("p", { class: "callout warn" }, `Without ${used.unpriced.join(" and ")}, whose price is not known.`) : null,
    reported(used),
    counts.length ? h("ul", { class: "waterfall" }, counts.map((each) => measure(each, most))) : h("p", { class: "quiet" }, "No tokens were counted."),
    used.reasoning_tokens ? h("p", { class: "quiet" }, `${count(used.reasoning_tokens)} of the output are thinking.`) : null,
  );
}

/** What the provider says that it cost, beside the price table; a difference above 2 % is marked. @param {any} used */
function reported({ cost_usd: ours, raw }) {
  const theirs = raw?.provider?.cost;
  if (theirs == null) return null;
  const apart = ours != null && Math.abs(theirs - ours) > 0.02 * Math.max(theirs, ours);
  return h("p", { class: apart ? "callout warn" : "quiet" }, `The provider reports ${money(theirs)}${apart ? ", which is more than 2 % apart" : ""}.`);
}

function facts(row, names) {
  const session = row.session_id && h("a", { href: address("sessions", row.session_id) }, row.session_id);
  const known = {
    "Requested model": row.asked && h("a", { href: `${address("requests")}?${new URLSearchParams({ model: row.asked })}` }, row.asked),
    "Received as": [row.front, row.action === "generate" ? null : row.action],
    "Answered by": [row.model, row.dialect],
    Status: [row.status, row.error, row.code],
    Ended: row.stop_reason,
    Key: row.key_id && [names.get(row.key_id), row.key_id],
    User: row.user_id,
    Team: row.team_id,
    Session: session,
  };
  const joined = (value) => (Array.isArray(value) ? value.filter((part) => part != null).join(" · ") : value);
  const pairs = Object.entries(known).map(([name, value]) => [name, joined(value)]);
  const rows = pairs.filter(([, value]) => value != null && value !== "");
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function attempts(tries) {
  if (!tries.length) return null;
  const line = ({ model, kind, status, waited, took: lasted, request_id: id }) =>
    h(
      "li",
      {},
      badge(kind ?? "ok", kind ? "bad" : "good"),
      ` ${[model, status, lasted ? `failed after ${took(1000 * lasted)}` : null, waited ? `after a pause of ${took(1000 * waited)}` : null, id].filter(Boolean).join(" · ")}`,
    );
  return h("section", { class: "card", "aria-label": "All attempts" }, h("h2", {}, "Attempts"), h("ol", { "aria-label": "Attempts", class: "attempts" }, tries.map(line)));
}

function losses(row) {
  const title = row.losses ? `${plural(row.losses, "loss", "losses")}${row.report ? ` in ${row.report.target}` : ""}` : "Losses";
  return h("section", { class: "card", "aria-label": "What was lost" }, h("h2", {}, title), lossesOf(row));
}

function lossesOf(row) {
  if (!row.losses) return h("p", { class: "quiet" }, icon("check"), " Nothing was lost.");
  if (!row.report) return h("p", { class: "quiet" }, "The report is no longer stored.");
  const rest = row.report.count - row.report.losses.length;
  return [
    h("p", { class: "quiet" }, "At their places in the request."),
    outline(row.report.losses),
    rest > 0 ? h("p", { class: "quiet" }, `and ${rest} more`) : null,
  ];
}

const OUTCOMES = {
  hit: ["hit", "good", "The provider read the prompt from its cache."],
  miss: ["missed", "warn", "The prompt could have been read from the cache, and was not."],
  pending: ["pending", null, "The provider has not compared the prompt yet."],
  not_found: ["not found", null, "The provider does not know the answer to compare with."],
  unavailable: ["unknown", null, "The provider cannot say."],
};

/** Why the provider's cache was used or not, where the gateway found that out. */
function cache(found, used) {
  if (!found) return null;
  const { outcome, reason, changed, missed_tokens: missed, reusable_tokens: reusable, cost_usd: cost, since, source } = found;
  const [words, tone, sentence] = OUTCOMES[outcome] ?? [outcome, null, ""];
  const tokens = { "Read from the cache": [used?.cached_input_tokens, "cached"], "Could have been read": [missed, "losses"], "In the cache before": [reusable, "main"] };
  const known = Object.entries(tokens).filter(([, [value]]) => value);
  const most = Math.max(...known.map(([, [value]]) => value), 1);
  return h(
    "section",
    { class: "card", "aria-label": "Cache" },
    h("h2", {}, "Prompt cache ", badge(words, tone)),
    h("p", {}, reason ? `${sentence} Reason: ${reason.replaceAll("_", " ")}.` : sentence),
    changed?.length ? h("p", { class: "chips" }, h("span", { class: "quiet" }, "Changed since the request before"), changed.map((/** @type {string} */ part) => h("code", { class: "badge warn" }, part))) : null,
    known.length ? h("ul", { class: "waterfall" }, known.map((each) => measure(each, most))) : null,
    cost ? h("p", {}, `The miss cost ${money(cost)} more than a hit would have.`) : null,
    h("p", { class: "quiet" }, [source === "comparison" ? "Found by comparing with the request before" : "Reported by the provider", since ? `, sent ${ago(since)}` : "", "."].join("")),
  );
}

/** Prompt and answer, where the key has them stored: as a conversation where they can be read as one. */
function content(found, front) {
  if (!found) return null;
  const talk = h("div", { class: "conversation", role: "log", "aria-label": "Logged conversation" });
  const raw = Object.entries(found).filter(([, value]) => value != null);
  const read = async (value, kind) => {
    if (value == null) return [];
    const made = await ask("POST", "/convert", { text: JSON.stringify(value), source: front, kind, target: "canonical" });
    const { messages, message } = JSON.parse(made.text);
    return messages ?? [message];
  };
  Promise.all([read(found.request, "request"), read(found.answer, "response")])
    .then((parts) => fill(talk, parts.flat().map((each, at) => article(each, `#content-${at}`))))
    .catch(() => {}); // the JSON below says it all
  return h(
    "section",
    { class: "card", "aria-label": "Content" },
    h("h2", {}, "Content"),
    h("p", { class: "quiet" }, "Secrets and personal data are redacted."),
    talk,
    raw.map(([name, value]) => folded(name === "request" ? "Request as JSON" : "Answer as JSON", tree(value))),
  );
}

function trace(events) {
  const line = (event) => folded(`${event.type}, ${when(event.timestamp)}`, h("pre", {}, shown(event.payload)));
  return h("section", { class: "card", "aria-label": "Trace" }, h("h2", {}, "Trace"), events.map(line));
}
