// Tasks: the list as it changes, and one of them to talk with.

import { ask, follow } from "./api.js";
import { Conversation, textOf } from "./conversation.js";
import { field, fill, h, shown, when } from "./dom.js";
import { followEnd } from "./follow.js";
import { icon } from "./icons.js";
import { address, go as goTo } from "./route.js";

const TAIL = 500;
const SHOWN = 200;

export async function tasksView(element, id, _part, signal) {
  const tasks = new Map();
  const list = h("ul", { "aria-label": "Task list", class: "tasks" });
  const more = h("p", { class: "quiet", hidden: true });
  const state = h("p", { role: "status", class: "quiet" });
  const pane = h("div", { class: "pane" });
  let open = null;
  let most = SHOWN;

  const side = h(
    "aside",
    { "aria-label": "All tasks" },
    h("a", { href: address("tasks"), class: "button" }, icon("plus"), "New task"),
    state,
    list,
    more,
  );
  fill(element, side, pane);

  const draw = soon(() => {
    const all = [...tasks.values()].sort((a, b) => b.created - a.created);
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
    open = next ? oneTask(pane, next, signal) : newTask(pane);
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

function line(task, open) {
  const name = task.name || task.cwd;
  const states = [
    task.waiting ? "needs approval" : task.interrupted ? "interrupted" : task.status,
    task.queued ? `${task.queued} queued` : null,
  ];
  return h(
    "li",
    {},
    h(
      "a",
      { href: address("tasks", task.id), "aria-current": task.id === open ? "true" : null },
      h("span", { class: "name" }, name),
      h("span", { class: `state ${task.status}` }, states.filter(Boolean).join(", ")),
    ),
  );
}

/** Where a message is written. Enter sends it; with Shift it begins a line. */
function messageForm(send, ...beside) {
  const box = h("textarea", { "aria-label": "Message", rows: 3, required: true, placeholder: "Message" });
  const button = h("button", { type: "submit", class: "first" }, "Send");
  const wrong = h("p", { role: "alert", class: "wrong" });
  const form = h("form", { class: "compose" }, ...beside, box, wrong, h("div", { class: "row" }, button));
  const submit = async (event) => {
    event.preventDefault();
    if (!box.value.trim() || button.disabled) return;
    button.disabled = true;
    fill(wrong);
    try {
      await send({ role: "user", content: box.value });
      box.value = "";
    } catch (odd) {
      fill(wrong, odd.message);
    }
    button.disabled = false;
  };
  form.addEventListener("submit", submit);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });
  return { form, box, row: form.lastChild, wrong };
}

/** A task is called after the beginning of what was asked. */
function title(words) {
  const line = words.trim().split("\n")[0];
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

function newTask(pane) {
  const folder = h("input", { type: "text", autocomplete: "off", placeholder: "the gateway's own folder" });
  const model = h("input", { type: "text", autocomplete: "off", list: "models", placeholder: "default" });
  const known = h("datalist", { id: "models" });
  const send = async (message) => {
    const body = { message, name: title(message.content) };
    if (folder.value.trim()) body.cwd = folder.value.trim();
    if (model.value.trim()) body.model = model.value.trim();
    goTo(address("tasks", await started(body)));
  };
  const { form } = messageForm(send, field("Folder", folder), field("Model", model), known);
  fill(pane, h("h1", {}, "New task"), form);
  ask("GET", "/v1/models").then(
    ({ data }) => fill(known, data.map((each) => h("option", { value: each.id }))),
    () => {}, // names can be typed all the same
  );
  return { id: null, leave() {}, update() {} };
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

const EFFECTS = {
  read: "It reads files of the workspace.",
  write: "It changes files of the workspace.",
  execute: "It runs a command on this machine.",
  network: "It uses the network.",
};

function touches(effects) {
  return EFFECTS[effects] ?? `It may do this: ${effects}.`;
}

function clock(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** The arguments of a call that waits for approval, long texts as they would be written. */
function details(args) {
  let value = args;
  try {
    if (typeof args === "string") value = JSON.parse(args);
  } catch {
    return h("pre", {}, shown(args));
  }
  if (!value || typeof value !== "object" || Array.isArray(value)) return h("pre", {}, shown(value));
  const line = ([name, each]) => [h("dt", {}, name), h("dd", {}, h("pre", {}, shown(each)))];
  return h("dl", { class: "arguments" }, Object.entries(value).map(line));
}

function oneTask(pane, id, signal) {
  const path = `/task/${encodeURIComponent(id)}`;
  const log = h("div", { role: "log", "aria-label": "Conversation", tabindex: 0 });
  const earlier = h("p", { hidden: true });
  const region = h("section", { "aria-label": "Conversation", class: "conversation" }, earlier, log);
  const asking = h("section", { "aria-label": "Approvals", class: "approvals", "aria-live": "polite" });
  const queue = h("ul", { "aria-label": "Queue", class: "queue", hidden: true });
  const title = h("h1", {}, "Task");
  const about = h("p", { class: "quiet" });
  const state = h("p", { role: "status", class: "quiet" });
  const talk = new Conversation(log);
  let following = new AbortController();
  let first = null;

  const tried = (work) => async () => {
    fill(wrong);
    try {
      await work();
    } catch (odd) {
      fill(wrong, odd.message);
    }
  };
  const stop = h("button", { type: "button", disabled: true }, "Stop");
  const resume = h("button", { type: "button", hidden: true }, "Go on");
  const end = h("button", { type: "button" }, "End task");
  const send = async (message) => {
    await ask("POST", `${path}/message`, { message });
    newest.jump();
  };
  const { form, row, wrong } = messageForm(send);
  stop.addEventListener("click", tried(() => ask("POST", `${path}/cancel`)));
  resume.addEventListener("click", tried(() => ask("POST", `${path}/resume`)));
  end.addEventListener("click", tried(() => ask("DELETE", path)));
  row.append(stop, resume, end);
  const transcript = h("a", { href: address("sessions", id) }, "Transcript");
  fill(pane, h("div", { class: "head" }, title, about, transcript), region, asking, queue, state, form);

  const newest = followEnd(region, log, document.getElementById("main"), signal);
  const hear = (name, data) => {
    if (name === "maria") {
      if (first === null) {
        first = data.seq;
        earlier.hidden = first <= 1;
      }
      talk.hear(data);
    } else if (name === "maria.delta") {
      talk.piece(data);
    } else if (name === "maria.queued_messages.synchronized") {
      drawQueue(data);
    } else if (name === "maria.confirmations.synchronized") {
      fill(asking, data.map(question));
    }
  };
  const drawQueue = (waiting) => {
    queue.hidden = !waiting.length;
    const line = ({ id: message, message: content }) => {
      const take = tried(() => ask("DELETE", `${path}/message/${encodeURIComponent(message)}`));
      const button = h("button", { type: "button", onclick: take }, "Take back");
      return h("li", {}, h("span", { class: "text" }, textOf(content)), button);
    };
    fill(queue, waiting.map(line));
  };
  const question = ({ id: call, name, args, side_effects: effects, expires }) => {
    const decide = (approved) => tried(() => ask("POST", `${path}/confirmations`, { id: call, approved }));
    return h(
      "div",
      { role: "group", "aria-label": `May ${name} run?`, class: "question" },
      h("p", {}, h("strong", {}, `Run ${name}?`), ` ${touches(effects)} It is denied at ${clock(expires)} unless you answer.`),
      details(args),
      h("button", { type: "button", class: "first", onclick: decide(true) }, "Approve"),
      h("button", { type: "button", onclick: decide(false) }, "Deny"),
    );
  };
  const heard = (now, odd) => {
    const words = { open: "", lost: "The connection is lost; trying again." };
    fill(state, now === "refused" ? odd.message : words[now]);
  };
  const begin = (query) => {
    following.abort();
    following = new AbortController();
    first = null;
    talk.clear();
    follow(`${path}/events${query}`, hear, heard, AbortSignal.any([signal, following.signal]));
  };
  earlier.append(
    h("button", { type: "button", onclick: () => begin("") }, "Show everything from the beginning"),
  );
  const update = (task) => {
    fill(title, task.name || task.cwd);
    fill(about, [task.status, task.model, task.name && task.cwd, when(task.created)].filter(Boolean).join(" · "));
    stop.disabled = task.status !== "generating";
    resume.hidden = !task.interrupted;
    if (task.ended) {
      fill(state, "The task has ended.");
      for (const control of form.elements) control.disabled = true;
    }
  };
  begin(`?tail=${TAIL}`);
  ask("GET", path).then(({ task }) => update(task), (odd) => fill(state, odd.message));
  return { id, update, leave: () => following.abort() };
}
