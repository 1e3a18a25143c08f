// Tokens and money of messages, one by one and by model.

import { h } from "./dom.js";

const COLUMNS = {
  "Fresh input": "input_tokens",
  "Read from cache": "cached_input_tokens",
  "Written to cache": "cache_creation_input_tokens",
  Output: "output_tokens",
};

/** What is known about one message, as a line. */
export function facts({ model, response_model: answered, usage, status }) {
  const known = usage ?? {};
  const parts = [
    model ?? answered,
    known.input_tokens == null ? null : `${known.input_tokens} + ${known.output_tokens ?? 0} tokens`,
    known.cached_input_tokens ? `${known.cached_input_tokens} from cache` : null,
    known.cost_usd == null ? null : `$${known.cost_usd}`,
    status && status !== "complete" ? status : null,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** A table of what the messages took, by model; null where nothing is known. */
export function totals(messages) {
  const models = new Map();
  for (const { metadata } of messages) {
    if (!metadata?.usage) continue;
    const name = metadata.model ?? metadata.response_model ?? "unknown";
    models.set(name, [...(models.get(name) ?? []), metadata.usage]);
  }
  if (!models.size) return null;
  const head = ["Model", "Answers", ...Object.keys(COLUMNS), "Cost"];
  const row = ([name, used]) => {
    const counts = Object.values(COLUMNS).map((column) => sum(used, column).toLocaleString());
    const cells = [String(used.length), ...counts, cost(used)].map((text) => h("td", {}, text));
    return h("tr", {}, h("th", { scope: "row" }, name), ...cells);
  };
  return h(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": "Tokens and cost of the messages below" },
    h(
      "table",
      {},
      h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, [...models].map(row)),
    ),
  );
}

function sum(used, column) {
  return used.reduce((all, usage) => all + Number(usage[column] ?? 0), 0);
}

function cost(used) {
  const priced = used.filter((usage) => usage.cost_usd != null);
  if (!priced.length) return "unknown";
  const rest = used.length - priced.length;
  return `$${sum(priced, "cost_usd").toFixed(6)}${rest ? ` and ${rest} unknown` : ""}`;
}
