// Keys and their caps, to look at.

import { folded, h, when } from "./dom.js";

export function keyList(keys) {
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
      h("table", { "aria-label": "Keys" }, h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, keys.map(line))),
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
