// Code with line numbers, colours and marks, to be read or typed. The text itself is a text area; its
// colours lie behind it, and move with it.

import { fill, h } from "./dom.js";
import { lineStarts } from "./jsonplaces.js";

/** @typedef {{ line: number, start: number, end: number, tone: string, words: string, id: string }} Mark */

const LINE = 20; // pixels, as in convert.css
const TOP = 8; // pixels above the first line, as in convert.css
const BEFORE = 12; // pixels before each line, as in convert.css
const LETTER = 7.5; // pixels, nearly
const COLOURED = 150_000; // characters; longer texts have no colours
const JSON_TOKEN = /("(?:[^"\\\n]|\\.)*"?)(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;

/**
 * @param {{ label: string, editable?: boolean, placeholder?: string, typed?: (text: string) => void, chosen?: (id: string) => void,
 *   hovered?: (ids: string[]) => void }} how  `hovered` gets the marks under the pointer
 */
export function editor({ label, editable = false, placeholder = "", typed = () => {}, chosen = () => {}, hovered = () => {} }) {
  const area = /** @type {HTMLTextAreaElement} */ (
    h("textarea", { "aria-label": label, class: "code-text", spellcheck: "false", wrap: "off", autocomplete: "off", autocapitalize: "off", placeholder, readonly: !editable })
  );
  const colours = h("pre", { class: "code-colours", "aria-hidden": "true" });
  const numbers = h("pre", { class: "code-numbers", "aria-hidden": "true" });
  const buttons = h("div", { class: "code-marks" });
  const gutter = h("div", { class: "code-gutter" }, h("div", { class: "code-rail" }, numbers, buttons));
  const element = h("div", { class: editable ? "code-box editable" : "code-box" }, gutter, h("div", { class: "code-area" }, colours, area));
  const rail = /** @type {HTMLElement} */ (gutter.firstElementChild);
  /** @type {Mark[]} */
  let marks = [];
  let waiting = 0;
  let lines = 0;

  const scrolled = () => {
    colours.style.transform = `translate(${-area.scrollLeft}px, ${-area.scrollTop}px)`;
    rail.style.transform = `translateY(${-area.scrollTop}px)`;
  };
  const draw = () => {
    waiting = 0;
    const text = area.value;
    const starts = lineStarts(text);
    fill(colours, coloured(text, marks), "\n", marksByLine(marks).map(([line, own]) => remark(text.slice(starts[line], starts[line + 1]), line, own)));
    const count = starts.length;
    if (count !== lines) {
      fill(numbers, Array.from({ length: count }, (_, at) => at + 1).join("\n"));
      lines = count;
    }
    fill(buttons, marksByLine(marks).map(([line, own]) => markButton(line, own, chosen, hovered)));
    scrolled();
  };
  const soon = () => {
    if (!waiting) waiting = requestAnimationFrame(draw);
  };
  area.addEventListener("scroll", scrolled, { passive: true });
  let under = "";
  const over = (/** @type {PointerEvent | null} */ event) => {
    const line = event ? Math.floor((event.offsetY + area.scrollTop - TOP) / LINE) : -1;
    const ids = [...new Set(marks.filter((mark) => mark.line === line).map((mark) => mark.id))];
    if (ids.join(" ") === under) return;
    under = ids.join(" ");
    area.title = [...new Set(marks.filter((mark) => mark.line === line).map((mark) => mark.words))].join("\n");
    hovered(ids);
  };
  area.addEventListener("pointermove", over, { passive: true });
  area.addEventListener("pointerleave", () => over(null), { passive: true });
  area.addEventListener("input", () => {
    marks = [];
    soon();
    typed(area.value);
  });
  return {
    element,
    area,
    text: () => area.value,
    /** @param {string} text */
    set(text) {
      area.value = text;
      marks = [];
      soon();
    },
    /** @param {Mark[]} next */
    mark(next) {
      marks = [...next].sort((a, b) => a.start - b.start);
      soon();
    },
    /** Scroll to a line and put the focus on what stands there. @param {Mark} mark  @param {boolean} focus */
    reveal(mark, focus) {
      const column = mark.start - area.value.lastIndexOf("\n", mark.start - 1) - 1;
      area.scrollTop = Math.max(0, mark.line * LINE - area.clientHeight / 3);
      area.scrollLeft = Math.max(0, column * LETTER - area.clientWidth / 2);
      if (!focus) return;
      area.focus({ preventScroll: true });
      area.setSelectionRange(mark.start, mark.end);
    },
    /** Show which marks belong to a loss. @param {string | null} id */
    light(id) {
      for (const each of element.querySelectorAll("[data-mark]")) {
        each.classList.toggle("lit", id !== null && /** @type {HTMLElement} */ (each).dataset.mark?.split(" ").includes(id));
      }
    },
  };
}

/** @param {Mark[]} marks  @returns {[number, Mark[]][]} */
function marksByLine(marks) {
  const lines = new Map();
  for (const mark of marks) lines.set(mark.line, [...(lines.get(mark.line) ?? []), mark]);
  return [...lines];
}

/** @param {number} line  @param {Mark[]} own  @param {(id: string) => void} chosen  @param {(ids: string[]) => void} hovered */
function markButton(line, own, chosen, hovered) {
  const ids = [...new Set(own.map((each) => each.id))];
  const tone = own.some((each) => each.tone === "error") ? "error" : own.some((each) => each.tone === "warning") ? "warning" : "info";
  const words = [...new Set(own.map((each) => each.words))].join("\n");
  const made = h("button", {
    type: "button",
    class: `code-mark ${tone}`,
    title: words,
    "aria-label": `Line ${line + 1}: ${words}`,
    "data-mark": ids.join(" "),
    onclick: () => chosen(own[0].id),
    onmouseenter: () => hovered(ids),
    onmouseleave: () => hovered([]),
    onfocus: () => hovered(ids),
    onblur: () => hovered([]),
  });
  made.style.top = `${line * LINE}px`;
  return made;
}

/** What happened to a line, behind its end. @param {string} text  @param {number} line  @param {Mark[]} own */
function remark(text, line, own) {
  const words = [...new Set(own.map((mark) => mark.words.replace("invalid JSON: ", "").split(/[:;,] | \(/, 1)[0]))].join(" · ");
  const made = h("span", { class: `code-remark ${own.some((mark) => mark.tone === "error") ? "error" : ""}`, "data-mark": own.map((mark) => mark.id).join(" ") }, words);
  made.style.top = `${TOP + line * LINE}px`;
  made.style.insetInlineStart = `calc(${text.trimEnd().replaceAll("\t", "  ").length + 2}ch + ${BEFORE}px)`;
  return made;
}

/** The text as nodes with colours, and the places of marks in a `mark`. @param {string} text  @param {Mark[]} marks */
function coloured(text, marks) {
  const paint = painter(text);
  const out = [];
  let at = 0;
  for (const mark of marks) {
    if (mark.start < at) continue; // inside the one before
    out.push(...paint(text.slice(at, mark.start)));
    const inner = text.slice(mark.start, mark.end);
    out.push(h("mark", { class: mark.tone, "data-mark": mark.id }, paint(inner)));
    at = mark.end;
  }
  out.push(...paint(text.slice(at)));
  return out;
}

/** What gives parts of a text their colours; a long one has none. @param {string} text */
export function painter(text) {
  return text.length > COLOURED ? (/** @type {string} */ part) => [part] : tokens;
}

/** @param {string} text */
function tokens(text) {
  const out = [];
  let at = 0;
  for (const match of text.matchAll(JSON_TOKEN)) {
    const [, string, colon, number] = match;
    const kind = string ? (colon ? "key" : "string") : number ? "number" : "word";
    const whole = string ?? match[0];
    if (match.index > at) out.push(text.slice(at, match.index));
    out.push(h("span", { class: `hl-${kind}` }, whole));
    at = match.index + whole.length;
  }
  out.push(text.slice(at));
  return out;
}
