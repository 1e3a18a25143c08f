// One task to talk with.

import { ask, follow } from "./api.js";
import { approval } from "./approval.js";
import { messageForm } from "./compose.js";
import { Conversation, textOf } from "./conversation.js";
import { fill, h } from "./dom.js";
import { followEnd } from "./follow.js";
import { ago } from "./format.js";
import { icon } from "./icons.js";
import { button, empty, iconButton } from "./parts.js";
import { address, go as goTo, titled } from "./route.js";
import { stateOf } from "./tasks.js";

const TAIL = 500;
const narrow = matchMedia("(max-width: 44rem)");

/** One task in a pane: its conversation, its queue, its questions, and what can be done with it. */
export function oneTask(pane, id, signal) {
  const path = `/task/${encodeURIComponent(id)}`;
  const log = h("div", { role: "log", "aria-label": "Conversation", tabindex: 0 });
  const earlier = h("p", { hidden: true });
  const region = h("section", { "aria-label": "Conversation", class: "conversation" }, earlier, log);
  const asking = h("section", { "aria-label": "Approvals", class: "approvals", "aria-live": "polite" });
  const queue = h("ul", { "aria-label": "Queue", class: "queue", hidden: true });
  const title = h("h1", {}, "Task");
  const about = h("p", { class: "quiet facts-line" });
  const state = h("p", { role: "status", class: "quiet" });
  let task = null;
  let forking = null;
  const branch = async (body) => goTo(address("tasks", (await ask("POST", `${path}/branch`, body)).task.id));
  const talk = new Conversation(log, (message) => address("sessions", id, message), (role, message, words) => actions(role, message, words));
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
  const stop = button("square", "Stop", { disabled: true });
  const resume = button("play", "Go on", { hidden: true });
  const end = button("x", "End task", { class: "bare" });
  const fork = h("div", { class: "forking", hidden: true });
  const over = h("p", { class: "note", hidden: true }, "The task has ended. Its ", h("a", { href: address("sessions", id) }, "transcript"), " stays among the sessions.");
  const setFork = (after) => {
    forking = after;
    fork.hidden = !after;
    if (after) box.focus();
  };
  fill(fork, icon("git-branch"), h("span", {}, "Your message starts a branch after the chosen answer. This task ends, and stays among the sessions."), h("button", { type: "button", class: "bare", onclick: () => setFork(null) }, "Cancel"));
  const send = async (message) => {
    if (forking) return branch({ after: forking, message });
    await ask("POST", `${path}/message`, { message });
    newest.jump();
    return null;
  };
  const { form, row, wrong, box } = messageForm(`task ${id}`, send, "Message", fork);
  stop.addEventListener("click", tried(() => ask("POST", `${path}/cancel`)));
  resume.addEventListener("click", tried(() => ask("POST", `${path}/resume`)));
  end.addEventListener("click", tried(() => ask("DELETE", path)));
  row.append(stop, resume, end);
  const transcript = h("a", { href: address("sessions", id), class: "button bare" }, icon("messages-square"), "Transcript");
  const back = h("a", { href: address("tasks"), class: "back narrow" }, icon("arrow-left"), "All tasks");
  fill(pane, back, h("div", { class: "head" }, h("div", { class: "title" }, title, about), h("div", { class: "actions" }, transcript)), region, asking, queue, state, over, form);

  /** A message of the user can be sent again, also in other words; behind an answer, a branch begins. */
  const actions = (role, message, words) => {
    if (role === "user") {
      const again = iconButton("rotate-ccw", "Retry from here", { onclick: idle(() => branch({ before: message })) });
      const edit = iconButton("pencil", "Edit and ask again", { onclick: (event) => editing(event.currentTarget.closest("article"), words, message) });
      return h("div", { class: "message-actions" }, again, edit);
    }
    if (role !== "assistant") return null;
    return h("div", { class: "message-actions" }, iconButton("git-branch", "Branch from here", { onclick: idle(() => setFork(message)) }));
  };
  const idle = (work) =>
    tried(async () => {
      if (task?.status === "generating") throw new Error("The task is running: stop it first.");
      await work();
    });
  const editing = (article, words, message) => {
    if (article.querySelector("form")) return;
    const text = h("textarea", { "aria-label": "Edited message", rows: 3, value: words });
    const submit = (event) => {
      event.preventDefault();
      idle(() => branch({ before: message, message: { role: "user", content: text.value } }))();
    };
    const form_ = h("form", { class: "edit", onsubmit: submit }, text, h("div", { class: "row" }, h("button", { type: "submit", class: "first" }, "Ask this instead"), h("button", { type: "button", onclick: () => form_.remove() }, "Cancel")));
    article.append(form_);
    text.focus();
  };

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
      talk.waiting(data.map((call) => call.id));
      const answered = asking.contains(document.activeElement) && !narrow.matches;
      fill(asking, data.map((call) => approval(path, call, (yes) => tried(() => ask("POST", `${path}/confirmations`, { id: call.id, approved: yes })), signal)));
      // Not the button itself: a second Enter would answer what nobody has read.
      /** @type {HTMLElement | null} */
      const next = asking.querySelector("[data-call]");
      if (answered) (next ?? box).focus({ preventScroll: true });
      if (data.length && narrow.matches) asking.scrollIntoView({ block: "end" });
    }
  };
  const drawQueue = (waiting) => {
    queue.hidden = !waiting.length;
    const line = ({ id: message, message: content }) => {
      const take = tried(() => ask("DELETE", `${path}/message/${encodeURIComponent(message)}`));
      const back_ = h("button", { type: "button", onclick: take }, "Take back");
      return h("li", {}, h("span", { class: "text" }, textOf(content)), back_);
    };
    fill(queue, waiting.map(line));
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
  const update = (now) => {
    task = now;
    fill(title, task.name || task.cwd);
    titled(task.name || task.cwd);
    const facts = [task.model, task.name && task.cwd, task.created && `begun ${ago(task.created)}`];
    fill(about, stateOf(task), ` ${facts.filter(Boolean).join(" · ")}`);
    stop.disabled = task.status !== "generating";
    resume.hidden = !task.interrupted;
    if (task.ended) {
      over.hidden = false;
      pane.classList.add("ended");
      for (const control of form.querySelectorAll("button")) control.disabled = true;
      form.hidden = true;
    }
  };
  begin(`?tail=${TAIL}`);
  const missing = () => {
    following.abort();
    const words = "It may have been deleted, or another key may have started it.";
    fill(pane, back, empty("circle-help", "There is no such task", words, h("a", { class: "button first", href: address("tasks") }, "Start a task")));
  };
  ask("GET", path).then(({ task: now }) => update(now), (odd) => (odd.status === 404 ? missing() : fill(state, odd.message)));
  const leave = () => {
    following.abort();
    pane.classList.remove("ended");
  };
  return { id, update, leave, focus: () => box.focus({ preventScroll: true }) };
}
