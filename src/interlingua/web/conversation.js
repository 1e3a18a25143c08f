// A task's conversation, drawn from its events: users' messages from MessageAdded, answers from
// RequestCompleted, tools from PostToolCall in the place of the PreToolCall with the same id.

import { callLine, heading, prose, summary } from "./blocks.js";
import { fill, folded, h, shown } from "./dom.js";
import { callInput, callTitle, result as resultOf } from "./tree.js";
import { margin } from "./usage.js";

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

const LINE = 200; // characters of a thought in its line

export class Conversation {
  /** `log` is the element that the messages are in, `link(id)` the address of one; `actions(role, id,
   *  text)` what can be done with a whole message. */
  constructor(log, link, actions = /** @type {(role: string, id: string, text: string) => any} */ (() => null)) {
    this.log = log;
    this.link = link;
    this.actions = actions;
    this.clear();
  }

  clear() {
    this.articles = new Map();
    this.live = new Map();
    this.whole = new Set();
    this.asked = new Set();
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
    if (status) parts.push(h("p", { class: "quiet" }, `incomplete: ${status}`));
    this.draw(key, message.role, [...this.thinking(id), ...parts, this.actions(message.role, id, words)], id);
  }

  answered({ message, message_id: id, model, usage, thinking }) {
    const key = `message ${id}`;
    this.whole.add(key);
    const words = textOf(message);
    const thought = thinking ? folded(summary("Thinking", thinking), h("p", { class: "text" }, thinking)) : null;
    const parts = [thought, words ? prose(words) : null];
    const done = message.tool_calls?.length ? null : this.actions("assistant", id, words);
    this.draw(key, "assistant", [...parts, facts(model, usage), done], id);
    this.live.delete(id);
  }

  /** Calls that wait for an answer of the user are told as such. */
  waiting(ids) {
    const before = this.asked;
    this.asked = new Set(ids);
    for (const id of new Set([...before, ...this.asked])) {
      const drawn = this.articles.get(`tool ${id}`);
      if (drawn?.event && before.has(id) !== this.asked.has(id)) this.tool(drawn.event, drawn.done);
    }
  }

  tool(event, done) {
    const { name, args, text: result, error } = event;
    const call = event.tool_call ?? {};
    const failed = done && error != null;
    const state = done ? (failed ? "failed" : "done") : this.asked.has(call.id) ? "waits for your answer" : "running";
    const input = args ?? call.function?.arguments;
    const before = this.articles.get(`tool ${call.id}`)?.input;
    const title = name ?? call.function?.name ?? "tool";
    const value = valueOf(input ?? before);
    const parts = [
      callInput(title, value),
      done && (failed ? h("pre", { class: "failed" }, shown(result ?? error ?? "")) : resultOf(shown(result ?? ""))),
    ];
    this.draw(`tool ${call.id}`, "tool", [folded(callLine(title, state, callTitle(title, value)), ...parts)]);
    Object.assign(this.articles.get(`tool ${call.id}`), { input: input ?? before, event, done });
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
    else if (block.line) this.thought(block);
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
        block.node = document.createTextNode("");
        block.line = h("span", { class: "detail" });
        this.thought(block);
        return folded(["Thinking: ", block.line], h("p", { class: "text" }, block.node));
      });
  }

  /** What was thought so far, and its beginning in the line of what is folded. */
  thought({ node, line, growing }) {
    node.data = growing.text;
    if (line.textContent.length < LINE) line.textContent = growing.text.replace(/\s+/g, " ").trim().slice(0, LINE);
  }

  note(words) {
    this.log.append(h("p", { class: "note" }, words));
  }

  draw(key, role, parts, id = "") {
    const anchor = id ? h("a", { href: this.link(id), class: "anchor", "aria-label": "Link to this message" }, "#") : null;
    const article = h("article", { "aria-label": role, class: role }, heading(role, role, null, anchor), h("div", { class: "body" }, ...parts));
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

function facts(model, usage) {
  const [used] = usage ?? [];
  const input = used?.prompt_tokens ?? used?.input_tokens;
  const cached = used?.prompt_tokens_details?.cached_tokens ?? used?.cached_input_tokens ?? 0;
  const known = input == null ? null : { input_tokens: input - (used.prompt_tokens == null ? 0 : cached), cached_input_tokens: cached, output_tokens: used.completion_tokens ?? used.output_tokens, cost_usd: used.cost_usd };
  return margin({ model, usage: known });
}

/** Arguments as the value that they are. */
function valueOf(input) {
  if (typeof input !== "string") return input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}
