// One thing that could not be said.

import { h } from "./dom.js";

/** A loss as an item of a list. `find` shows its place, where there is one to show. */
export function lossLine({ kind, path, reason, severity = "warning", block_type: block, rule }, find) {
  return h(
    "li",
    { class: severity },
    h("strong", {}, `${severity}: ${kind}${block ? ` ${block}` : ""}`),
    " at ",
    find ? h("button", { type: "button", class: "place", onclick: find }, path) : h("code", {}, path),
    h("span", {}, `: ${reason}`),
    rule ? h("span", { class: "quiet" }, ` (rule ${rule})`) : null,
  );
}
