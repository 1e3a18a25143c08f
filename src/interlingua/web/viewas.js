// The messages that are shown, as a request of any dialect, with its losses.

import { copyButtons } from "./copies.js";
import { field, fill, h } from "./dom.js";
import { outcome } from "./losses.js";
import { choice } from "./parts.js";

/** `messages()` is their JSON, `model` the one that a copied request asks. */
export function viewAs(formats, messages, model) {
  const target = choice(["", ...formats], "");
  target.options[0].textContent = "the conversation";
  const wrong = h("p", { role: "alert", class: "wrong" });
  const found = h("p", { role: "status", class: "quiet" });
  const out = outcome();
  let last = null;
  const copies = copyButtons(() => last, () => fill(found, "Copied."));
  const made = h("div", { hidden: true }, h("div", { class: "row" }, copies.made), found, wrong, out.element);
  const work = async () => {
    made.hidden = !target.value;
    fill(wrong);
    fill(found);
    last = null;
    if (!target.value) return;
    const request = { text: messages(), source: "canonical", kind: "request", target: target.value };
    try {
      const result = await out.convert(request);
      if (result) last = { ...result, body: request.text, model };
    } catch (odd) {
      out.clear();
      fill(wrong, odd.message);
    }
    copies.refresh();
  };
  target.addEventListener("change", work);
  return { control: h("div", { class: "view-as" }, field("View as", target)), output: made };
}
