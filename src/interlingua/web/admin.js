// Administration, for keys that may: keys, users, teams, budgets, and who changed what.

import { ask, hasKey, Refused } from "./api.js";
import { CAPS, inputs, keyInputs } from "./adminforms.js";
import { formDialog, secret } from "./dialog.js";
import { field, fill, h } from "./dom.js";
import { ago, count, money, plural, spent, when } from "./format.js";
import { icon } from "./icons.js";
import { caps, limitsOf } from "./keylist.js";
import { badge, button, empty, head, iconButton, named, snippet } from "./parts.js";
import { address, remembered } from "./route.js";

const PARTS = { keys: "Keys", users: "Users", teams: "Teams", budgets: "Budgets", audit: "Audit log" };
const TONES = { active: "good", ending: "warn", revoked: null, expired: "warn", disabled: "warn" };
const GRACES = { 86400: "one day", 3600: "one hour", 604800: "seven days", 0: "not at all" };
const PAGE = 1000;
const REFUSED = ["This key cannot administer the gateway", "Issue an administrator's key on the machine of the gateway, then use it here."];
const KEYLESS = ["Administration needs a key", "This gateway is open to its own machine, without keys. Issue an administrator's key there: the page asks for it from then on."];

/** @param {HTMLElement} element  @param {string | null} _id  @param {string | null} _part  @param {AbortSignal} signal */
export async function adminView(element, _id, _part, signal) {
  const view = new Admin(element, signal);
  try {
    await view.load();
  } catch (odd) {
    if (!(odd instanceof Refused) || (odd.status !== 403 && odd.status !== 404)) throw odd;
    const [title, words] = hasKey() ? REFUSED : KEYLESS;
    const another = () => dispatchEvent(new CustomEvent("key-wanted"));
    fill(element, head("Administration"), empty("shield", title, words, snippet("interlingua keys issue NAME --admin", "the command"), hasKey() ? button("key-round", "Use another key", { onclick: another }) : null));
    return null;
  }
  return () => {
    view.draw();
    return true;
  };
}

class Admin {
  /** @param {HTMLElement} element  @param {AbortSignal} signal */
  constructor(element, signal) {
    this.element = element;
    this.signal = signal;
    this.ended = false;
    /** @type {Record<string, any>} */
    this.known = {};
  }

  /** All of it: a gateway has hundreds of keys, and names are needed everywhere. */
  async load() {
    const [{ keys }, users, teams, budgets, audit, usage] = await Promise.all([
      ask("GET", "/admin/keys"),
      everyone("users"),
      everyone("teams"),
      everyone("budgets"),
      ask("GET", "/admin/audit?limit=100"),
      ask("GET", "/admin/usage?days=7"),
    ]);
    if (this.signal.aborted) return;
    const newest = keys.sort((/** @type {any} */ a, /** @type {any} */ b) => b.created_at.localeCompare(a.created_at));
    this.known = { keys: newest, users, teams, budgets, audit };
    this.used = new Map(usage.keys.map((/** @type {any} */ each) => [each.name, each]));
    this.names = new Map([...keys, ...users, ...teams, ...budgets].map((each) => [each.id, each.name || each.email || each.value || each.id]));
    this.draw();
  }

  draw() {
    const shown = remembered().show;
    const part = shown in PARTS ? shown : "keys";
    const tabs = Object.entries(PARTS).map(([name, words]) => {
      const size = this.known[name].length;
      const href = name === "keys" ? address("admin") : `${address("admin")}?show=${name}`;
      return h("a", { href, "aria-current": name === part ? "page" : null }, words, size ? h("span", { class: "size" }, count(size)) : null);
    });
    fill(
      this.element,
      head("Administration", "Who may use this gateway, and how much.", this.action(part)),
      h("nav", { class: "subnav", "aria-label": "Administration" }, tabs),
      this[part](),
    );
  }

  /** @param {string} part */
  action(part) {
    const words = { keys: "Issue a key", users: "Add a user", teams: "Add a team", budgets: "Add a budget" }[part];
    if (!words) return null;
    const open = { keys: () => this.issue(), users: () => this.owner("user"), teams: () => this.owner("team"), budgets: () => this.budget() }[part];
    return button("plus", words, { class: "first", onclick: open });
  }

  /** Does it, and shows what became of it. @param {() => Promise<any>} work */
  async done(work) {
    const made = await work();
    await this.load();
    return made;
  }

  // Keys

  keys() {
    const valid = this.known.keys.filter((/** @type {any} */ key) => key.status !== "revoked" && key.status !== "expired");
    const gone = this.known.keys.length - valid.length;
    const rows = this.ended ? this.known.keys : valid;
    const toggle = h("input", { type: "checkbox", checked: this.ended });
    toggle.addEventListener("change", () => {
      this.ended = toggle.checked;
      this.draw();
    });
    const columns = ["Name", "State", "Owner", "Spent", "Last 7 days", "Limits", ""];
    return h(
      "section",
      { "aria-label": "Keys" },
      table("All keys", columns, rows.map((/** @type {any} */ key) => this.keyLine(key))),
      gone ? h("label", { class: "check quiet" }, toggle, ` Show ${plural(gone, "key")} that ended`) : null,
    );
  }

  /** @param {any} key */
  keyLine(key) {
    const used = this.used.get(key.id);
    const owner = [key.user_id, key.team_id].filter(Boolean).map((id) => this.names.get(id) ?? id);
    const over = key.status === "revoked" || key.status === "expired";
    const actions = [
      over ? null : iconButton("pencil", `Change ${key.name}`, { onclick: () => this.change(key) }),
      over || key.status === "ending" ? null : iconButton("rotate-ccw", `Rotate ${key.name}`, { onclick: () => this.rotate(key) }),
      over ? null : iconButton("ban", `Revoke ${key.name}`, { class: "bare danger", onclick: () => this.revoke(key) }),
    ];
    return [
      h("th", { scope: "row" }, h("span", { class: "name" }, key.name, key.admin ? [" ", badge("admin", "accent", "shield")] : null), h("code", { class: "quiet" }, key.id)),
      [badge(key.status, TONES[key.status]), h("span", { class: "quiet" }, `issued ${ago(key.created_at)}`)],
      owner.join(", ") || h("span", { class: "quiet" }, "nobody"),
      caps(key.caps) ?? h("span", { class: "quiet" }, "no cap"),
      used ? [h("a", { href: `${address("requests")}?key=${encodeURIComponent(key.id)}` }, plural(used.requests, "request")), h("span", { class: "quiet" }, spent(used))] : h("span", { class: "quiet" }, "none"),
      limitsOf(key) || h("span", { class: "quiet" }, "none"),
      h("div", { class: "actions" }, actions),
    ];
  }

  issue() {
    const name = h("input", { type: "text", required: true, maxlength: 200, autocomplete: "off", autofocus: true });
    const [user, team] = [this.ownerChoice("users"), this.ownerChoice("teams")];
    const rest = keyInputs();
    const who = h("div", { class: "grid" }, field("Name", name), field("User", user), field("Team", team));
    formDialog("Issue a key", [who, rest.shown], "Issue the key", async () => {
      const body = { name: name.value.trim(), user_id: user.value || null, team_id: team.value || null, ...rest.changes() };
      const { token, key } = await this.done(() => ask("POST", "/admin/keys", body));
      return secret(token, key.name);
    });
  }

  /** @param {"users" | "teams"} kind */
  ownerChoice(kind) {
    return named({ "": "none", ...Object.fromEntries(this.known[kind].map((/** @type {any} */ each) => [each.id, each.name || each.email || each.id])) });
  }

  /** @param {any} key */
  change(key) {
    const spans = { day: "daily", week: "weekly", month: "monthly" };
    const own = key.caps.filter((/** @type {any} */ cap) => cap.scope === "key").map((/** @type {any} */ cap) => [`${spans[cap.window]}_cap_usd`, cap.limit_usd]);
    const rest = keyInputs({ ...key, ...Object.fromEntries(own) });
    formDialog(`Change ${key.name}`, rest.shown, "Save", async () => {
      await this.done(() => ask("PATCH", `/admin/keys/${encodeURIComponent(key.id)}`, rest.changes()));
    });
  }

  /** @param {any} key */
  rotate(key) {
    const grace = named(GRACES, "86400");
    const words = "A new token takes the place of the old one. Owner, caps and limits stay as they are.";
    formDialog(`Rotate ${key.name}?`, [h("p", {}, words), field("The old token stays valid for", grace)], "Rotate", async () => {
      const body = { grace_seconds: Number(grace.value) };
      const { token } = await this.done(() => ask("POST", `/admin/keys/${encodeURIComponent(key.id)}/rotate`, body));
      return secret(token, key.name);
    });
  }

  /** @param {any} key */
  revoke(key) {
    const words = [
      h("p", {}, "Programs that use it are refused within two seconds. This cannot be undone."),
      key.admin ? h("p", { class: "callout warn" }, icon("triangle-alert"), h("span", {}, "This key administers the gateway. If it is the last one, this page cannot be used any more.")) : null,
    ];
    formDialog(`Revoke ${key.name}?`, words, "Revoke", async () => {
      await this.done(() => ask("DELETE", `/admin/keys/${encodeURIComponent(key.id)}`));
    }, "danger");
  }

  // Users and teams

  users() {
    return this.owners("user", "No user yet", "A user groups the keys of a person: their requests and sessions belong together, and a cap holds for all of them.");
  }

  teams() {
    return this.owners("team", "No team yet", "A team groups keys: a cap holds for all of them, and the overview shows what each team spends.");
  }

  /** @param {"user" | "team"} kind  @param {string} title  @param {string} words */
  owners(kind, title, words) {
    const rows = this.known[`${kind}s`];
    if (!rows.length) return empty(kind === "user" ? "user" : "users", title, words, button("plus", `Add a ${kind}`, { onclick: () => this.owner(kind) }));
    const columns = ["Name", ...(kind === "user" ? ["E-mail"] : []), "State", "Spent", "Keys", ""];
    const line = (/** @type {any} */ row) => {
      const keys = this.known.keys.filter((/** @type {any} */ key) => key[`${kind}_id`] === row.id && key.status === "active");
      const isOn = (row.status ?? "active") === "active";
      const name = this.names.get(row.id);
      return [
        h("th", { scope: "row" }, h("span", { class: "name" }, name), h("code", { class: "quiet" }, row.id)),
        ...(kind === "user" ? [row.email ?? ""] : []),
        badge(isOn ? "active" : "disabled", isOn ? "good" : "warn"),
        caps(capsOf(row)) ?? h("span", { class: "quiet" }, "no cap"),
        count(keys.length),
        h(
          "div",
          { class: "actions" },
          iconButton("pencil", `Change ${name}`, { onclick: () => this.owner(kind, row) }),
          isOn ? iconButton("ban", `Disable ${name}`, { class: "bare danger", onclick: () => this.disable(kind, row) }) : iconButton("play", `Enable ${name}`, { onclick: () => this.set(kind, row, { status: "active" }) }),
        ),
      ];
    };
    return h("section", { "aria-label": PARTS[`${kind}s`] }, table(`All ${kind}s`, columns, rows.map(line)));
  }

  /** @param {"user" | "team"} kind  @param {any} [row] */
  owner(kind, row) {
    const about = [["name", "Name", "text", ""], ...(kind === "user" ? [["email", "E-mail", "email", ""]] : [])];
    const known = inputs([...about, ...CAPS], row);
    const title = row ? `Change ${this.names.get(row.id)}` : `Add a ${kind}`;
    formDialog(title, h("div", { class: "grid" }, known.shown), row ? "Save" : "Add", async () => {
      const path = `/admin/${kind}s${row ? `/${encodeURIComponent(row.id)}` : ""}`;
      await this.done(() => ask(row ? "PATCH" : "POST", path, known.changes()));
    });
  }

  /** @param {"user" | "team"} kind  @param {any} row */
  disable(kind, row) {
    const words = "Its keys are refused within two seconds, until it is enabled again.";
    formDialog(`Disable ${this.names.get(row.id)}?`, h("p", {}, words), "Disable", () => this.set(kind, row, { status: "disabled" }), "danger");
  }

  /** @param {string} kind  @param {any} row  @param {any} change */
  async set(kind, row, change) {
    await this.done(() => ask("PATCH", `/admin/${kind}s/${encodeURIComponent(row.id)}`, change));
  }

  // Budgets

  budgets() {
    const rows = this.known.budgets;
    const words = "A budget caps what is spent for a model, a tag or an end user, whoever asks.";
    if (!rows.length) return empty("coins", "No budget yet", words, button("plus", "Add a budget", { onclick: () => this.budget() }));
    const line = (/** @type {any} */ row) => [
      h("th", { scope: "row" }, h("span", { class: "name" }, row.value)),
      row.kind.replace("_", " "),
      row.owner_id ? this.names.get(row.owner_id) ?? row.owner_id : "all keys",
      caps(capsOf(row)),
      h("div", { class: "actions" }, iconButton("trash-2", `Remove the budget of ${row.value}`, { class: "bare danger", onclick: () => this.unbudget(row) })),
    ];
    return h("section", { "aria-label": "Budgets" }, table("All budgets", ["For", "Kind", "Of", "Spent", ""], rows.map(line)));
  }

  budget() {
    const kind = named({ model: "model", tag: "tag", end_user: "end user" }, "model");
    const value = h("input", { type: "text", required: true, autocomplete: "off", placeholder: "openai:gpt-5" });
    const owner = named({ "": "all keys", ...Object.fromEntries([...this.names].filter(([id]) => !id.startsWith("bud_"))) });
    const known = inputs(CAPS);
    const about = [field("Kind", kind), field("Of which value (* at the end: each value that begins so)", value), field("Of whose requests", owner)];
    formDialog("Add a budget", [h("div", { class: "grid" }, about), h("fieldset", {}, h("legend", {}, "Caps, in dollars"), h("div", { class: "grid" }, known.shown))], "Add", async () => {
      const body = { kind: kind.value, value: value.value.trim(), owner_id: owner.value || null, ...known.changes() };
      await this.done(() => ask("POST", "/admin/budgets", body));
    });
  }

  /** @param {any} row */
  unbudget(row) {
    formDialog(`Remove the budget of ${row.value}?`, h("p", {}, "It stops limiting requests immediately."), "Remove", async () => {
      await this.done(() => ask("DELETE", `/admin/budgets/${encodeURIComponent(row.id)}`));
    }, "danger");
  }

  // The audit log

  audit() {
    const list = h("ol", { class: "audit", "aria-label": "Changes" }, this.known.audit.changes.map((/** @type {any} */ each) => this.auditLine(each)));
    const older = h("button", { type: "button", hidden: !this.known.audit.has_more }, "Older changes");
    older.addEventListener("click", async () => {
      const last = this.known.audit.changes.at(-1).id;
      const found = await ask("GET", `/admin/audit?limit=100&before=${encodeURIComponent(last)}`);
      this.known.audit = { changes: [...this.known.audit.changes, ...found.changes], has_more: found.has_more };
      list.append(...found.changes.map((/** @type {any} */ each) => this.auditLine(each)));
      older.hidden = !found.has_more;
    });
    return h("section", { "aria-label": "Audit log" }, list, h("p", { class: "center" }, older));
  }

  /** @param {any} entry */
  auditLine({ at, actor, action, target_id: target, changes }) {
    const [kind, verb] = action.split(".");
    const values = Object.entries(changes ?? {}).filter(([name]) => name !== "id" && name !== "created_at");
    const isShort = values.length <= 3;
    const pair = (/** @type {[string, any]} */ [name, [was, now]]) =>
      h("li", {}, h("span", { class: "quiet" }, name.replace(/_usd$/, "").replaceAll("_", " ")), h("span", {}, was == null ? null : [h("del", {}, plain(name, was)), " → "], plain(name, now)));
    const list = values.length ? h("ul", { class: "changes" }, values.map(pair)) : null;
    return h(
      "li",
      {},
      h("span", { class: "quiet", title: when(at) }, ago(at)),
      h(
        "div",
        {},
        h("p", {}, h("strong", {}, this.names.get(actor) ?? actor), ` ${VERBS[verb] ?? verb} the ${kind} `, h("strong", {}, this.names.get(target) ?? changes?.name?.[1] ?? target)),
        isShort ? list : h("details", {}, h("summary", {}, plural(values.length, "value")), list),
      ),
    );
  }
}

const VERBS = { issue: "issued", change: "changed", rotate: "rotated", revoke: "revoked", add: "added", remove: "removed" };

/** What a setting was or is, as people read it. @param {string} name  @param {any} value */
export function plain(name, value) {
  if (value == null) return "none";
  if (name.endsWith("_usd")) return money(value);
  if (/_at$/.test(name) && when(value)) return when(value);
  if (Array.isArray(value)) return value.map((each) => plain("", each)).join(", ") || "none";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @param {string} kind */
async function everyone(kind) {
  const found = [];
  for (let after = ""; ; ) {
    const page = await ask("GET", `/admin/${kind}?${new URLSearchParams({ limit: String(PAGE), ...(after ? { after } : {}) })}`);
    found.push(...page[kind]);
    if (!page.has_more) return found;
    after = found.at(-1).id;
  }
}

/** The caps of an owner with what was spent. @param {any} row */
function capsOf(row) {
  const spans = { day: "daily", week: "weekly", month: "monthly" };
  return Object.entries(spans)
    .filter(([, name]) => row[`${name}_cap_usd`] != null)
    .map(([window, name]) => {
      const spent = (/** @type {string} */ field) => row.spent?.[`${window}_${field}`];
      const cost = spent("highest_usd") ?? spent("usd") ?? "0";
      return { window, scope: "key", limit_usd: row[`${name}_cap_usd`], spent_usd: cost, unpriced: spent("unpriced"), values: spent("values") };
    });
}

/** @param {string} label  @param {string[]} columns  @param {any[][]} rows */
function table(label, columns, rows) {
  const line = (/** @type {any[]} */ cells) => h("tr", {}, cells.map((cell, at) => (cell?.tagName === "TH" ? cell : h("td", { "data-label": columns[at] || null }, cell))));
  return h(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": label },
    h("table", { class: "admin" }, h("thead", {}, h("tr", {}, columns.map((text) => h("th", { scope: "col" }, text || h("span", { class: "unseen" }, "Actions"))))), h("tbody", {}, rows.map(line))),
  );
}
