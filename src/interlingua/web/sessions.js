// Sessions that are kept, and the transcript of one.

import { ask, askText } from "./api.js";
import { field, fill, folded, h, shown, when } from "./dom.js";
import { choice } from "./convert.js";
import { outcome } from "./losses.js";
import { facts, totals } from "./usage.js";

const PAGE = 100;
const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

export async function sessionsView(element, id, part) {
  const go = async (next, message) => {
    fill(element, h("p", { role: "status" }, "Loading"));
    await (next ? transcript(element, next, message) : listing(element));
  };
  await go(id, part);
}

async function listing(element) {
  const found = [];
  let more = false;
  const list = h("ul", { "aria-label": "Sessions", class: "sessions" });
  const search = h("input", { type: "search", autocomplete: "off" });
  const rest = h("button", { type: "button", hidden: true }, "Older sessions");
  const draw = () => {
    const words = search.value.toLowerCase();
    const fits = (row) => `${row.name ?? ""} ${row.workspace_path} ${row.active_model ?? ""}`.toLowerCase().includes(words);
    const fitting = found.filter(fits);
    fill(list, fitting.length ? fitting.map(line) : h("li", { class: "quiet" }, "No session."));
    rest.hidden = !more;
  };
  const load = async () => {
    const before = found.length ? `&before=${encodeURIComponent(found.at(-1).id)}` : "";
    const told = await ask("GET", `/sessions?limit=${PAGE}${before}`);
    found.push(...told.sessions);
    more = told.has_more;
    draw();
  };
  search.addEventListener("input", draw);
  rest.addEventListener("click", load);
  await load();
  fill(element, h("h1", {}, "Sessions"), field("Search", search), list, rest);
}

function line(row) {
  const facts = [`${row.message_count} messages`, row.active_model, when(row.updated_at)];
  return h(
    "li",
    {},
    h(
      "a",
      { href: `#/sessions/${encodeURIComponent(row.id)}` },
      h("span", { class: "name" }, row.name || row.workspace_path),
      h("span", { class: "quiet" }, facts.filter(Boolean).join(" · ")),
    ),
  );
}

async function transcript(element, id, message) {
  const path = `/sessions/${encodeURIComponent(id)}`;
  const [row, { formats }] = await Promise.all([ask("GET", path), ask("GET", "/convert")]);
  const log = h("div", { role: "log", "aria-label": "Conversation", tabindex: 0 });
  const earlier = h("button", { type: "button", hidden: true }, "Earlier messages");
  const used = h("div", {});
  const texts = [];
  let messages = [];
  const load = async () => {
    const before = messages.length ? `&before=${encodeURIComponent(messages[0].id)}` : "";
    const text = await askText("GET", `${path}/messages?limit=${PAGE}${before}`);
    const told = JSON.parse(text);
    messages = [...told.messages, ...messages];
    texts.unshift(text.slice(text.indexOf("[") + 1, text.lastIndexOf("]")));
    log.replaceChildren(...articles(messages, id));
    fill(used, totals(messages));
    earlier.hidden = !told.has_more;
  };
  earlier.addEventListener("click", load);
  await load();
  while (message && !find(log, message) && !earlier.hidden) await load();
  const about = [row.workspace_path, row.active_model, `${row.message_count} messages`, when(row.created_at)];
  fill(
    element,
    h("h1", {}, row.name || row.workspace_path),
    h("p", { class: "quiet" }, about.filter(Boolean).join(" · ")),
    used,
    viewAs(formats, () => `[${texts.filter(Boolean).join(",")}]`),
    h("section", { "aria-label": "Conversation", class: "conversation whole" }, earlier, log),
  );
  const wanted = message && find(log, message);
  if (wanted) {
    wanted.scrollIntoView();
    wanted.focus();
  }
}

function find(log, id) {
  return [...log.children].find((each) => each.dataset.message === id);
}

/** The messages that are shown, as a request of any dialect, with its losses. */
function viewAs(formats, messages) {
  const target = choice(["", ...formats], "");
  target.options[0].textContent = "the conversation";
  const wrong = h("p", { role: "alert", class: "wrong" });
  const out = outcome();
  const shown = h("div", { hidden: true }, wrong, out.element);
  const work = async () => {
    shown.hidden = !target.value;
    fill(wrong);
    if (!target.value) return;
    try {
      await out.convert({ text: messages(), source: "canonical", kind: "request", target: target.value });
    } catch (odd) {
      out.clear();
      fill(wrong, odd.message);
    }
  };
  target.addEventListener("change", work);
  return h("div", { class: "view-as" }, field("View as", target), shown);
}

/** All messages, with a mark where another model answers. */
function articles(messages, session) {
  let last = null;
  return messages.flatMap((message) => {
    const model = message.role === "assistant" ? message.metadata?.model : null;
    const changed = model && last && model !== last;
    const mark = changed ? [h("p", { class: "note" }, `From here on ${model}, before ${last}.`)] : [];
    last = model ?? last;
    return [...mark, article(message, session)];
  });
}

function article(message, session) {
  const link = `#/sessions/${encodeURIComponent(session)}/${encodeURIComponent(message.id)}`;
  const said = facts(message.metadata ?? {});
  return h(
    "article",
    { "aria-label": message.role, class: message.role, "data-message": message.id, tabindex: -1 },
    h("h2", {}, message.role, " ", h("a", { href: link, "aria-label": "Link to this message" }, "#")),
    (message.content ?? []).map(block),
    said ? h("p", { class: "quiet" }, said) : null,
  );
}

function block(each) {
  switch (each.type) {
    case "text":
      return h("p", { class: "text" }, each.text);
    case "thinking":
      return folded("Thinking", h("p", { class: "text" }, each.text));
    case "tool_use":
      return folded(`Call of ${each.name}`, h("pre", {}, shown(each.input)));
    case "tool_result": {
      const title = each.is_error ? "Error of a tool" : "Result of a tool";
      const inner = Array.isArray(each.content) ? each.content.map(block) : h("pre", {}, shown(each.content));
      return folded(title, inner);
    }
    case "image":
      return image(each);
    default:
      return folded(each.type ?? "block", h("pre", {}, shown(each)));
  }
}

/** An image that is in the message; one that is only named is not fetched. */
function image({ source, media_type: type, name }) {
  const { kind, data } = source ?? {};
  const alt = name || "image";
  if (kind === "base64" && IMAGES.has(type)) return h("img", { src: `data:${type};base64,${data}`, alt });
  return h("p", { class: "quiet" }, `${alt}: ${kind === "base64" ? type : data}`);
}
