// What caching saved, as a chart: a bar for each prompt, by where its tokens came from.

import { bars } from "./charts.js";
import { h } from "./dom.js";
import { count } from "./format.js";

const PARTS = { cached: "read from the cache", written: "written to it", fresh: "fresh" };

/** The chart with its words; null where nothing was cached. */
export function picture(prompts, total) {
  if (!total.cached_input_tokens && !total.cache_creation_input_tokens) return null;
  const words = summaryOf(total);
  const points = prompts.map((prompt, at) => ({ at: at + 1, values: Object.keys(PARTS).map((name) => prompt[name]) }));
  const parts = Object.keys(PARTS).filter((name) => prompts.some((prompt) => prompt[name]));
  const drawn = bars({ label: words.replace(/\.$/, ""), points, parts: Object.keys(PARTS), titles: Object.values(PARTS), shown: (value) => count(Math.round(value)), when: (at) => `Prompt ${at}`, tick: String });
  const legend = parts.map((name) => h("span", { class: `key ${name}` }, PARTS[name]));
  return h("figure", {}, h("h3", {}, "Input tokens of each prompt"), h("span", { class: "legend" }, legend), drawn, h("figcaption", {}, words));
}

function summaryOf(total) {
  const cached = total.cached_input_tokens;
  const all = cached + total.input_tokens + total.cache_creation_input_tokens;
  const part = all ? Math.round((100 * cached) / all) : 0;
  const head = `${cached.toLocaleString()} of ${all.toLocaleString()} input tokens were read from the cache (${part} %).`;
  return [head, money(total)].filter(Boolean).join(" ");
}

function money({ saved_usd: saved, saving_unknown: unknown, answers }) {
  if (saved == null || unknown === answers) return "What that saved is not known: the models have no price here.";
  const amount = `$${Math.abs(Number(saved)).toFixed(6).replace(/0{1,4}$/, "")}`;
  const rest = unknown ? ` (${unknown} answers have no price)` : "";
  return Number(saved) < 0 ? `So far the cache cost ${amount} more than it saved${rest}.` : `Caching saved ${amount}${rest}.`;
}
