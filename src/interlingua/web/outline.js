// Losses at their places in the body that the client sent, or in its canonical form.

import { h } from "./dom.js";
import { byRule, grade } from "./lossline.js";

/** The parts of a path like `$.messages[2].content[0]`. */
export function parts(path) {
  return path.replace(/^\$/, "").match(/\[[^\]]*\]|[^.[\]]+/g) ?? [];
}

class Branch {
  here = [];
  below = new Map();

  at(path) {
    if (!path.length) return this;
    const [first, ...rest] = path;
    if (!this.below.has(first)) this.below.set(first, new Branch());
    return this.below.get(first).at(rest);
  }
}

/** The losses as a tree of the places where they are. */
export function outline(losses) {
  const whole = new Branch();
  for (const loss of losses) whole.at(parts(loss.at?.[0] ?? loss.path)).here.push(loss);
  return h(
    "ul",
    { "aria-label": "Losses", class: "outline" },
    whole.here.map(oneLoss),
    branches(whole),
  );
}

function branches(branch) {
  return [...branch.below].map(([name, inner]) => {
    const below = [...inner.here.map(oneLoss), ...branches(inner)];
    return h("li", {}, h("code", {}, name), h("ul", {}, below));
  });
}

function oneLoss(loss) {
  const { path, at = [], reason, severity = "warning", rule } = loss;
  return h(
    "li",
    { class: `loss ${severity}`, "data-path": path, title: path },
    grade(loss),
    `: ${reason}`,
    byRule(rule, reason),
    at.length > 1 ? [" (also at ", h("code", {}, at.slice(1).join(", ")), ")"] : null,
  );
}
