// Losses at their places: the branches of a request that a loss speaks of, and nothing else of it.

import { h } from "./dom.js";
import { byRule } from "./lossline.js";

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
  for (const loss of losses) whole.at(parts(loss.path)).here.push(loss);
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

function oneLoss({ kind, path, reason, severity = "warning", block_type: block, rule }) {
  return h(
    "li",
    { class: `loss ${severity}`, "data-path": path },
    h("strong", {}, `${severity}: ${kind}${block ? ` ${block}` : ""}`),
    `: ${reason}`,
    byRule(rule, reason),
  );
}
