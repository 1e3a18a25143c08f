// A request, a response, a stream or a transcript in other formats, with what is lost marked in its
// own text.

import { ask } from "./api.js";
import { curlOf, pythonOf } from "./copies.js";
import { field, fill, h } from "./dom.js";
import { editor } from "./editor.js";
import { EXAMPLES } from "./examples.js";
import { plural } from "./format.js";
import { icon } from "./icons.js";
import { lineStarts, placesIn } from "./jsonplaces.js";
import { byRule, where } from "./lossline.js";
import { badge, button, choice, copyButton, head, iconButton, segments } from "./parts.js";
import { remember, remembered } from "./route.js";
import { keep, kept } from "./sharing.js";

const MOST_TARGETS = 3;
const PAUSE = 350; // milliseconds without typing before a conversion
const SHARED = ["from", "kind", "model", "to"];

/** @param {HTMLElement} element  @param {string | null} _id  @param {string | null} part */
export async function convertView(element, _id, part) {
  const [known, text] = await Promise.all([ask("GET", "/convert"), kept(part)]);
  const view = new Convert(known);
  fill(element, view.element);
  view.start(text);
}

class Convert {
  /** @param {{ formats: string[], transcripts: string[], titles: Record<string, string> }} known */
  constructor(known) {
    this.known = known;
    const query = remembered();
    const targets = (query.to ?? "").split(",").filter((name) => this.isTarget(name));
    this.body = editor({
      label: "Your body",
      editable: true,
      placeholder: "Paste a request, a response, a stream or an agent's transcript",
      typed: () => this.soon(),
      chosen: (id) => document.getElementById(id) && this.choose(id, "list"),
      hovered: (ids) => this.lightList(ids),
    });
    this.source = choice(["", ...known.formats, ...known.transcripts], query.from ?? "");
    this.kind = choice(["", "request", "response", "stream", "transcript"], query.kind ?? "");
    this.model = h("input", { type: "text", autocomplete: "off", placeholder: "as in the body", value: query.model ?? "" });
    this.about = h("p", { role: "status", class: "detected" });
    const begin = ([name, text]) => h("button", { type: "button", onclick: () => this.start(text) }, name);
    this.starts = h("div", { class: "starts" }, h("p", {}, "or start with an example"), Object.entries(EXAMPLES).map(begin));
    this.wrong = h("div", { role: "alert" });
    this.panes = h("div", { class: "panes" });
    this.report = h("section", { class: "report card", "aria-label": "Losses" });
    /** @type {Result[]} */
    this.results = [];
    this.latest = 0;
    this.timer = 0;
    this.element = this.layout();
    for (const name of (targets.length ? targets : ["anthropic"]).slice(0, MOST_TARGETS)) this.add(name);
    for (const control of [this.source, this.kind, this.model]) control.addEventListener("change", () => this.work());
  }

  layout() {
    const options = h(
      "details",
      { class: "options" },
      h("summary", {}, "Options"),
      h("div", { class: "toolbar" }, field("Read as", this.source), field("Kind", this.kind), field("Model", this.model)),
    );
    options.open = SHARED.slice(0, 3).some((name) => remembered()[name]);
    const example = choice(["Examples", ...Object.keys(EXAMPLES)], "Examples");
    example.setAttribute("aria-label", "Examples");
    example.addEventListener("change", () => {
      if (EXAMPLES[example.value]) this.start(EXAMPLES[example.value]);
      example.value = "Examples";
    });
    const pane = h(
      "section",
      { class: "code-pane", "data-pane": "body" },
      h("div", { class: "pane-head" }, h("h2", {}, "Your body"), example, h("div", { class: "actions" }, iconButton("braces", "Format", { onclick: () => this.format() }), iconButton("trash-2", "Clear", { onclick: () => this.start("") }))),
      this.body.element,
      this.starts,
    );
    this.panes.append(pane);
    this.more = button("plus", "Add a target", { onclick: () => this.add(this.free()) });
    const names = { body: "Your body", result: "Result", losses: "Losses" };
    this.shape = h("div", { class: "convert", "data-shown": "body" });
    const switcher = h("div", { class: "switcher" }, segments("Shown", names, "body", (name) => this.shape.setAttribute("data-shown", name)));
    this.lost = h("span", { class: "size" });
    switcher.querySelector("[data-value=losses]").append(this.lost);
    fill(
      this.shape,
      head("Convert", "Any format to any other, with each loss marked in your own text. Nothing is stored.", this.more, copyButton(() => (location.hash || !this.body.text() ? location.href : null), "Copy link", false, "Too large for a link.")),
      h("div", { class: "meta" }, this.about, this.wrong, options),
      switcher,
      this.panes,
      this.report,
    );
    return this.shape;
  }

  /** A format as people call it. @param {string} name */
  titleOf(name) {
    return this.known.titles[name] ?? name;
  }

  /** @param {string} name */
  isTarget(name) {
    return this.known.formats.includes(name) || this.known.transcripts.includes(name);
  }

  /** Another target beside those that are shown. @param {string} name */
  add(name) {
    const result = new Result(this.known, name, {
      changed: () => {
        this.chose = true;
        this.work();
      },
      removed: () => this.remove(result),
    });
    this.results.push(result);
    this.panes.append(result.element);
    this.arrange();
    if (this.body.text()) this.work();
  }

  free() {
    const taken = this.results.map((each) => each.target.value);
    return ["anthropic", "gemini", "openai-responses", "openai-chat", "bedrock"].find((name) => !taken.includes(name)) ?? "ollama";
  }

  /** @param {Result} result */
  remove(result) {
    this.results = this.results.filter((each) => each !== result);
    result.element.remove();
    this.arrange();
    this.work();
  }

  arrange() {
    this.panes.dataset.results = String(this.results.length);
    for (const each of this.results) each.less.hidden = this.results.length === 1;
    this.more.disabled = this.results.length === MOST_TARGETS;
  }

  /** @param {string} text */
  start(text) {
    this.body.set(text);
    this.work();
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.element.isConnected && this.work(), PAUSE);
  }

  format() {
    try {
      JSON.parse(this.body.text());
      this.start(indented(this.body.text()));
    } catch {
      fill(this.wrong, h("p", { class: "wrong" }, "This is not one JSON value, so it cannot be formatted."));
    }
  }

  async work() {
    clearTimeout(this.timer);
    const text = this.body.text();
    const number = ++this.latest;
    const to = this.results.map((each) => each.target.value).join(",");
    remember({ ...remembered(), from: this.source.value, kind: this.kind.value, model: this.model.value.trim(), to: to === "anthropic" ? "" : to });
    await keep(text);
    fill(this.wrong);
    this.starts.hidden = Boolean(text.trim());
    if (!text.trim()) return this.nothing();
    const request = { text };
    for (const [name, control] of Object.entries({ source: this.source, kind: this.kind, model: this.model })) {
      if (control.value.trim()) request[name] = control.value.trim();
    }
    /** @type {any[]} */
    const done = await Promise.allSettled(this.results.map((each) => ask("POST", "/convert", { ...request, target: each.target.value })));
    if (number !== this.latest || this.another(done)) return;
    this.show(done, text);
  }

  /** A body that is already in the usual target is shown in another one. @param {any[]} done */
  another(done) {
    const [{ value }] = done;
    if (remembered().to || done.length > 1 || value?.source !== value?.target || this.chose) return false;
    if (!value) return false;
    this.chose = true; // once
    this.results[0].target.value = "openai-chat";
    this.work();
    return true;
  }

  nothing() {
    this.body.mark([]);
    fill(this.lost);
    fill(this.about, "Paste JSON, server-sent events or JSON Lines: the format is detected.");
    for (const each of this.results) each.show(null);
    fill(this.report, h("p", { class: "quiet" }, "What the other format cannot represent is listed here, and marked in your body."));
  }

  /** @param {any[]} done  @param {string} text */
  show(done, text) {
    const failed = done.map((each) => (each.status === "rejected" ? each.reason.message : null));
    const first = done.find((each) => each.status === "fulfilled")?.value;
    this.results.forEach((each, at) => each.show(done[at].value ?? null, first ? failed[at] : null, text, this.model.value.trim()));
    fill(this.about, first ? this.sentence(first) : "");
    if (!first) fill(this.wrong, h("p", { class: "wrong" }, failed[0] ?? ""));
    this.losses = done.flatMap((each, at) => {
      if (!each.value) return [];
      const entries = [...each.value.losses, ...each.value.notes.map((note) => ({ ...note, isNote: true }))];
      return entries.map((loss, number) => ({ ...loss, id: `loss-${at}-${number}`, target: each.value.target }));
    });
    const lost = this.losses.filter((loss) => !loss.isNote).length;
    fill(this.lost, lost ? String(lost) : null);
    this.mark(text);
    if (first) this.list(done.filter((each) => each.value).map((each) => each.value));
    else this.unread(text, failed[0] ?? "");
  }

  /** Where a body cannot be read, its line is marked. @param {string} text  @param {string} words */
  unread(text, words) {
    const [, line, column] = /\(line (\d+), column (\d+)\)/.exec(words) ?? [];
    const start = (lineStarts(text)[Number(line) - 1] ?? 0) + Number(column) - 1;
    const at = Math.max(0, Math.min(start, text.length - 1));
    if (line) this.body.mark([{ line: Number(line) - 1, start: at, end: at + 1, tone: "error", words, id: "unread" }]);
    fill(this.report, h("p", { class: "quiet" }, "There are no losses to list until the body can be read."));
  }

  sentence({ source, kind, evidence }) {
    const title = this.titleOf(source);
    const why = evidence.length ? `, recognized by ${listed(evidence)}` : "";
    return [icon("scan-search"), h("span", {}, h("strong", {}, `${title} ${kind}`), `${why}.`)];
  }

  /** @param {string} text */
  mark(text) {
    const places = placesIn(text, this.losses.flatMap((loss) => loss.at ?? []));
    this.marks = this.losses
      .filter((loss) => !loss.isNote || loss.severity !== "info")
      .flatMap((loss) =>
        (loss.at ?? [])
          .filter((at) => places.has(at))
          .map((at) => ({ ...places.get(at), tone: loss.severity ?? "warning", words: loss.reason, id: loss.id })),
      );
    const begins = (/** @type {{ id: string }} */ { id }) => this.marks.find((mark) => mark.id === id)?.start ?? text.length;
    this.losses.sort((a, b) => begins(a) - begins(b));
    this.body.mark(this.marks);
  }

  list(results) {
    const groups = results.map(({ target }) => {
      const own = this.losses.filter((loss) => loss.target === target);
      const losses = own.filter((loss) => !loss.isNote);
      const first = own.filter((loss) => loss.isNote && loss.severity !== "info");
      const notes = own.filter((loss) => loss.isNote && loss.severity === "info");
      const count = losses.length === 1 ? "1 loss" : `${losses.length} losses`;
      return h(
        "div",
        { class: "group" },
        h("h3", {}, this.titleOf(target), " ", losses.length ? badge(count, worst(losses)) : badge("nothing lost", "good", "check"), first.length ? badge(plural(first.length, "warning")) : null),
        h("ul", { class: "findings" }, [...first, ...losses].map((loss) => this.item(loss))),
        notes.length
          ? h("details", {}, h("summary", {}, notes.length === 1 ? "1 note" : `${notes.length} notes`), h("ul", { class: "findings" }, notes.map((note) => this.item(note))))
          : null,
      );
    });
    fill(this.report, h("h2", {}, "Losses"), h("div", { class: "groups" }, groups));
  }

  item(loss) {
    const light = (on) => {
      const id = on ? loss.id : null;
      this.body.light(id);
    };
    const marked = this.marks.find((mark) => mark.id === loss.id);
    const inside = [
      h("span", { class: `dot ${loss.severity ?? "warning"}${loss.isNote ? " note" : ""}`, title: loss.severity ?? "warning" }),
      loss.at?.length ? h("code", { title: loss.path }, where(loss)) : null,
      h("span", { class: "why" }, loss.reason, byRule(loss.rule, loss.reason)),
      marked ? h("span", { class: "line" }, `line ${marked.line + 1}`) : null,
    ];
    return h(
      "li",
      { id: loss.id, onmouseenter: () => light(true), onmouseleave: () => light(false) },
      marked ? h("button", { type: "button", class: "finding", onclick: () => this.choose(loss.id, "body"), onfocus: () => light(true), onblur: () => light(false) }, inside) : h("div", { class: "finding" }, inside),
    );
  }

  /** Show which losses belong to the place under the pointer. @param {string[]} ids */
  lightList(ids) {
    for (const each of this.report.querySelectorAll("li[id]")) each.classList.toggle("lit", ids.includes(each.id));
    this.body.light(ids[0] ?? null);
  }

  /** Go from a mark to its loss, or from a loss to its mark. @param {string} id  @param {"list" | "body"} to */
  choose(id, to) {
    const mark = this.marks.find((each) => each.id === id);
    this.shape.setAttribute("data-shown", to === "list" ? "losses" : "body");
    for (const each of this.shape.querySelectorAll(".switcher button")) each.setAttribute("aria-pressed", String(each.getAttribute("data-value") === this.shape.getAttribute("data-shown")));
    if (to === "body" && mark) this.body.reveal(mark, true);
    this.body.light(id);
    if (to === "list") {
      const item = document.getElementById(id);
      item?.closest("details")?.setAttribute("open", "");
      item?.scrollIntoView({ block: "nearest" });
      item?.querySelector("button")?.focus({ preventScroll: true });
    }
  }
}

/** One target with what a body becomes in it. */
class Result {
  constructor(known, name, { changed, removed }) {
    this.code = editor({ label: "Result", placeholder: "The same in another format" });
    const groups = { Formats: known.formats, Transcripts: known.transcripts };
    const option = (each) => h("option", { value: each }, each);
    this.target = h("select", { "aria-label": "Target format" }, Object.entries(groups).map(([label, names]) => h("optgroup", { label }, names.map(option))));
    this.target.value = name;
    this.target.addEventListener("change", changed);
    this.count = h("span", { class: "count" });
    this.less = iconButton("x", "Remove this target", { onclick: removed });
    this.wrong = h("p", { class: "wrong", role: "alert" });
    this.curl = copyButton(() => this.copied?.curl ?? "", "Copy as curl", true);
    this.curl.firstElementChild.replaceChildren(icon("terminal"));
    this.python = copyButton(() => this.copied?.python ?? "", "Copy as Python", true);
    this.python.firstElementChild.replaceChildren(icon("file-code"));
    for (const each of [this.curl, this.python]) each.classList.add("extra");
    this.element = h(
      "section",
      { class: "code-pane", "data-pane": "result" },
      h(
        "div",
        { class: "pane-head" },
        h("h2", {}, h("span", { class: "unseen" }, "Result in "), this.target),
        this.count,
        h("div", { class: "actions" }, copyButton(() => this.code.text(), "Copy"), this.curl, this.python, this.less),
      ),
      this.wrong,
      this.code.element,
    );
  }

  show(result, problem = null, body = "", model = "") {
    fill(this.wrong, problem ?? "");
    const extra = (/** @type {string} */ words) => h("span", { class: "extra" }, words);
    const lost = result?.losses.length;
    fill(this.count, result ? (lost ? badge([String(lost), extra(lost === 1 ? " loss" : " losses")], worst(result.losses)) : badge(extra("nothing lost"), "good", "check")) : "");
    this.code.set(result?.text ?? "");
    this.copied = result ? { curl: curlOf({ ...result, model }), python: pythonOf({ ...result, body }) } : null;
    this.curl.hidden = !this.copied?.curl;
    this.python.hidden = !result || result.kind === "stream" || result.kind === "transcript";
  }
}

function worst(losses) {
  return losses.some((loss) => loss.severity === "error") ? "bad" : "warn";
}

function listed(words) {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0];
}

/** JSON with two spaces, its numbers as they are written. @param {string} text */
function indented(text) {
  let depth = 0;
  const out = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    const opens = token === "{" || token === "[";
    const closes = token === "}" || token === "]";
    const was = out.at(-1);
    const isEmpty = closes && (was === "{" || was === "[");
    if (closes) depth -= 1;
    if (!isEmpty && (closes || (was !== undefined && (was === "{" || was === "[" || was === ",")))) out.push(`\n${"  ".repeat(depth)}`);
    out.push(token);
    if (token === ":") out.push(" ");
    if (opens) depth += 1;
  }
  return out.join("");
}
