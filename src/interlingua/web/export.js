// A session as a file, after a look at what is taken out of it.

import { ask, askBlob } from "./api.js";
import { field, fill, h } from "./dom.js";
import { plural } from "./format.js";
import { choice } from "./parts.js";

const FORMATS = { html: "HTML, one file", markdown: "Markdown", jsonl: "JSON Lines" };

/** `link(message)` is the address of a message. */
export function exportPanel(row, link) {
  const path = `/sessions/${encodeURIComponent(row.id)}`;
  const format = choice(Object.keys(FORMATS), "html");
  for (const option of format.options) option.textContent = FORMATS[option.value];
  const redact = h("input", { type: "checkbox", checked: true });
  const patterns = h("textarea", { rows: 2, spellcheck: "false", class: "code", placeholder: "ticket = ACME-\\d+" });
  const wrong = h("p", { role: "alert", class: "wrong" });
  const state = h("p", { role: "status", class: "quiet" });
  const list = h("ul", { "aria-label": "Redacted", class: "losses" });
  let unredacted = new Set();

  const options = () => ({ patterns: patternsOf(patterns.value), keep: [...unredacted] });
  const work = (doing, task) => async () => {
    fill(wrong);
    fill(state, doing);
    try {
      fill(state, await task());
    } catch (odd) {
      fill(state);
      fill(wrong, odd.message);
    }
  };
  const look = work("Looking", async () => {
    unredacted = new Set();
    const { findings } = await ask("POST", `${path}/redaction`, options());
    fill(list, findings.map((each) => finding(each, link, unredacted)));
    const count = findings.reduce((all, each) => all + each.count, 0);
    return count ? `${plural(findings.length, "value")} in ${plural(count, "place")}.` : "Nothing was found.";
  });
  const download = work("Writing", async () => {
    const body = { ...options(), format: format.value, redact: redact.checked };
    const { blob, name } = await askBlob("POST", `${path}/export`, body);
    save(blob, name);
    return `${name}: ${blob.size.toLocaleString()} bytes.`;
  });
  const step = h(
    "div",
    {},
    field("Own patterns, one a line: name = regular expression", patterns),
    h("button", { type: "button", onclick: look }, "Show what is taken out"),
    list,
  );
  redact.addEventListener("change", () => (step.hidden = !redact.checked));
  return h(
    "details",
    { class: "export" },
    h("summary", {}, "Export"),
    h("label", { class: "check" }, redact, " Redact: keys, tokens, addresses, home folders"),
    step,
    h("div", { class: "row" }, field("Format", format), h("button", { type: "button", class: "first", onclick: download }, "Download")),
    state,
    wrong,
  );
}

/** Lines `name = pattern`; one without a name is called `own`. */
export function patternsOf(text) {
  const found = {};
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .forEach((line, number) => {
      const [, name, pattern] = /^([\w-]+)\s*=\s*(.+)$/.exec(line) ?? [null, `own-${number + 1}`, line];
      found[name] = pattern;
    });
  return found;
}

function finding({ kind, placeholder, length, count, places }, link, unredacted) {
  const box = h("input", { type: "checkbox", checked: true });
  box.addEventListener("change", () => (box.checked ? unredacted.delete(placeholder) : unredacted.add(placeholder)));
  const title = ` ${placeholder ?? kind}: ${length.toLocaleString()} characters, ${count === 1 ? "one place" : `${count} places`}`;
  const head = placeholder ? h("label", { class: "check" }, box, title) : h("span", {}, title, " (it belongs to a text that changes)");
  const place = ({ message_id: id, place: where, context }) =>
    h("li", { class: "quiet" }, id ? h("a", { href: link(id) }, where) : where, context ? `: ${context}` : null);
  return h("li", { class: "info" }, head, h("ul", {}, places.map(place)));
}

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
