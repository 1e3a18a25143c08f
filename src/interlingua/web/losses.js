// A conversion and what it could not say: the new form, the losses as a list, and each of them
// marked at its place in the canonical form.

import { ask } from "./api.js";
import { fill, h } from "./dom.js";

/** Where a conversion is shown. `convert(said)` asks for one and shows it. */
export function outcome() {
  const result = h("pre", { "aria-label": "Converted", tabindex: 0, role: "region" });
  const list = h("ul", { "aria-label": "Losses", class: "losses" });
  const head = h("p", { role: "status" });
  const canonical = h("pre", { "aria-label": "Canonical form", tabindex: 0, role: "region" });
  const places = h("details", { hidden: true }, h("summary", {}, "Where, in the canonical form"), canonical);
  let asked = 0;

  const clear = () => {
    asked += 1;
    for (const each of [result, list, head, canonical]) fill(each);
    places.hidden = true;
  };
  const show = ({ text, losses, target }) => {
    const count = losses.length === 1 ? "1 loss" : `${losses.length} losses`;
    fill(result, text);
    fill(head, losses.length ? `${count} in ${target}` : `Nothing is lost in ${target}.`);
    fill(list, losses.map((loss) => oneLoss(loss, () => find(loss))));
    places.hidden = true;
  };
  const find = ({ path }) => {
    places.open = true;
    const mark = [...canonical.querySelectorAll("mark")].find((each) => each.dataset.path === path);
    mark?.scrollIntoView({ block: "center" });
    mark?.focus();
  };
  /** The conversion, or null where another was asked for in the meantime. */
  const convert = async (said) => {
    const mine = ++asked;
    const told = await ask("POST", "/convert", said);
    if (mine !== asked) return null;
    show(told);
    if (told.losses.length) {
      const { source, kind } = told;
      const whole = await ask("POST", "/convert", { text: said.text, source, kind, target: "canonical" });
      if (mine !== asked) return null;
      fill(canonical, ...marked(whole.text, told.losses));
      places.hidden = false;
    }
    return told;
  };
  return { element: h("div", {}, result, head, list, places), text: () => result.textContent, convert, clear };
}

function oneLoss({ kind, path, reason, severity = "warning", block_type: block, rule }, find) {
  return h(
    "li",
    { class: severity },
    h("strong", {}, `${severity}: ${kind}${block ? ` ${block}` : ""}`),
    " at ",
    h("button", { type: "button", class: "place", onclick: find }, path),
    h("span", {}, `: ${reason}`),
    rule ? h("span", { class: "quiet" }, ` (rule ${rule})`) : null,
  );
}

/** JSON of one value a line, with the lines marked that a loss speaks of. It is read line by line
 *  and not parsed, so that numbers stay as they are. */
export function marked(text, losses) {
  const inside = [];
  const line = (whole) => {
    const words = whole.trim().replace(/,$/, "");
    if (words === "}" || words === "]") {
      inside.pop();
      return `${whole}\n`;
    }
    const [path, value] = placed(words, inside.at(-1));
    if (value === "{" || value === "[") inside.push({ path, list: value === "[", next: 0 });
    const here = losses.filter((loss) => loss.path === path);
    if (!here.length) return `${whole}\n`;
    const why = [...new Set(here.map((loss) => loss.kind))].join(", ");
    return [h("mark", { "data-path": path, tabindex: -1 }, `${whole}  ← ${why}`), "\n"];
  };
  return text.split("\n").flatMap(line);
}

function placed(words, around) {
  if (!around) return ["$", words];
  if (around.list) return [`${around.path}[${around.next++}]`, words];
  const [, key, value] = /^("(?:[^"\\]|\\.)*"): (.*)$/s.exec(words);
  return [`${around.path}.${JSON.parse(key)}`, value];
}
