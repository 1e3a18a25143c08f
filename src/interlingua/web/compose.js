// Where a message is written.

import { fill, h } from "./dom.js";
import { button as withIcon } from "./parts.js";
import { keepTyped } from "./route.js";

/** Enter sends it; with Shift it begins a line. What is typed stays over a reload, under a name. */
export function messageForm(name, send, placeholder, ...beside) {
  const box = h("textarea", { "aria-label": "Message", rows: 3, required: true, placeholder });
  const forget = keepTyped(name, box);
  const button = withIcon("send", "Send", { type: "submit", class: "first" });
  const wrong = h("p", { role: "alert", class: "wrong" });
  const row = h("div", { class: "row" }, button);
  const form = h("form", { class: "compose" }, ...beside, box, wrong, row);
  const submit = async (event) => {
    event.preventDefault();
    if (!box.value.trim() || button.disabled) return;
    button.disabled = true;
    fill(wrong);
    try {
      await send({ role: "user", content: box.value });
      box.value = "";
      forget();
    } catch (odd) {
      fill(wrong, odd.message);
    }
    button.disabled = false;
  };
  form.addEventListener("submit", submit);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  return { form, box, row, wrong };
}
