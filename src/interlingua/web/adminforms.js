// What can be said of a key, a user, a team or a budget, as fields of a form.

import { field, h } from "./dom.js";
import { choice } from "./parts.js";

/** By group: the name of a field, its label, its kind and a hint. @type {[string, [string, string, string, string][]][]} */
const KEY_GROUPS = [
  ["Spending caps, in dollars", [
    ["daily_cap_usd", "Per day", "money", "no cap"],
    ["weekly_cap_usd", "Per week", "money", "no cap"],
    ["monthly_cap_usd", "Per month", "money", "no cap"],
  ]],
  ["Limits", [
    ["requests_per_minute", "Requests per minute", "count", "no limit"],
    ["tokens_per_minute", "Tokens per minute", "count", "no limit"],
    ["concurrent", "Requests at a time", "count", "no limit"],
    ["default_max_tokens", "Output tokens by default", "count", "model's maximum"],
    ["max_max_tokens", "Output tokens at most", "count", "no limit"],
    ["expires_at", "Expires", "time", ""],
  ]],
  ["Models and tools", [
    ["allowed_models", "Models and routes, one a line", "lines", "all"],
    ["allowed_tools", "MCP tools, one a line", "lines", "none"],
  ]],
];
const KEY_MORE = [
  ["log_content_days", "Log content for so many days", "count", "not logged"],
  ["caching", "Prompt caching", "auto,pass,off", ""],
  ["refuse_losses", "Refuse requests that would lose something", "flag", ""],
  ["keep_content", "Message content may be stored", "flag", ""],
  ["allow_unpriced", "May use models without a price in spite of caps", "flag", ""],
  ["allow_unbounded", "May make requests of unbounded cost in spite of caps", "flag", ""],
  ["read_requests", "May see the requests of all keys", "flag", ""],
  ["read_metrics", "May see tokens and dollars at /metrics", "flag", ""],
];
export const CAPS = KEY_GROUPS[0][1];

/**
 * Controls for these fields with their values; `changes` are those that differ from before.
 * @param {string[][]} fields  @param {Record<string, any>} before
 */
export function inputs(fields, before = {}) {
  const controls = fields.map(([name, label, kind, hint]) => ({ name, label, kind, control: control(kind, before[name], hint) }));
  const shown = controls.map(({ label, kind, control: made }) => (kind === "flag" ? h("label", { class: "check" }, made, ` ${label}`) : field(label, made)));
  const changes = () => {
    /** @type {Record<string, any>} */
    const found = {};
    for (const { name, kind, control: made } of controls) {
      const now = value(kind, made);
      const was = value(kind, control(kind, before[name], ""));
      if (JSON.stringify(now) !== JSON.stringify(was)) found[name] = now;
    }
    return found;
  };
  return { shown, changes };
}

/** The fields of a key. @param {Record<string, any>} before */
export function keyInputs(before = {}) {
  const groups = KEY_GROUPS.map(([title, fields]) => ({ title, ...inputs(fields, before) }));
  const more = inputs(KEY_MORE, before);
  const shown = [
    groups.map((group) => h("fieldset", {}, h("legend", {}, group.title), h("div", { class: "grid" }, group.shown))),
    h("details", {}, h("summary", {}, "More options"), h("div", { class: "grid" }, more.shown.slice(0, 2)), more.shown.slice(2)),
  ];
  return { shown, changes: () => Object.assign({}, ...groups.map((each) => each.changes()), more.changes()) };
}

/** @param {string} kind  @param {any} now  @param {string} hint */
function control(kind, now, hint) {
  const known = now ?? "";
  switch (kind) {
    case "flag":
      return h("input", { type: "checkbox", checked: Boolean(now) });
    case "lines":
      return h("textarea", { rows: 2, class: "code", placeholder: hint, value: (now ?? []).map((/** @type {string} */ each) => each.replace(/^route:/, "")).join("\n"), spellcheck: "false" });
    case "money":
      return h("input", { type: "number", min: 0, step: "any", placeholder: hint, value: known, inputmode: "decimal" });
    case "count":
      return h("input", { type: "number", min: 1, step: 1, placeholder: hint, value: known });
    case "time":
      return h("input", { type: "datetime-local", value: now ? local(now) : "" });
    case "text":
    case "email":
      return h("input", { type: kind, autocomplete: "off", value: known, placeholder: hint });
    default: {
      const made = choice(["", ...kind.split(",")], known);
      made.options[0].textContent = "as the gateway's settings say";
      return made;
    }
  }
}

/** @param {string} kind  @param {any} made */
function value(kind, made) {
  if (kind === "flag") return made.checked;
  const text = made.value.trim();
  if (kind === "lines") return text ? text.split(/[\n,]+/).map((/** @type {string} */ each) => each.trim()).filter(Boolean) : null;
  if (!text) return null;
  if (kind === "count") return Number(text);
  return kind === "time" ? new Date(text).toISOString() : text;
}

/** A time as its control has it. @param {string} time */
function local(time) {
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
