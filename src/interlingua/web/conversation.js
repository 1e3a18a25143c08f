// A task's conversation, drawn from its events: users' messages from MessageAdded, answers from
// RequestCompleted, tools from PostToolCall in the place of the PreToolCall with the same id.

import { prose } from "./blocks.js";
import { fill, folded, h, shown } from "./dom.js";

/** The text of a message in the chat-completion shapes. */
export function textOf(message) {
  const { content } = message ?? {};
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

/** Text that grows by pieces at their places, which are counted in code points. */
class Growing {
  text = "";
  length = 0;

  put(offset, piece) {
    if (offset !== this.length) {
      const before = Array.from(this.text).slice(0, offset);
      this.text = before.join("");
      this.length = before.length;
    }
    this.text += piece;
    this.length += Array.from(piece).length;
  }
}

export class Conversation {
  /** `log` is the element that the messages are in; `actions(role, id, text)` what can be done with
   *  a whole message. */
  constructor(log, actions = /** @type {(role: string, id: string, text: string) => any} */ (() => null)) {
    this.log = log;
    this.actions = actions;
    this.clear();
  }

  clear() {
    this.articles = new Map();
    this.live = new Map();
    this.whole = new Set();
    this.log.replaceChildren();
  }

  hear(event) {
    switch (event.msg) {
      case "MessageAdded":
        return this.added(event);
      case "RequestCompleted":
        return this.answered(event);
      case "PreToolCall":
        return this.tool(event, false);
      case "PostToolCall":
        return this.tool(event, true);
      case "Cancelled":
        return this.note("Stopped.");
      case "Failed":
        return this.note(`Failed: ${event.error?.message ?? event.error?.code ?? "no reason"}`);
    }
  }

  added({ message, message_id: id, status }) {
    if (message.role === "tool") {
      const key = `tool ${message.tool_call_id}`;
      if (!this.articles.has(key)) this.draw(key, "tool", [h("pre", {}, textOf(message))]);
      return;
    }
    const key = `message ${id}`;
    if (this.whole.has(key)) return;
    const words = textOf(message);
    const parts = [message.role === "assistant" && words ? prose(words) : text(words)];
    if (status) parts.push(h("p", { class: "quiet" }, `not whole: ${status}`));
    this.draw(key, message.role, [...this.thinking(id), ...parts, this.actions(message.role, id, words)]);
  }

  answered({ message, message_id: id, model, usage }) {
    const key = `message ${id}`;
    this.whole.add(key);
    const words = textOf(message);
    const parts = [...this.thinking(id), words ? prose(words) : null];
    const done = message.tool_calls?.length ? null : this.actions("assistant", id, words);
    this.draw(key, "assistant", [...parts, calls(message), facts(model, usage), done]);
    this.live.delete(id);
  }

  tool(event, done) {
    const { name, args, text: result, error } = event;
    const call = event.tool_call ?? {};
    const failed = done && error != null;
    const state = done ? (failed ? "failed" : "done") : "running";
    const input = args ?? call.function?.arguments;
    const before = this.articles.get(`tool ${call.id}`)?.input;
    const parts = [
      h("pre", {}, shown(input ?? before ?? "")),
      done && h("pre", { class: failed ? "failed" : "result" }, shown(result ?? error ?? "")),
    ];
    const title = `${name ?? call.function?.name ?? "tool"}: ${state}`;
    this.draw(`tool ${call.id}`, "tool", [folded(title, ...parts)]);
    this.articles.get(`tool ${call.id}`).input = input ?? before;
  }

  /** A piece of the unfinished answer. */
  piece({ msg, message_id: id, index, offset, text: piece }) {
    const key = `message ${id}`;
    if (this.whole.has(key) || msg === "ToolCallDelta") return;
    if (!this.live.has(id)) this.live.set(id, new Map());
    const blocks = this.live.get(id);
    if (!blocks.has(index)) blocks.set(index, { msg, growing: new Growing(), node: null });
    const block = blocks.get(index);
    block.growing.put(offset, piece);
    if (!block.node) this.drawLive(id, key, blocks);
    else if (block.node instanceof Text) block.node.data = block.growing.text;
    else this.growing(block);
  }

  /** An answer that grows is drawn once a frame. */
  growing(block) {
    if (block.scheduled) return;
    block.scheduled = true;
    requestAnimationFrame(() => {
      block.scheduled = false;
      fill(block.node, prose(block.growing.text));
    });
  }

  drawLive(id, key, blocks) {
    const parts = this.thinking(id);
    for (const block of blocks.values()) {
      if (block.msg !== "TextDelta") continue;
      block.node = h("div", {}, prose(block.growing.text));
      parts.push(block.node);
    }
    this.draw(key, "assistant", parts);
    this.articles.get(key).setAttribute("aria-busy", "true");
  }

  thinking(id) {
    const blocks = [...(this.live.get(id)?.values() ?? [])];
    return blocks
      .filter((block) => block.msg === "ThinkingDelta")
      .map((block) => {
        block.node = document.createTextNode(block.growing.text);
        return folded("Thinking", h("p", { class: "text" }, block.node));
      });
  }

  note(words) {
    this.log.append(h("p", { class: "note" }, words));
  }

  draw(key, role, parts) {
    const article = h("article", { "aria-label": role, class: role }, h("h2", {}, role), ...parts);
    const old = this.articles.get(key);
    if (old) {
      if (old.querySelector("details")?.open) article.querySelector("details")?.setAttribute("open", "");
      old.replaceWith(article);
    } else {
      this.log.append(article);
    }
    this.articles.set(key, article);
  }
}

function text(words) {
  return words ? h("p", { class: "text" }, words) : null;
}

function calls(message) {
  const names = (message.tool_calls ?? []).map((call) => call.function?.name ?? "a tool");
  return names.length ? h("p", { class: "quiet" }, `calls ${names.join(", ")}`) : null;
}

function facts(model, usage) {
  const [used] = usage ?? [];
  const input = used?.prompt_tokens ?? used?.input_tokens;
  const output = used?.completion_tokens ?? used?.output_tokens;
  const tokens = input == null ? null : `${input} + ${output ?? 0} tokens`;
  const details = [model, tokens].filter(Boolean).join(" · ");
  return details ? h("p", { class: "quiet" }, details) : null;
}
