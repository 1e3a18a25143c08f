// Tokens and money of messages, one by one and by model.

import { h } from "./dom.js";
import { money, plural, spent } from "./format.js";

const KINDS = {
  "fresh input": "input_tokens",
  "read from cache": "cached_input_tokens",
  "written to cache": "cache_creation_input_tokens",
  output: "output_tokens",
};

const count = (number) => number.toLocaleString();

/** What is known about one message, in its margin. @param {any} metadata */
export function margin({ model, response_model: answered, usage, status }) {
  const known = usage ?? {};
  const prompt = ["input_tokens", "cached_input_tokens", "cache_creation_input_tokens"].reduce((sum, name) => sum + (known[name] ?? 0), 0);
  const name = model ?? answered;
  const lines = [
    name ? h("span", { title: name }, name.replace(/^[\w-]+:/, "")) : null,
    known.input_tokens == null ? null : `${count(prompt)} in, ${count(known.output_tokens ?? 0)} out`,
    prompt && known.cached_input_tokens ? `${Math.round((100 * known.cached_input_tokens) / prompt)} % from cache` : null,
    spent(known),
    status && status !== "complete" ? status : null,
  ].filter(Boolean);
  return lines.length ? h("p", { class: "margin quiet" }, lines.map((line) => (typeof line === "string" ? h("span", {}, line) : line))) : null;
}

/** What the answers of each model took, and of all together; null where there are none. */
export function totals(models, total) {
  if (!models.length) return null;
  const row = (/** @type {any} */ { model, answers, ...sums }) => {
    const counts = Object.entries(KINDS).filter(([, kind]) => sums[kind]).map(([name, kind]) => `${count(sums[kind])} ${name}`);
    const facts = [plural(answers, "answer"), ...counts].map((text) => h("span", {}, text));
    return h("tr", {}, h("th", { scope: "row" }, model, h("p", { class: "margin quiet" }, facts)), h("td", { class: "num" }, cost(sums)));
  };
  const rows = models.length > 1 ? [...models, { ...total, model: "All" }] : models;
  return h(
    "section",
    { "aria-label": "Tokens and cost" },
    h("h2", {}, "Tokens and cost"),
    h("table", { class: "totals" }, h("tbody", {}, rows.map(row))),
  );
}

function cost({ cost_usd: cost, unpriced }) {
  if (cost == null) return "unknown";
  return `${money(cost)}${unpriced ? ` and ${unpriced} unknown` : ""}`;
}
