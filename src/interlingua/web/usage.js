// Tokens and money of messages, one by one and by model.

import { h } from "./dom.js";
import { money } from "./format.js";

const COLUMNS = {
  "Fresh input": "input_tokens",
  "Read from cache": "cached_input_tokens",
  "Written to cache": "cache_creation_input_tokens",
  Output: "output_tokens",
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
    money(known.cost_usd),
    status && status !== "complete" ? status : null,
  ].filter(Boolean);
  return lines.length ? h("p", { class: "margin quiet" }, lines.map((line) => (typeof line === "string" ? h("span", {}, line) : line))) : null;
}

/** A table of what the answers of each model took; null where there are none. */
export function totals(models, total) {
  if (!models.length) return null;
  const head = ["Model", "Cost", "Answers", ...Object.keys(COLUMNS)];
  const row = (/** @type {any} */ { model, answers, ...sums }) => {
    const counts = Object.values(COLUMNS).map((column) => sums[column].toLocaleString());
    const cells = [cost(sums), String(answers), ...counts].map((text) => h("td", {}, text));
    return h("tr", {}, h("th", { scope: "row" }, model), ...cells);
  };
  const rows = models.length > 1 ? [{ ...total, model: "All" }, ...models] : models;
  return h(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": "Tokens and cost" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, rows.map(row)),
    ),
  );
}

function cost({ cost_usd: cost, unpriced }) {
  if (cost == null) return "unknown";
  return `$${cost}${unpriced ? ` and ${unpriced} unknown` : ""}`;
}
