// A conversion and what it could not say: the new form and the canonical form side by side, the
// losses as a list and at their places, and what comes out otherwise when the new form is read back.

import { ask } from "./api.js";
import { differences } from "./differences.js";
import { fill, h } from "./dom.js";
import { painter } from "./editor.js";
import { lossLine } from "./lossline.js";

/** Where a conversion is shown. `convert(request)` asks for one and shows it. */
export function outcome() {
  const result = h("pre", { "aria-label": "Converted", tabindex: 0, role: "region" });
  const list = h("ul", { "aria-label": "Losses", class: "losses" });
  const head = h("p", { role: "status" });
  const canonical = h("pre", { "aria-label": "Canonical form", tabindex: 0, role: "region" });
  const changed = h("pre", { "aria-label": "Differences", tabindex: 0, role: "region" });
  const forms = h("div", { class: "columns", hidden: true }, named("In its form", result), named("Canonical form", canonical));
  const back = h("details", { hidden: true }, h("summary", {}, ""), changed);
  let latest = 0;

  const clear = () => {
    latest += 1;
    for (const each of [result, list, head, canonical, changed]) fill(each);
    forms.hidden = back.hidden = true;
  };
  const show = ({ text, losses, target }) => {
    const count = losses.length === 1 ? "1 loss" : `${losses.length} losses`;
    fill(result, painter(text)(text));
    fill(canonical);
    fill(head, losses.length ? `${count} in ${target}` : `Nothing is lost in ${target}.`);
    fill(list, losses.map((loss) => lossLine(loss, () => find(loss))));
    forms.hidden = false;
    back.hidden = true;
  };
  const find = ({ path }) => {
    const marks = [...canonical.querySelectorAll("mark")];
    const mark = marks.filter((each) => path.startsWith(each.dataset.path)).at(-1);
    mark?.scrollIntoView({ block: "center" });
    mark?.focus();
  };
  const compare = (whole, { back: read, target }) => {
    if (read == null) return;
    const lines = differences(whole, read);
    back.hidden = false;
    const words = lines.length ? "Differences when it is read back" : "Unchanged when it is read back";
    fill(back.firstElementChild, `${words} (${target})`);
    fill(changed, lines.map(({ sign, text }) => h(sign === " " ? "span" : sign === "+" ? "ins" : "del", {}, `${sign} ${text}\n`)));
  };
  /** The conversion, or null where another was requested in the meantime. */
  const convert = async (request) => {
    const number = ++latest;
    const converted = await ask("POST", "/convert", { ...request, back: true });
    if (number !== latest) return null;
    show(converted);
    const { source, kind } = converted;
    const whole = await ask("POST", "/convert", { text: request.text, source, kind, target: "canonical" });
    if (number !== latest) return null;
    fill(canonical, ...marked(whole.text, converted.losses));
    compare(whole.text, converted);
    return converted;
  };
  return { element: h("div", {}, head, list, forms, back), text: () => result.textContent, convert, clear };
}

function named(title, body) {
  return h("div", {}, h("p", { class: "quiet", "aria-hidden": "true" }, title), body);
}

/** JSON of one value a line, with the lines marked that a loss speaks of. It is read line by line
 *  and not parsed, so that numbers stay as they are. */
export function marked(text, losses) {
  const inside = [];
  const places = nearest(text, losses);
  const paint = painter(text);
  const line = (whole) => {
    const words = whole.trim().replace(/,$/, "");
    if (words === "}" || words === "]") {
      inside.pop();
      return `${whole}\n`;
    }
    const [path, value] = placed(words, inside.at(-1));
    if (value === "{" || value === "[") inside.push({ path, list: value === "[", next: 0 });
    const here = places.get(path) ?? [];
    if (!here.length) return [...paint(whole), "\n"];
    const why = [...new Set(here.map((loss) => loss.kind))].join(", ");
    return [h("mark", { "data-path": path, tabindex: -1 }, paint(whole), `  ← ${why}`), "\n"];
  };
  return text.split("\n").flatMap(line);
}

/** The losses by the deepest place of theirs that is there: what is said by default is not. */
function nearest(text, losses) {
  const there = new Set(paths(text));
  const found = new Map();
  for (const loss of losses) {
    let path = loss.path;
    while (path !== "$" && !there.has(path)) path = above(path);
    found.set(path, [...(found.get(path) ?? []), loss]);
  }
  return found;
}

/** A name may have dots and brackets of its own; then the place above is not known. */
function above(path) {
  const shorter = path.replace(/(\.[^.[\]]*|\[[^\]]*\])$/, "");
  return shorter && shorter !== path ? shorter : "$";
}

function paths(text) {
  const inside = [];
  const found = [];
  for (const whole of text.split("\n")) {
    const words = whole.trim().replace(/,$/, "");
    if (words === "}" || words === "]") inside.pop();
    else {
      const [path, value] = placed(words, inside.at(-1));
      found.push(path);
      if (value === "{" || value === "[") inside.push({ path, list: value === "[", next: 0 });
    }
  }
  return found;
}

function placed(words, around) {
  if (!around) return ["$", words];
  if (around.list) return [`${around.path}[${around.next++}]`, words];
  const [, key, value] = /^("(?:[^"\\]|\\.)*"): (.*)$/s.exec(words);
  return [`${around.path}.${JSON.parse(key)}`, value];
}
