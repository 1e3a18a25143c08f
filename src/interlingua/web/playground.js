// One prompt, or the last turn of a session, on several models side by side.

import { ask, askText, Refused, stream } from "./api.js";
import { prose, summary } from "./blocks.js";
import { field, fill, folded, h } from "./dom.js";
import { count, plural, spent, took } from "./format.js";
import { icon } from "./icons.js";
import { badge, button, empty, head, iconButton } from "./parts.js";
import { address, keepTyped, remember, remembered } from "./route.js";

const MOST = 4;

/** @param {HTMLElement} element  @param {string | null} _id  @param {string | null} _part  @param {AbortSignal} left */
export async function playgroundView(element, _id, _part, left) {
  const query = remembered();
  const [{ data }, before] = await Promise.all([ask("GET", "/models"), query.session ? history(query.session) : []]);
  const offered = data.filter((each) => !/embed/.test(each.id));
  const known = offered.map((each) => each.id);
  const usual = usualFirst(offered);
  if (!known.length) {
    fill(element, head("Playground"), empty("flask-conical", "No model can be used yet", "Set a provider's key and restart the gateway; the local model needs none.", h("a", { class: "button first", href: "/" }, "How to connect")));
    return;
  }
  const prompt = h("textarea", { rows: 3, placeholder: "Ask something" });
  const system = h("textarea", { rows: 2, placeholder: "none" });
  const limit = h("input", { type: "number", min: 1, max: 100000, value: "500" });
  const warmth = h("input", { type: "number", min: 0, max: 2, step: 0.1, placeholder: "default" });
  keepTyped("playground", prompt);
  keepTyped("playground system", system);
  keepTyped("playground limit", limit);
  keepTyped("playground warmth", warmth);
  const grid = h("div", { class: "answers" });
  /** @type {Column[]} */
  let columns = [];
  let running = null;
  const names = () => remember({ ...remembered(), models: columns.map((each) => each.model.value).join(",") });
  const arrange = () => {
    grid.dataset.count = String(columns.length);
    for (const each of columns) each.less.hidden = columns.length < 2;
    more.disabled = columns.length >= MOST;
    names();
  };
  const add = (model) => {
    const column = new Column(known, model, names, () => {
      columns = columns.filter((each) => each !== column);
      column.element.remove();
      arrange();
    });
    columns.push(column);
    grid.append(column.element);
    arrange();
  };
  const more = button("plus", "Add a model", { onclick: () => add(usual.find((id) => !columns.some((each) => each.model.value === id)) ?? known[0]) });
  const send = h("button", { type: "submit", class: "first" }, icon("play"), h("span", {}, "Run"));
  const stop = button("square", "Stop", { hidden: true, onclick: () => running?.abort() });
  const body = () => ({
    messages: [
      ...(system.value.trim() ? [{ role: "system", content: system.value.trim() }] : []),
      ...before,
      ...(prompt.value.trim() ? [{ role: "user", content: prompt.value.trim() }] : []),
    ],
    ...(limit.value ? { max_tokens: Number(limit.value) } : {}),
    ...(warmth.value ? { temperature: Number(warmth.value) } : {}),
  });
  const run = async (event) => {
    event.preventDefault();
    if (running || (!prompt.value.trim() && !before.length)) return;
    running = new AbortController();
    left.addEventListener("abort", () => running?.abort());
    send.disabled = true;
    stop.hidden = false;
    await Promise.all(columns.map((each) => each.run(body(), running.signal)));
    running = null;
    send.disabled = false;
    stop.hidden = true;
  };
  prompt.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(event);
  });
  fill(
    element,
    head("Playground", "One prompt on several models side by side: answers, tokens, cost, latency and losses."),
    h(
      "form",
      { class: "card prompt", onsubmit: run },
      before.length ? h("p", { class: "quiet" }, icon("messages-square"), " ", `The prompt follows ${plural(before.length, "message")} of `, h("a", { href: address("sessions", query.session) }, "this session"), ".") : null,
      field("Prompt", prompt),
      h("details", { class: "options" }, h("summary", {}, "Options"), h("div", { class: "toolbar" }, h("label", { class: "field grow" }, h("span", {}, "System prompt"), system), field("Max. tokens", limit), field("Temperature", warmth))),
      h("div", { class: "actions" }, send, stop, more, h("span", { class: "quiet far" }, "Ctrl-Enter runs")),
    ),
    grid,
  );
  const chosen = (query.models ?? "").split(",").filter((id) => known.includes(id)).slice(0, MOST);
  for (const model of chosen.length ? chosen : usual.slice(0, 2)) add(model);
}

/** The names to begin with: routes, then the models with a short name (which are the newest), one of
 *  each provider first; the local model last.
 *  @param {{ id: string, aliases: string[] }[]} offered */
export function usualFirst(offered) {
  const seen = new Set();
  const rank = ({ id, aliases }) => {
    if (!id.includes(":")) return 0;
    if (providerOf(id) === "local") return 4;
    if (!aliases.length) return 3;
    const isFirst = !seen.has(providerOf(id));
    seen.add(providerOf(id));
    return isFirst ? 1 : 2;
  };
  const ranked = offered.map((each) => ({ id: each.id, rank: rank(each) }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ id }) => id);
}

/** The messages of a session, up to and with the last one of the user, as Chat has them. */
async function history(id) {
  const text = await askText("GET", `/sessions/${encodeURIComponent(id)}/messages?limit=200`);
  const found = JSON.parse(text).messages;
  const last = found.findLastIndex((each) => each.role === "user");
  const body = JSON.stringify(found.slice(0, last + 1));
  const made = await ask("POST", "/convert", { text: body, source: "canonical", kind: "request", target: "openai-chat" });
  return JSON.parse(made.text).messages;
}

/** @param {string} id */
const providerOf = (id) => (id.includes(":") ? id.slice(0, id.indexOf(":")) : "Routes");

/** @param {string} id */
const modelName = (id) => id.slice(id.indexOf(":") + 1);

/** @param {string[]} ids */
function byProvider(ids) {
  /** @type {Record<string, string[]>} */
  const groups = {};
  for (const id of ids) (groups[providerOf(id)] ??= []).push(id);
  return groups;
}

/** One model and its answer. */
class Column {
  constructor(known, model, changed, removed) {
    this.model = h("select", { "aria-label": "Model" }, Object.entries(byProvider(known)).map(([label, ids]) => h("optgroup", { label }, ids.map((id) => h("option", { value: id }, modelName(id))))));
    this.model.value = model;
    this.provider = h("h2", {});
    this.less = iconButton("x", "Remove this model", { onclick: removed });
    this.body = h("div", { class: "answer body", "aria-live": "polite" });
    this.facts = h("dl", { class: "figures" });
    this.element = h("section", { class: "card" }, h("div", { class: "model" }, this.provider, this.less, this.model), this.body, this.facts);
    this.model.addEventListener("change", () => {
      this.named();
      changed();
    });
    this.named();
  }

  /** An answer belongs to the model that gave it: for another one, there is none yet. */
  named() {
    fill(this.provider, providerOf(this.model.value));
    fill(this.body, h("p", { class: "quiet" }, "The answer appears here."));
    fill(this.facts);
    this.element.setAttribute("aria-label", `Answer of ${this.model.value}`);
  }

  async run(body, signal) {
    const began = performance.now();
    const model = this.model.value;
    this.element.setAttribute("aria-busy", "true");
    let text = "";
    let thinking = "";
    let usage = null;
    let first = null;
    let drawn = 0;
    const draw = () => {
      drawn = 0;
      const isOpen = this.body.querySelector("details")?.open;
      const thought = thinking ? folded(summary("Thinking", thinking), prose(thinking)) : null;
      if (thought) thought.open = Boolean(isOpen);
      fill(this.body, thought, prose(text));
    };
    const hear = (data) => {
      if (data.error) throw new Refused(502, data);
      usage = data.usage ?? usage;
      const delta = data.choices?.[0]?.delta ?? {};
      if (delta.content || delta.reasoning_content) first ??= performance.now() - began;
      text += delta.content ?? "";
      thinking += delta.reasoning_content ?? "";
      drawn ||= requestAnimationFrame(draw);
    };
    fill(this.facts);
    fill(this.body, h("p", { class: "quiet" }, "Waiting for the first words …"));
    let id = null;
    try {
      const options = { model, stream: true, stream_options: { include_usage: true } };
      const { headers, done } = await stream("/v1/chat/completions", { ...body, ...options }, hear, signal);
      id = headers.get("x-request-id");
      await done;
      draw();
    } catch (odd) {
      draw();
      this.body.append(h("p", { class: "wrong", role: "alert" }, signal.aborted ? "Stopped." : odd.message));
    }
    this.element.removeAttribute("aria-busy");
    await this.measure(id, performance.now() - began, first, usage);
  }

  /** What it took; the gateway's own log knows cost and losses a moment later. */
  async measure(id, whole, first, usage) {
    let row = null;
    for (let attempt = 0; id && !row && attempt < 10; attempt += 1) {
      await new Promise((go) => setTimeout(go, 100 * (attempt + 1)));
      const { requests } = await ask("GET", "/requests?limit=20").catch(() => ({ requests: [] }));
      row = requests.find((each) => each.id === id) ?? null;
    }
    const isKnown = usage || row || first != null;
    const tokens = usage ? `${count(usage.prompt_tokens)} in, ${count(usage.completion_tokens)} out` : "unknown";
    const lost = row ? (row.losses ? badge(plural(row.losses, "loss", "losses"), "warn") : badge("none", "good")) : "unknown";
    const facts = {
      ...(isKnown ? { Tokens: tokens, Cost: row?.usage?.cost_usd == null ? "unknown" : spent(row.usage), "First words": first == null ? "none" : took(first) } : {}),
      "In all": took(whole),
      ...(isKnown ? { Losses: row ? h("a", { href: address("requests", id) }, lost) : lost } : {}),
    };
    fill(this.facts, Object.entries(facts).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }
}
