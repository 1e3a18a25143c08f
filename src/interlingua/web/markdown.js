// Markdown as elements. Every word becomes a text node: nothing in a text can become markup, and
// nothing is fetched. What is not understood stays as it is written.

import { h } from "./dom.js";
import { highlighted } from "./highlight.js";
import { copyMark } from "./parts.js";

const DEEPEST = 6;
/** @type {("h3" | "h4" | "h5" | "h6")[]} */
const HEADINGS = [, , , "h3", "h4", "h5", "h6"];
const LONGEST = 200_000;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])\s*(?:\1\s*){2,}$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(\s+)(.*)$/;
const ROW = /^\s*\|?.*\|.*$/;
const DIVIDER = /^\s*\|?\s*:?-{1,}:?\s*(\|\s*:?-{1,}:?\s*)*\|?\s*$/;

/** Elements for a text in Markdown. */
export function markdown(text) {
  if (text.length > LONGEST) return [h("p", { class: "text" }, text)];
  return blocks(text.replace(/\r\n?/g, "\n").split("\n"), 0);
}

function blocks(lines, depth) {
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let match;
    if (!line.trim()) {
      at += 1;
    } else if ((match = FENCE.exec(line))) {
      const end = closing(lines, at + 1, match[1]);
      out.push(code(lines.slice(at + 1, end).join("\n"), match[2]));
      at = end + 1;
    } else if ((match = HEADING.exec(line))) {
      out.push(h(HEADINGS[Math.min(match[1].length + 2, 6)], {}, inline(match[2])));
      at += 1;
    } else if (RULE.test(line)) {
      out.push(h("hr"));
      at += 1;
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      const end = while_(lines, at, (each) => QUOTE.test(each));
      const inner = lines.slice(at, end).map((each) => QUOTE.exec(each)[1]);
      out.push(h("blockquote", {}, blocks(inner, depth + 1)));
      at = end;
    } else if (ITEM.test(line) && depth < DEEPEST) {
      const end = listEnd(lines, at);
      out.push(list(lines.slice(at, end), depth));
      at = end;
    } else if (ROW.test(line) && DIVIDER.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) {
      const end = while_(lines, at + 2, (each) => each.trim() && each.includes("|"));
      out.push(table(line, lines[at + 1], lines.slice(at + 2, end)));
      at = end;
    } else {
      const end = while_(lines, at + 1, (each) => each.trim() && !begins(each, depth));
      out.push(h("p", { class: "text" }, inline(lines.slice(at, end).join("\n"))));
      at = end;
    }
  }
  return out;
}

/** Whether a line ends a paragraph by itself. */
function begins(line, depth) {
  return FENCE.test(line) || HEADING.test(line) || (depth < DEEPEST && (QUOTE.test(line) || ITEM.test(line)));
}

function while_(lines, at, test) {
  while (at < lines.length && test(lines[at])) at += 1;
  return at;
}

function closing(lines, at, fence) {
  const end = while_(lines, at, (each) => !(each.trim().startsWith(fence) && !each.trim().replaceAll(fence[0], "")));
  return end;
}

function code(text, language) {
  const shown = h("pre", { class: "code", "data-language": language || null }, h("code", {}, highlighted(text, language)));
  return h("div", { class: "snippet" }, shown, copyMark(text, "Copy this code"));
}

/** Where a list ends: at a line that is neither an item, nor indented, nor blank before such a line. */
function listEnd(lines, at) {
  const belongs = (line) => ITEM.test(line) || /^ {2,}\S/.test(line);
  let end = at + 1;
  while (end < lines.length) {
    if (belongs(lines[end])) end += 1;
    else if (!lines[end].trim() && belongs(lines[end + 1] ?? "")) end += 2;
    else if (lines[end].trim() && lines[end - 1].trim() && !begins(lines[end], 0)) end += 1;
    else break;
  }
  return end;
}

function list(lines, depth) {
  const [, margin, mark] = ITEM.exec(lines[0]);
  const items = [];
  for (const line of lines) {
    const match = ITEM.exec(line);
    if (match && match[1].length <= margin.length) items.push([match[4]]);
    else items.at(-1).push(line.slice(Math.min(line.length - line.trimStart().length, margin.length + 2)));
  }
  const ordered = /\d/.test(mark);
  const start = ordered ? Number.parseInt(mark, 10) : 1;
  const attributes = { class: "written", start: ordered && start !== 1 ? start : null };
  return h(ordered ? "ol" : "ul", attributes, items.map((each) => h("li", {}, item(each, depth))));
}

/** The content of an item; a single paragraph needs no element of its own. */
function item(lines, depth) {
  const [first] = lines;
  const box = /^\[([ xX])\]\s+(.*)$/.exec(first);
  if (box) lines = [`${box[1] === " " ? "☐" : "☑"} ${box[2]}`, ...lines.slice(1)];
  const inner = blocks(lines, depth + 1);
  return inner.length === 1 && inner[0].tagName === "P" ? [...inner[0].childNodes] : inner;
}

function cells(line) {
  const bare = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(head, divider, rows) {
  const sides = cells(divider).map((each) => (each.endsWith(":") ? (each.startsWith(":") ? "middle" : "end") : null));
  const line = (tag, texts) => h("tr", {}, texts.map((text, n) => h(tag, { class: sides[n] }, inline(text))));
  const body = h("tbody", {}, rows.map((row) => line("td", cells(row))));
  return h("div", { class: "wide" }, h("table", { class: "written" }, h("thead", {}, line("th", cells(head))), body));
}

const INLINE = new RegExp(
  [
    "\\\\([\\\\`*_{}\\[\\]()#+.!|~>-])", // 1 an escaped mark
    "(`+)([^`]|[^`].*?[^`])\\2(?!`)", // 2, 3 code
    "!?\\[([^\\[\\]\\n]{1,1000})\\]\\(<?([^\\s()<>]{1,2000}(?:\\([^\\s()]{0,200}\\))?)>?(?:\\s+\"[^\"\\n]{0,200}\")?\\)", // 4, 5 a link
    "(\\*\\*|__)(?=\\S)([^\\n]{1,2000}?\\S)\\6(?![\\w*])", // 6, 7 strong
    "(?<![\\w*])(\\*|_)(?=[^\\s*_])([^\\n*_]{1,2000}?)(?<=\\S)\\8(?![\\w*])", // 8, 9 emphasis
    "~~(?=\\S)([^\\n~]{1,2000}?)~~", // 10 struck out
    "(https?:\\/\\/[^\\s<>\"'`]{1,2000}[^\\s<>\"'`.,;:!?)\\]}])", // 11 an address
  ].join("|"),
  "gs",
);

function inline(text, depth = 0) {
  const out = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > at) out.push(text.slice(at, match.index));
    out.push(span(match, depth));
    at = match.index + match[0].length;
  }
  out.push(text.slice(at));
  return out.filter((each) => each !== "");
}

function span(match, depth) {
  const [whole, mark, , code_, label, address, , strong, , soft, struck, bare] = match;
  const inner = (text) => (depth < DEEPEST ? inline(text, depth + 1) : text);
  if (mark !== undefined) return mark;
  if (code_ !== undefined) return h("code", {}, code_.replace(/^ (.*) $/s, "$1"));
  if (label !== undefined) return link(inner(label), address) ?? whole;
  if (strong !== undefined) return h("strong", {}, inner(strong));
  if (soft !== undefined) return h("em", {}, inner(soft));
  if (struck !== undefined) return h("s", {}, inner(struck));
  return link(bare, bare) ?? whole;
}

/** A link to another page; addresses of any other kind stay text. */
function link(label, address) {
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return null;
  return h("a", { href: address, rel: "noopener noreferrer nofollow", target: "_blank" }, label);
}
