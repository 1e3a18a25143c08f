// A canonical message as an article: text as it is, thinking and tools folded.

import { folded, h, shown } from "./dom.js";
import { clock, when } from "./format.js";
import { icon } from "./icons.js";
import { markdown } from "./markdown.js";
import { callInput, callTitle, result } from "./tree.js";
import { margin } from "./usage.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

const AVATARS = { user: "user", assistant: "bot", tool: "wrench", system: "info", developer: "info" };

/** What a message begins with: a mark for its role, the role, and when it was. */
export function heading(role, words, time, ...more) {
  return [
    h("span", { class: "avatar" }, icon(AVATARS[role] ?? "info")),
    h("h2", {}, h("span", { class: "role" }, words), time ? h("time", { datetime: time, title: when(time) }, clock(time)) : null, more),
  ];
}

/** `link` is the message's own address, `calls` are the names of tools by the ids of their calls. */
export function article(message, link, calls = new Map()) {
  const problem = message.metadata?.error_message;
  return h(
    "article",
    { "aria-label": message.role, class: message.role, "data-message": message.id, tabindex: -1 },
    heading(
      message.role,
      message.name ? `${message.role} (${message.name})` : message.role,
      message.created_at,
      h("a", { href: link, class: "anchor", "aria-label": "Link to this message" }, "#"),
    ),
    h(
      "div",
      { class: "body" },
      (message.content ?? []).map((each) => block(each, message.role, calls)),
      problem ? h("p", { class: "wrong" }, problem) : null,
    ),
    margin(message.metadata ?? {}),
  );
}

/** Answers are Markdown; what others write is shown as they wrote it. */
function block(each, role, calls) {
  switch (each.type) {
    case "text":
      return [role === "assistant" ? prose(each.text) : h("p", { class: "text" }, each.text), sources(each.citations)];
    case "thinking":
      return folded(summary("Thinking", each.text?.replace(/\*\*|`/g, "")), each.text ? prose(each.text) : h("p", { class: "text" }, "(signed, without text)"));
    case "redacted_thinking":
      return folded("Thinking", h("p", { class: "text" }, "(encrypted)"));
    case "refusal":
      return h("p", { class: "text wrong" }, each.text);
    case "tool_use":
      return folded(summary(each.name, callTitle(each.name, each.input)), callInput(each.name, each.input));
    case "tool_result": {
      const parts = Array.isArray(each.content) ? each.content : [];
      const name = each.tool_name ?? calls.get(each.tool_use_id) ?? "a tool";
      const title = `${each.is_error ? "Error" : "Result"} of ${name}`;
      const inner = parts.length ? parts.map((part) => (part.type === "text" ? result(part.text) : block(part, "tool", calls))) : shown(each.content);
      const made = folded(summary(title, parts.map((part) => part.text ?? "").join(" ")), inner);
      if (each.is_error) made.classList.add("failed");
      return made;
    }
    case "compaction":
      return folded("Summary of what came before", each.text ? prose(each.text) : h("p", { class: "text" }, "(encrypted)"));
    case "image":
      return image(each) ?? media(each);
    case "audio":
    case "video":
    case "document":
      return media(each);
    default:
      return folded(each.type ?? "block", h("pre", {}, shown(each)));
  }
}

export function prose(text) {
  return h("div", { class: "prose" }, markdown(text ?? ""));
}

/** A title with the beginning of what is folded. */
export function summary(title, text) {
  const line = (text ?? "").replace(/\s+/g, " ").trim().slice(0, 200);
  return line ? [title, h("span", { class: "detail" }, `: ${line}`)] : title;
}

/** The line of a call: its name, what became of it, and what it is about. */
export function callLine(name, state, about) {
  return [`${name}: ${state}`, about ? h("span", { class: "detail" }, ` ${about.slice(0, 200)}`) : null];
}

function sources(citations) {
  if (!citations?.length) return null;
  const line = ({ title, url, cited_text: cited }) => h("li", {}, [title, url, cited].filter(Boolean).join(" · "));
  return folded(`${citations.length} citations`, h("ul", {}, citations.map(line)));
}

/** An image that is in the message; one that is only named is not fetched. */
function image({ source, media_type: type, name }) {
  if (source?.kind !== "base64" || !IMAGES.has(type)) return null;
  return h("img", { src: `data:${type};base64,${source.data}`, alt: name || "image" });
}

function media({ type, source, media_type: kind, name, title, transcript }) {
  const { kind: from, data = "" } = source ?? {};
  const where = from === "base64" ? `${Math.round((data.length * 3) / 4).toLocaleString()} bytes` : data;
  const label = [title || name || type, kind, from === "text" ? null : where].filter(Boolean).join(", ");
  if (from === "text") return folded(label, h("pre", {}, data));
  return [h("p", { class: "quiet" }, label), transcript ? h("p", { class: "text" }, transcript) : null];
}
