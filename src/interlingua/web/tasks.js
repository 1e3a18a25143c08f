// Tasks: the list as it changes, and one of them to talk with.

import { ask, follow } from "./api.js";
import { messageForm } from "./compose.js";
import { models } from "./connect.js";
import { field, fill, h } from "./dom.js";
import { ago } from "./format.js";
import { icon } from "./icons.js";
import { badge, empty } from "./parts.js";
import { address, go as goTo, keepTyped, titled } from "./route.js";
import { oneTask } from "./task.js";

const SHOWN = 200;

export async function tasksView(element, id, _part, signal) {
  const tasks = new Map();
  const list = h("ul", { "aria-label": "Task list", class: "tasks" });
  const more = h("p", { class: "quiet", hidden: true });
  const state = h("p", { role: "status", class: "quiet" });
  const pane = h("div", { class: "pane" });
  let open = null;
  let most = SHOWN;
  let known = false;
  const none = h("p", { class: "quiet", hidden: true }, "No task yet. Describe one, and it is listed here.");

  const side = h(
    "aside",
    { "aria-label": "All tasks" },
    h("div", { class: "list-head" }, h("h2", {}, "Tasks"), h("a", { href: address("tasks"), class: "button" }, icon("plus"), "New task")),
    state,
    none,
    list,
    more,
  );
  fill(element, side, pane);

  const draw = soon(() => {
    const all = [...tasks.values()].sort((a, b) => Number(Boolean(b.waiting)) - Number(Boolean(a.waiting)) || b.created - a.created);
    none.hidden = all.length > 0 || !known;
    fill(list, all.slice(0, most).map((task) => line(task, open?.id)));
    more.hidden = all.length <= most;
    const rest = () => {
      most += SHOWN;
      draw();
    };
    fill(more, h("button", { type: "button", onclick: rest }, `${all.length - most} more`));
    if (open?.id && tasks.has(open.id)) open.update(tasks.get(open.id));
  });

  const hear = (name, data) => {
    if (name === "daemon.tasks.synchronized") {
      tasks.clear();
      for (const task of data.tasks) tasks.set(task.id, task);
      known = true;
    } else if (name === "daemon.task.changed") {
      if (data.task.ended) tasks.delete(data.task.id);
      else tasks.set(data.task.id, data.task);
      if (open?.id === data.task.id) open.update(data.task);
    }
    draw();
  };
  const heard = (now) => fill(state, now === "open" ? "" : "The connection is lost; trying again.");
  follow("/events", hear, heard, signal);

  const go = (next) => {
    if (open && open.id === next) return true; // what is typed there stays
    open?.leave();
    const isWriting = pane.contains(document.activeElement) && matchMedia("(hover: hover)").matches;
    open = next ? oneTask(pane, next, signal) : newTask(pane);
    if (isWriting) open.focus();
    element.classList.toggle("one", Boolean(next));
    draw();
    return true;
  };
  go(id);
  return go;
}

/** The same, once for all calls within one frame. */
function soon(work) {
  let scheduled = false;
  return () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      work();
    });
  };
}

/** What a task does, as a mark. */
export function stateOf(task) {
  if (task.ended) return badge("ended");
  if (task.waiting) return badge("needs approval", "warn");
  if (task.interrupted) return badge("interrupted", "bad");
  return task.status === "generating" ? badge("running", "accent") : badge(task.status);
}

function line(task, open) {
  return h(
    "li",
    {},
    h(
      "a",
      { href: address("tasks", task.id), "aria-current": task.id === open ? "true" : null },
      h("span", { class: "name", title: task.name || task.cwd }, task.name || task.cwd),
      h("span", { class: "state" }, stateOf(task), h("span", {}, [task.queued ? `${task.queued} queued` : null, ago(task.changed ?? task.created)].filter(Boolean).join(" · "))),
    ),
  );
}

function newTask(pane) {
  titled("New task");
  const folder = h("input", { type: "text", autocomplete: "off", placeholder: "The gateway's own folder" });
  const model = h("input", { type: "text", autocomplete: "off", list: "models", placeholder: "Default" });
  const known = h("datalist", { id: "models" });
  const forget = [keepTyped("new task folder", folder), keepTyped("new task model", model)];
  const send = async (message) => {
    const body = { message };
    if (folder.value.trim()) body.cwd = folder.value.trim();
    if (model.value.trim()) body.model = model.value.trim();
    const id = await started(body);
    for (const each of forget) each();
    goTo(address("tasks", id));
  };
  const options = h("div", { class: "row" }, field("Folder", folder), field("Model", model), known);
  const { form, box } = messageForm("new task", send, "What should be done? The agent reads and lists files; writing needs your approval.", options);
  fill(pane, h("div", { class: "new" }, h("span", { class: "disc" }, icon("list-checks")), h("h1", {}, "New task"), h("p", { class: "quiet" }, "An agent works in a folder of this machine, step by step, and asks before it changes anything."), form));
  if (matchMedia("(hover: hover)").matches && !document.activeElement?.closest("main")) box.focus({ preventScroll: true });
  models().then((names) => fill(known, names.map((name) => h("option", { value: name }))), () => {}); // names can be typed all the same
  return { id: null, leave() {}, update() {}, focus() {} };
}

/** The new task; where one lives in the folder already, that one gets the message. */
async function started(body) {
  try {
    return (await ask("POST", "/task", body)).task.id;
  } catch (odd) {
    const id = odd.status === 409 && odd.body?.task?.id;
    if (!id) throw odd;
    await ask("POST", `/task/${encodeURIComponent(id)}/message`, { message: body.message });
    return id;
  }
}
