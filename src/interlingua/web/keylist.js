// Keys and their caps, to look at.

import { folded, h } from "./dom.js";
import { count, money, spent, when } from "./format.js";
import { address } from "./route.js";

/** @param {any[]} keys  @param {boolean} admin whether they can be changed from here */
export function keyList(keys, admin) {
  const columns = ["Name", "State", "Spent", "Limits"];
  const line = (key) =>
    h("tr", {}, h("th", { scope: "row" }, key.name), h("td", {}, key.status), h("td", {}, caps(key.caps)), h("td", {}, limitsOf(key)));
  const how = admin ? ["They are changed in ", h("a", { href: address("admin") }, "Administration"), "."] : "They are changed with the command line: interlingua keys.";
  return folded(
    "Keys and caps",
    h("p", { class: "quiet" }, how),
    h(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "Keys and caps" },
      h("table", { "aria-label": "Keys" }, h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, keys.map(line))),
    ),
  );
}

/** What was spent of each cap; null where there is none. @param {any[]} all */
export function caps(all) {
  if (!all.length) return null;
  return all.map(({ scope, window, limit_usd: limit, spent_usd: cost, unpriced, values }) => {
    const amount = `${values ? "up to " : ""}${spent({ cost_usd: cost, unpriced })}`;
    const words = `${amount} of ${money(limit).replace(/\.00$/, "")} a ${window}${scope === "key" ? "" : ` (${scope})`}${values ? `, ${values} so far` : ""}`;
    const [value, max] = [Number(cost), Number(limit)];
    return h("div", { class: "cap" }, h("span", {}, words), h("meter", { min: 0, max: Math.max(max, 1e-9), high: 0.9 * max, value, "aria-label": words }));
  });
}

/** @param {any} key */
export function limitsOf(key) {
  const known = {
    "requests a minute": key.requests_per_minute,
    "tokens a minute": key.tokens_per_minute,
    "at a time": key.concurrent,
    "output tokens": key.max_max_tokens,
  };
  const counts = Object.entries(known).filter(([, most]) => most != null);
  const parts = counts.map(([words, most]) => `${count(most)} ${words}`);
  if (key.allowed_models) parts.push(`only ${key.allowed_models.map((name) => name.replace(/^route:/, "")).join(", ")}`);
  if (key.log_content_days) parts.push(`content logged for ${key.log_content_days} days`);
  if (key.expires_at) parts.push(`until ${when(key.expires_at)}`);
  return parts.join("; ");
}
