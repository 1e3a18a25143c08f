// A call that waits for a yes: what it would do, open to be read; what it may touch; the time left.

import { ask } from "./api.js";
import { difference } from "./differences.js";
import { fill, h, shown } from "./dom.js";
import { took } from "./format.js";
import { icon } from "./icons.js";
import { button } from "./parts.js";

const EFFECTS = {
  read: ["eye", "It reads files of the workspace."],
  write: ["file-pen", "It changes files of the workspace."],
  execute: ["terminal", "It runs a command on this machine."],
  network: ["globe", "It uses the network."],
};
const COMMANDS = ["command", "cmd", "script"];

/**
 * @param {string} path of the task  @param {any} call  @param {(approved: boolean) => () => void} decide
 * @param {AbortSignal} signal
 */
export function approval(path, call, decide, signal) {
  const { id, name, args, side_effects: effects, expires } = call;
  const [mark, words] = EFFECTS[effects] ?? ["shield", `It may do this: ${effects}.`];
  const left = h("span", { class: "left" });
  const tick = () => {
    const ms = new Date(expires).getTime() - Date.now();
    fill(left, ms > 0 ? `Denied in ${took(ms)} unless you answer.` : "Denied: there was no answer in time.");
  };
  tick();
  const timer = setInterval(() => (left.isConnected || !signal.aborted ? tick() : clearInterval(timer)), 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h(
    "div",
    { role: "group", "aria-label": `May ${name} run?`, class: "question", "data-call": id, tabindex: -1 },
    h("p", { class: "ask" }, icon(mark), h("strong", {}, `Run ${name}?`), h("span", {}, words)),
    body(path, id, name, valueOf(args)),
    h(
      "div",
      { class: "actions" },
      button("check", "Approve", { class: "first", onclick: decide(true) }),
      button("x", "Deny", { onclick: decide(false) }),
      left,
    ),
  );
}

/** @param {any} args */
function valueOf(args) {
  if (typeof args !== "string") return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

/** @param {string} path  @param {string} id  @param {string} name  @param {any} value */
function body(path, id, name, value) {
  if (!value || typeof value !== "object" || Array.isArray(value)) return h("pre", {}, shown(value));
  if (name === "write_file" && typeof value.path === "string") return written(path, id, value);
  const command = COMMANDS.find((each) => typeof value[each] === "string");
  if (!command) return list(value);
  const { [command]: text, ...rest } = value;
  return h("div", {}, h("pre", { class: "command" }, text), Object.keys(rest).length ? list(rest) : null);
}

/** @param {Record<string, any>} value */
function list(value) {
  const line = (/** @type {[string, any]} */ [name, each]) => [h("dt", {}, name), h("dd", {}, h("pre", {}, shown(each)))];
  return h("dl", { class: "arguments" }, Object.entries(value).map(line));
}

/** A file as it would be, compared with what it is now. @param {string} path  @param {string} id  @param {any} value */
function written(path, id, { path: file, text, content, ...rest }) {
  const after = String(text ?? content ?? "");
  const changes = h("pre", { class: "diff", "aria-label": "Changes", role: "region", tabindex: 0 }, after);
  const about = h("span", { class: "quiet" });
  ask("GET", `${path}/confirmations/${encodeURIComponent(id)}/file`).then(
    ({ text: before }) => {
      const lines = difference(before, after);
      const count = (/** @type {string} */ sign) => lines.filter((each) => each.sign === sign).length;
      fill(about, before === null ? "a new file" : `+${count("+")} −${count("-")}`);
      fill(changes, lines.map(({ sign, text: line }) => h(TAGS[sign], {}, `${sign} ${line}\n`)));
    },
    () => {}, // the whole text is shown
  );
  return h("div", {}, h("p", { class: "file" }, icon("file-pen"), h("code", {}, file), about), changes, Object.keys(rest).length ? list(rest) : null);
}

/** @type {Record<string, "ins" | "del" | "span">} */
const TAGS = { "+": "ins", "-": "del", " ": "span" };
