// Questions in front of the page: a form, a yes, a secret that is shown once. They close with Escape,
// and the focus goes back to where it was.

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { iconButton, snippet } from "./parts.js";

/**
 * Opens a dialog. `draw(close)` makes what is in it.
 * @param {string} title  @param {(close: () => void) => any} draw
 */
export function dialog(title, draw) {
  const before = document.activeElement;
  const id = "dialog-title";
  const made = h("dialog", { class: "dialog", "aria-labelledby": id });
  const close = () => made.close();
  fill(made, h("div", { class: "dialog-head" }, h("h2", { id }, title), iconButton("x", "Close", { onclick: close })), draw(close));
  made.addEventListener("close", () => {
    made.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  document.body.append(made);
  made.showModal();
  return made;
}

/**
 * A form in a dialog. `work` gets nothing and may return something to show in place of the form.
 * @param {string} title  @param {any} inside  @param {string} label  @param {() => Promise<any>} work  @param {string} [tone]
 */
export function formDialog(title, inside, label, work, tone = "first") {
  const wrong = h("p", { class: "wrong", role: "alert" });
  const send = h("button", { type: "submit", class: tone }, label);
  return dialog(title, (close) => {
    const cancel = h("button", { type: "button", onclick: close, autofocus: tone === "danger" }, "Cancel");
    const submit = async (/** @type {Event} */ event) => {
      event.preventDefault();
      send.disabled = true;
      fill(wrong);
      try {
        const next = await work();
        if (!next) {
          close();
          return;
        }
        fill(form, next);
        /** @type {HTMLButtonElement} */ (form.querySelector("button.first")).focus();
      } catch (odd) {
        fill(wrong, odd instanceof Error ? odd.message : String(odd));
      }
      send.disabled = false;
    };
    /** @type {HTMLFormElement} */
    const form = h("form", { onsubmit: submit }, h("div", { class: "dialog-body" }, inside), wrong, h("div", { class: "dialog-foot" }, cancel, send));
    return form;
  });
}

/** A token that cannot be shown again. @param {string} token  @param {string} name */
export function secret(token, name) {
  const done = h("button", { type: "button", class: "first", onclick: () => done.closest("dialog").close() }, "Done");
  return [
    h(
      "div",
      { class: "dialog-body" },
      h("p", { class: "callout" }, icon("key-round"), h("span", {}, `This is the token of ${name}. Copy it now: it cannot be shown again.`)),
      snippet(token, "the token"),
    ),
    h("div", { class: "dialog-foot" }, done),
  ];
}
