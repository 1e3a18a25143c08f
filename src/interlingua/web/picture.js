// What caching saved, as a picture: a bar for each prompt, by where its tokens came from.

import { h, s } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 90;
const WIDEST = 24; // a bar, where there are few
const PARTS = { cached: "read from the cache", written: "written to it", fresh: "fresh" };

/** The picture with its words; null where nothing was cached. */
export function picture(prompts, total) {
  const cached = total.cached_input_tokens;
  const written = total.cache_creation_input_tokens;
  if (!cached && !written) return null;
  const words = summaryOf(total);
  return h(
    "figure",
    {},
    drawn(prompts, words),
    h("figcaption", {}, words, h("span", { class: "keys" }, Object.entries(PARTS).map(([name, text]) => key(name, text)))),
  );
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

function key(name, text) {
  const swatch = s("svg", { class: "picture swatch", "aria-hidden": "true", viewBox: "0 0 10 10" }, s("rect", { class: name, width: 10, height: 10 }));
  return h("span", {}, swatch, text);
}

function drawn(prompts, words) {
  const size = ({ fresh, cached, written }) => fresh + cached + written;
  const highest = Math.max(1, ...prompts.map(size));
  const step = Math.min(WIDTH / Math.max(prompts.length, 1), WIDEST);
  const bars = prompts.flatMap((prompt, number) => {
    let bottom = HEIGHT;
    return Object.keys(PARTS).map((name) => {
      const height = (HEIGHT * prompt[name]) / highest;
      bottom -= height;
      const width = Math.max(step - 1, 0.5);
      return s("rect", { class: name, x: (number * step).toFixed(2), y: bottom.toFixed(2), width: width.toFixed(2), height: height.toFixed(2) });
    });
  });
  const view = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
  return s("svg", { class: "picture", role: "img", "aria-label": words, ...view }, ...bars);
}
