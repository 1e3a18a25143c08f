// JSON as a tree whose branches fold, and the calls of tools as people read them.

import { difference } from "./differences.js";
import { h } from "./dom.js";

const MOST = 200; // items of a list or an object that are shown
const LONG = 300; // characters of a text that stands on lines of its own
/** @type {Record<string, "ins" | "del" | "span">} */
const TAGS = { "+": "ins", "-": "del", " ": "span" };

/** @param {any} value  @param {number} [depth] */
export function tree(value, depth = 0) {
  if (value === null || typeof value !== "object") return leaf(value);
  const entries = Array.isArray(value) ? value.map((each, at) => [String(at), each]) : Object.entries(value);
  if (!entries.length) return h("code", {}, Array.isArray(value) ? "[]" : "{}");
  const more = entries.length - MOST;
  return h(
    "ul",
    { class: "tree" },
    entries.slice(0, MOST).map(([name, each]) => h("li", {}, branch(name, each, depth))),
    more > 0 ? h("li", { class: "quiet" }, `and ${more.toLocaleString()} more`) : null,
  );
}

function branch(name, value, depth) {
  if (value === null || typeof value !== "object") return [h("span", { class: "hl-key" }, name), ": ", leaf(value)];
  const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
  const made = h("details", {}, h("summary", {}, h("span", { class: "hl-key" }, name), ` ${size}`));
  const fill = () => made.childElementCount < 2 && made.append(tree(value, depth + 1));
  made.addEventListener("toggle", fill);
  if (depth < 1) {
    fill();
    made.open = true;
  }
  return made;
}

function leaf(value) {
  if (typeof value !== "string") return h("code", { class: typeof value === "number" ? "hl-number" : "hl-word" }, JSON.stringify(value) ?? "");
  if (value.length > LONG || value.includes("\n")) return h("pre", {}, value);
  return h("code", { class: "hl-string" }, value);
}

/** A text that may be JSON: as a tree, or as it is. @param {string} text */
export function result(text) {
  if (/^\s*[[{]/.test(text)) {
    try {
      return tree(JSON.parse(text));
    } catch {
      // no JSON
    }
  }
  return h("pre", { class: "result" }, text);
}

const first = (input, names) => names.map((name) => input[name]).find((value) => typeof value === "string");
const FILE = ["file_path", "filePath", "path", "file"];
const BEFORE = ["old_string", "oldString", "old_str", "oldText"];
const AFTER = ["new_string", "newString", "new_str", "newText"];
const WHOLE = ["content", "text", "file_text"];
const COMMAND = ["command", "cmd"];

/** The input of a call: an edit as its changes, a command as it is typed, anything else as a tree. */
export function callInput(name, input) {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return result(String(input ?? ""));
  const file = first(input, FILE);
  const after = first(input, AFTER);
  if (file && after !== undefined) return [changes(file, first(input, BEFORE) ?? null, after), others(input, [FILE, BEFORE, AFTER])];
  const whole = /write|create/i.test(name) ? first(input, WHOLE) : undefined;
  if (file && whole !== undefined) return [written(file, whole), others(input, [FILE, WHOLE])];
  const command = first(input, COMMAND);
  if (command) return [h("pre", { class: "command" }, `$ ${command}`), others(input, [COMMAND])];
  return tree(input);
}

/** What is in an input beside what is drawn already: of each kind, the first name that is there. */
function others(input, drawn) {
  const names = drawn.map((kind) => kind.find((name) => typeof input[name] === "string"));
  const rest = Object.entries(input).filter(([name]) => !names.includes(name));
  return rest.length ? tree(Object.fromEntries(rest)) : null;
}

function changes(file, before, after) {
  const lines = difference(before, after);
  return named(file, h("pre", { class: "diff" }, lines.map(({ sign, text }) => h(TAGS[sign], {}, `${sign} ${text}\n`))));
}

/** A whole file. Its earlier content is unknown here, so no line is marked as added. */
function written(file, text) {
  return named(file, h("pre", {}, text));
}

function named(file, content) {
  return h("div", {}, h("p", { class: "file" }, h("code", {}, file)), content);
}

/** What a call does, in a few words. */
export function callTitle(name, input) {
  const known = input && typeof input === "object" && !Array.isArray(input) ? first(input, [...COMMAND, ...FILE]) : undefined;
  return known ?? (input === undefined ? "" : JSON.stringify(input));
}
