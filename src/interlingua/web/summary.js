// What there is to say of a whole session: tokens and cost by model, changes of model with what
// they lost, and branches.

import { fill, folded, h } from "./dom.js";
import { plural, when } from "./format.js";
import { lossLine } from "./lossline.js";
import { picture } from "./picture.js";
import { totals } from "./usage.js";

const MOST = 20;
const FEW = 5; // changes of model that are listed at once

/** Fill an element with what a summary says of tokens and money. */
export function showTotals(element, { models, total, prompts }) {
  fill(element, totals(models, total), picture(prompts ?? [], total));
}

/** The mark in front of the first answer of another model. */
export function changeMark({ from, to, losses }) {
  const words = `From here on ${to}, before ${from}.`;
  if (!losses) return h("div", { class: "note change" }, h("p", {}, words));
  if (!losses.count) return h("div", { class: "note change" }, h("p", {}, `${words} Nothing was lost.`));
  const count = plural(losses.count, "loss", "losses");
  const rest = losses.count - Math.min(MOST, losses.losses.length);
  return h(
    "div",
    { class: "note change" },
    h("p", {}, words),
    folded(
      `${count} in ${losses.target ?? "its dialect"}`,
      h("ul", { class: "losses" }, losses.losses.slice(0, MOST).map((loss) => lossLine(loss))),
      rest > 0 ? h("p", { class: "quiet" }, `and ${rest} more`) : null,
    ),
  );
}

/** Put the marks of a summary into a conversation, each at its message; again where it changed. */
export function mark(find, { changes, branches, copied_until: copied }, session, href) {
  for (const change of changes) {
    const at = find(change.message_id);
    if (!at) continue;
    const there = at.previousElementSibling;
    if (there?.dataset.filled) continue;
    if (there?.classList.contains("change")) there.remove();
    const made = changeMark(change);
    made.dataset.filled = "yes";
    at.before(made);
  }
  const own = branches.filter((each) => each.parent_id === session);
  for (const id of new Set(own.map((each) => each.parent_message_id))) {
    const at = find(id);
    if (!at || at.nextElementSibling?.classList.contains("fork")) continue;
    const names = own.filter((each) => each.parent_message_id === id).map((each) => branchLink(each, href));
    at.after(h("p", { class: "note fork" }, names.length === 1 ? "A branch begins here: " : "Branches begin here: ", ...names));
  }
  const end = copied && find(copied);
  const parent = branches.find((each) => each.id === branches.find(({ id }) => id === session)?.parent_id);
  if (end && parent && !end.nextElementSibling?.classList.contains("copied")) {
    const words = ["Up to here as in ", branchLink(parent, href), "; from here on this branch alone."];
    end.after(h("p", { class: "note copied" }, ...words));
  }
}

function branchLink(branch, href) {
  return h("a", { href: href(branch.id) }, branchName(branch));
}

function branchName({ name, message_count: count, created_at: at, parent_id: parent }) {
  return `${name || (parent ? `branch of ${when(at)}` : "the first one")} (${count} messages)`;
}

/** A choice of the branches of a session; null where there are none. */
export function branchChoice({ branches }, session, go) {
  if (!branches.length) return null;
  const depth = new Map();
  const option = (branch) => {
    depth.set(branch.id, (depth.get(branch.parent_id) ?? -1) + 1);
    const indent = "\u2014 ".repeat(depth.get(branch.id));
    return h("option", { value: branch.id }, indent + branchName(branch));
  };
  const made = h("select", {}, branches.map(option));
  made.value = session;
  made.addEventListener("change", () => go(made.value));
  return made;
}

/** Where the model changes, each with a link. */
export function changeList({ changes }, link) {
  if (!changes.length) return null;
  const line = ({ message_id: id, from, to, losses }) => {
    const lost = !losses ? "" : losses.count ? `: ${losses.count}\u00a0lost` : ": nothing lost";
    return h("li", {}, h("a", { href: link(id) }, `${from} \u2192 ${to}`), h("span", { class: losses?.count ? "lost" : "detail" }, lost));
  };
  const title = changes.length === 1 ? "1 change of model" : `${changes.length} changes of model`;
  const all = h("ul", { "aria-label": "Changes of model" }, changes.map(line));
  return changes.length > FEW ? folded(title, all) : h("section", {}, h("h2", {}, title), all);
}
