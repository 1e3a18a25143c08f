// What every view is made of: its head, its empty, loading and failed states, marks and copy buttons.

import { fill, h } from "./dom.js";
import { icon } from "./icons.js";

/**
 * The head of a view: its title, a line below it, and what can be done, at the end of the line.
 * @param {any} title  @param {any} [about]  @param {...any} actions
 */
export function head(title, about, ...actions) {
  return h(
    "div",
    { class: "head" },
    h("div", { class: "title" }, h("h1", {}, title), about ? h("p", { class: "quiet" }, about) : null),
    actions.length ? h("div", { class: "actions" }, actions) : null,
  );
}

/** A button with an icon. @param {string} name  @param {any} words  @param {Record<string, any>} [attributes] */
export function button(name, words, attributes = {}) {
  return h("button", { type: "button", ...attributes }, icon(name), h("span", {}, words));
}

/** A button that is an icon; its words are its name. @param {string} name  @param {string} words  @param {Record<string, any>} [attributes] */
export function iconButton(name, words, attributes = {}) {
  return h("button", { type: "button", class: "bare", "aria-label": words, title: words, ...attributes }, icon(name));
}

/** Nothing is there yet: what would be, and how it comes. @param {string} name  @param {string} title  @param {any} words  @param {...any} actions */
export function empty(name, title, words, ...actions) {
  return h(
    "div",
    { class: "empty" },
    h("span", { class: "disc" }, icon(name)),
    h("h2", {}, title),
    h("p", {}, words),
    actions.length ? h("div", { class: "actions" }, actions) : null,
  );
}

/** Something is on its way; drawn late, so that what is quick does not flicker. @param {number} [lines] */
export function loading(lines = 6) {
  const bars = Array.from({ length: lines }, () => h("div", { class: "bar" }));
  return h("div", { class: "loading", role: "status" }, h("span", { class: "unseen" }, "Loading"), bars);
}

/** What went wrong, and a way on. @param {string} words  @param {(() => void) | null} [again] */
export function problem(words, again = null) {
  return h(
    "div",
    { class: "problem", role: "alert" },
    icon("circle-alert"),
    h("p", {}, words),
    again ? h("button", { type: "button", onclick: again }, "Try again") : null,
  );
}

/** A short mark. `tone`: good, bad, warn, accent, or none. @param {any} words  @param {string | null} [tone]  @param {string | null} [name] */
export function badge(words, tone = null, name = null) {
  return h("span", { class: tone ? `badge ${tone}` : "badge" }, name ? icon(name) : null, words);
}

/** Copies what `text()` returns, and shows that it did; null is answered with `refusal`. @param {() => string | null} text  @param {string} [words]  @param {boolean} [bare]  @param {string} [refusal] */
export function copyButton(text, words = "Copy", bare = true, refusal = "") {
  const made = bare ? iconButton("copy", words) : button("copy", words);
  const done = h("span", { class: "unseen", role: "status" });
  made.addEventListener("click", async () => {
    const copied = text();
    done.classList.toggle("unseen", copied !== null);
    if (copied === null) {
      fill(done, refusal);
      return;
    }
    try {
      await navigator.clipboard.writeText(copied);
    } catch {
      return;
    }
    made.replaceChild(icon("check"), made.firstElementChild);
    fill(done, "Copied.");
    setTimeout(() => {
      made.replaceChild(icon("copy"), made.firstElementChild);
      fill(done);
    }, 1500);
  });
  return h("span", { class: "copying" }, made, done);
}

/** The same as a single element, where there may be hundreds. @param {string} text  @param {string} words */
export function copyMark(text, words) {
  const made = h("button", { type: "button", class: "bare copy-mark", "aria-label": words, title: words });
  made.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(text).then(() => made.setAttribute("aria-label", "Copied"), () => {});
    setTimeout(() => made.setAttribute("aria-label", words), 1500);
  });
  return made;
}

/** A command or a program to copy. @param {string} text  @param {string} label */
export function snippet(text, label) {
  return h("div", { class: "snippet" }, h("pre", { tabindex: 0, role: "region", "aria-label": label }, text), copyButton(() => text, `Copy ${label}`));
}

/**
 * Tabs, each with what it shows; the arrow keys go through them.
 * @param {string} label  @param {[string, any][]} parts  @param {(name: string) => void} [chosen]
 */
export function tabs(label, parts, chosen = () => {}) {
  const id = `tabs-${label.replace(/\W+/g, "-")}`;
  const panels = parts.map(([, body], at) =>
    h("div", { role: "tabpanel", id: `${id}-${at}`, "aria-labelledby": `${id}-tab-${at}`, hidden: at > 0, tabindex: 0 }, body),
  );
  const buttons = parts.map(([name], at) =>
    h("button", { type: "button", role: "tab", id: `${id}-tab-${at}`, "aria-controls": `${id}-${at}`, onclick: () => choose(at) }, name),
  );
  const choose = (/** @type {number} */ at) => {
    buttons.forEach((each, number) => {
      each.setAttribute("aria-selected", String(number === at));
      each.tabIndex = number === at ? 0 : -1;
      panels[number].hidden = number !== at;
    });
    chosen(parts[at][0]);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = (buttons.findIndex((each) => each.tabIndex === 0) + step + parts.length) % parts.length;
    choose(at);
    buttons[at].focus();
    event.preventDefault();
  };
  choose(0);
  return h("div", { class: "tabs" }, h("div", { role: "tablist", "aria-label": label, onkeydown: keys }, buttons), panels);
}

/** One of a few values, as buttons side by side. @param {string} label  @param {Record<string, string>} names  @param {string} value  @param {(value: string) => void} chosen */
export function segments(label, names, value, chosen) {
  const buttons = Object.entries(names).map(([name, words]) =>
    h("button", { type: "button", "aria-pressed": String(name === value), "data-value": name, onclick: () => choose(name) }, words),
  );
  const choose = (/** @type {string} */ name) => {
    for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.value === name));
    chosen(name);
  };
  return h("div", { class: "segments", role: "group", "aria-label": label }, buttons);
}

/** One of these names. @param {string[]} names  @param {string} chosen */
export function choice(names, chosen) {
  const option = (name) => h("option", { value: name }, name || "auto-detect");
  const made = h("select", {}, names.map(option));
  made.value = chosen;
  return made;
}

/** A choice of values that are shown in words. @param {Record<string, string>} words  @param {string} [chosen] */
export function named(words, chosen = "") {
  const made = choice(Object.keys(words), "");
  for (const option of made.options) option.textContent = words[option.value];
  // Numbers come first in an object, and what stands for all is to be first in a list.
  if ("" in words) made.prepend([...made.options].find((option) => !option.value));
  made.value = chosen in words ? chosen : "";
  return made;
}
