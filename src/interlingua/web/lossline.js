// One loss.

import { h } from "./dom.js";

/** The rule that a loss is due to, unless the reason names it. */
export function byRule(rule, reason) {
  return rule && !reason?.includes(rule) ? h("span", { class: "quiet" }, ` (rule ${rule})`) : null;
}

/** A loss as an item of a list. `find` shows its place, where there is one to show. */
export function lossLine({ kind, path, reason, severity = "warning", block_type: block, rule }, find) {
  return h(
    "li",
    { class: severity },
    h("strong", {}, `${severity}: ${kind}${block ? ` ${block}` : ""}`),
    " at ",
    find ? h("button", { type: "button", class: "place", onclick: find }, path) : h("code", {}, path),
    h("span", {}, `: ${reason}`),
    byRule(rule, reason),
  );
}
