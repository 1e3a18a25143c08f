// A canonical message as an article: text as it is, thinking and tools folded.

import { folded, h, shown, when } from "./dom.js";
import { facts } from "./usage.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** `link` is the message's own address. */
export function article(message, link) {
  const details = [facts(message.metadata ?? {}), when(message.created_at)].filter(Boolean).join(" · ");
  const problem = message.metadata?.error_message;
  return h(
    "article",
    { "aria-label": message.role, class: message.role, "data-message": message.id, tabindex: -1 },
    h(
      "h2",
      {},
      message.name ? `${message.role} (${message.name}) ` : `${message.role} `,
      h("a", { href: link, "aria-label": "Link to this message" }, "#"),
    ),
    (message.content ?? []).map(block),
    problem ? h("p", { class: "wrong" }, problem) : null,
    details ? h("p", { class: "quiet" }, details) : null,
  );
}

function block(each) {
  switch (each.type) {
    case "text":
      return [h("p", { class: "text" }, each.text), sources(each.citations)];
    case "thinking":
      return folded("Thinking", h("p", { class: "text" }, each.text || "(signed, without text)"));
    case "redacted_thinking":
      return folded("Thinking", h("p", { class: "text" }, "(encrypted)"));
    case "refusal":
      return h("p", { class: "text wrong" }, each.text);
    case "tool_use":
      return folded(`Call of ${each.name}`, h("pre", {}, shown(each.input)));
    case "tool_result": {
      const title = each.is_error ? "Error of a tool" : "Result of a tool";
      const inner = Array.isArray(each.content) ? each.content.map(block) : shown(each.content);
      return folded(title, inner);
    }
    case "compaction":
      return folded("Summary of what came before", h("p", { class: "text" }, each.text || "(encrypted)"));
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
