// Elements from values. Text is only ever text: there is no way here to make markup of it.

const NAMED = new Set(["value", "disabled", "hidden", "checked", "open"]);

/**
 * An element. Attributes that are functions listen (`onclick`); null and false are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) set(made, name, value);
  made.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return made;
}

/**
 * An element of a picture.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) set(made, name, value);
  made.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return made;
}

function set(element, name, value) {
  if (value == null || value === false) return;
  if (typeof value === "function") {
    element.addEventListener(name.replace(/^on/, ""), value);
  } else if (/^(on|style$|srcdoc$)/i.test(name)) {
    throw new TypeError(`${name} is not set from a text`);
  } else if (NAMED.has(name)) {
    element[name] = value;
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Put these in place of all that is inside an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child != null && child !== false));
}

/** A part that is shown when it is wanted. */
export function folded(title, ...children) {
  return h("details", {}, h("summary", {}, title), ...children);
}

/** A labelled field; the label is its accessible name. */
export function field(label, control) {
  return h("label", { class: "field" }, h("span", {}, label), control);
}

/** The same, as wide as there is room for. */
export function wideField(label, control) {
  const made = field(label, control);
  made.classList.add("grow");
  return made;
}

/** A text in which these words stand out. @param {string} text  @param {string} words */
export function lit(text, words) {
  const wanted = words.split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length || !text) return text;
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "gi"));
  return parts.map((part, at) => (at % 2 ? h("b", { class: "hit" }, part) : part));
}

/** JSON for people; a text stays as it is. */
export function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}
