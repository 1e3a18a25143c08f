// What could not be said, each with its place: in a list, and marked in the text where it is found.

import { fill, h } from "./dom.js";

export function lossList() {
  const list = h("ul", { "aria-label": "Losses", class: "losses" });
  const head = h("p", { role: "status" });
  const show = (losses, target) => {
    const count = losses.length === 1 ? "1 loss" : `${losses.length} losses`;
    fill(head, losses.length ? `${count} in ${target}` : `Nothing is lost in ${target}.`);
    fill(list, losses.map(oneLoss));
  };
  return { element: h("div", {}, head, list), show, clear: () => (fill(head), fill(list)) };
}

function oneLoss({ kind, path, reason, severity = "warning", block_type: block, rule }) {
  return h(
    "li",
    { class: severity },
    h("strong", {}, `${severity}: ${kind}${block ? ` ${block}` : ""}`),
    " at ",
    h("code", {}, path),
    h("span", {}, `: ${reason}`),
    rule ? h("span", { class: "quiet" }, ` (rule ${rule})`) : null,
  );
}
