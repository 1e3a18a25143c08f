// Tokens and money of messages, one by one and by model.

import { h } from "./dom.js";

const COLUMNS = {
  "Fresh input": "input_tokens",
  "Read from cache": "cached_input_tokens",
  "Written to cache": "cache_creation_input_tokens",
  Output: "output_tokens",
};

const count = (number) => number.toLocaleString();

/** What is known about one message, as a line. */
export function facts({ model, response_model: answered, usage, status }) {
  const known = usage ?? {};
  const parts = [
    model ?? answered,
    known.input_tokens == null ? null : `${count(known.input_tokens)} + ${count(known.output_tokens ?? 0)} tokens`,
    known.cached_input_tokens ? `${count(known.cached_input_tokens)} from cache` : null,
    known.cost_usd == null ? null : `$${known.cost_usd}`,
    status && status !== "complete" ? status : null,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** A table of what the answers of each model took; null where there are none. */
export function totals(models, total) {
  if (!models.length) return null;
  const head = ["Model", "Answers", ...Object.keys(COLUMNS), "Cost"];
  const row = (/** @type {any} */ { model, answers, ...sums }) => {
    const counts = Object.values(COLUMNS).map((column) => sums[column].toLocaleString());
    const cells = [String(answers), ...counts, cost(sums)].map((text) => h("td", {}, text));
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
