// The transcript of one session, whoever tells it: the gateway, or the file it was exported to.

import { field, fill, h, lit } from "./dom.js";
import { article } from "./blocks.js";
import { plural, when } from "./format.js";
import { branchChoice, changeList, changeMark, mark, showTotals } from "./summary.js";
import { head } from "./parts.js";
import { Window } from "./window.js";

/** `source` has `row`, `page(query)`, `summary()`, `search(words)`, `link(message)`, `href(session)` and `go(session)`.
 *  `tools(window)` makes what stands between the head and the conversation. */
export async function transcript(element, source, message, signal, tools) {
  const { row } = source;
  const scroller = document.getElementById("main");
  let summary = null;
  const decorate = () => {
    if (summary) mark((id) => shown.find(id), summary, row.id, source.href);
    else markHere(shown);
  };
  const calls = new Map();
  const draw = (each) => {
    for (const { type, id, name } of each.content ?? []) if (type === "tool_use") calls.set(id, name);
    return article(each, source.link(each.id), calls);
  };
  const shown = new Window(source, draw, scroller, decorate);
  await shown.open(message);
  const used = h("div", {});
  const changes = h("div", {});
  const branches = h("div", {});
  const about = [row.workspace_path, row.active_model, plural(row.message_count, "message"), when(row.created_at)];
  const { before = [], actions = [], above = [], beside = [] } = tools?.(shown) ?? {};
  const panel = h("details", { class: "about" }, h("summary", {}, "About this session"), searchBox(source), branches, used, changes, beside);
  const isWide = matchMedia("(min-width: 64.01rem)");
  panel.open = isWide.matches;
  isWide.addEventListener("change", () => (panel.open = isWide.matches), { signal });
  fill(
    element,
    before,
    head(row.name || row.workspace_path, about.filter(Boolean).join(" · "), ...actions),
    h(
      "div",
      { class: "reading" },
      h("div", { class: "page" }, above, h("section", { "aria-label": "Conversation", class: "conversation whole" }, shown.earlier, shown.log, shown.later)),
      h("aside", { "aria-label": "About this session" }, panel),
    ),
  );
  focusOn(shown, message);
  shown.follow(signal);
  try {
    summary = await source.summary();
  } catch (odd) {
    fill(used, h("p", { role: "alert", class: "wrong" }, `No totals: ${odd.message}`));
    return shown;
  }
  if (signal?.aborted) return shown;
  const totals = summary;
  const choice = branchChoice(totals, row.id, source.go);
  shown.keepingPlace(() => {
    fill(branches, choice ? field("Branch", choice) : null);
    showTotals(used, totals);
    fill(changes, changeList(totals, source.link));
    decorate();
  }, true);
  return shown;
}

/** Show a message of a transcript that is there already. */
export async function goTo(shown, id) {
  if (!shown.find(id)) await shown.open(id);
  focusOn(shown, id);
}

function focusOn(shown, id) {
  const target = id && shown.find(id);
  target?.scrollIntoView();
  target?.focus({ preventScroll: true });
}

/** Marks for changes of model among the messages that are here. */
function markHere(shown) {
  let last = null;
  for (const { id, role, metadata } of shown.messages) {
    const model = role === "assistant" ? metadata?.model : null;
    if (model && last && model !== last) {
      const at = shown.find(id);
      if (!at.previousElementSibling?.classList.contains("change")) at.before(changeMark({ from: last, to: model, losses: null }));
    }
    last = model ?? last;
  }
}

/** Words in the messages of one session. */
function searchBox(source) {
  const words = h("input", { type: "search", autocomplete: "off", placeholder: "Words of a message" });
  const list = h("ul", { class: "sessions", "aria-label": "Messages found" });
  const state = h("p", { role: "status", class: "quiet" });
  let latest = 0;
  const look = async () => {
    const number = ++latest;
    const q = words.value.trim();
    const messages = q ? await source.search(q) : [];
    if (number !== latest) return;
    fill(state, messages.length || !q ? "" : "No message has all of these words.");
    fill(list, messages.map(({ message_id: id, role, snippet }) => h("li", {}, h("a", { href: source.link(id) }, `${role}: `, lit(snippet, q)))));
  };
  words.addEventListener("input", look);
  return h("div", { class: "search-in" }, field("Search in this session", words), state, list);
}
