// One loss.

import { h } from "./dom.js";

/** The rule that a loss is due to, unless the reason names it. */
export function byRule(rule, reason) {
  return rule && !reason?.includes(rule) ? h("span", { class: "quiet" }, ` (rule ${rule})`) : null;
}

/** The places of a loss in the body that was converted, or its canonical one. */
export function where({ at, path }) {
  return at?.length ? at.join(", ") : path;
}

/** Its severity; and what happened, unless the reason names it. */
export function grade({ severity = "warning", kind, block_type: block, code }) {
  return h("strong", {}, code ? severity : `${severity}: ${kind}${block ? ` ${block}` : ""}`);
}

/** A loss as an item of a list. `find` shows its place, where there is one to show. */
export function lossLine(loss, find) {
  const { path, reason, severity = "warning", rule } = loss;
  const place = { title: path };
  return h(
    "li",
    { class: severity },
    find ? h("button", { type: "button", class: "place", onclick: find, ...place }, where(loss)) : h("code", place, where(loss)),
    " ",
    grade(loss),
    h("span", {}, `: ${reason}`),
    byRule(rule, reason),
  );
}
