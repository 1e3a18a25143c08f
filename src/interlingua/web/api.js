// Asking the gateway: JSON, and streams of events. A key goes into a header and never into an
// address, which is why streams are read with fetch and not with EventSource.

const KEY = "interlingua-key";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;

export class Refused extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? `the gateway answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

export function setKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

function headers(more) {
  const key = sessionStorage.getItem(KEY);
  return key ? { ...more, authorization: `Bearer ${key}` } : more;
}

async function request(method, path, body) {
  return (await answered(method, path, body)).text();
}

async function answered(method, path, body) {
  /** @type {any} */
  const init = { method, headers: headers({ accept: "application/json" }), cache: "no-store" };
  if (body !== undefined) {
    init.headers["content-type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  const reply = await fetch(path, init).catch(unreachable);
  if (!reply.ok) throw refused(reply.status, await reply.text());
  return reply;
}

/** In place of the browser's own words. @returns {never} */
export function unreachable(odd) {
  if (odd.name === "AbortError") throw odd;
  throw new Refused(0, { error: { message: "The gateway cannot be reached. It may have been stopped." } });
}

/** The reply itself, where its headers matter. */
export const askReply = answered;

/** Whether a key is used in this tab. */
export function hasKey() {
  return sessionStorage.getItem(KEY) !== null;
}

/** A file, with the name that it is to have. */
export async function askBlob(method, path, body) {
  const reply = await answered(method, path, body);
  const [, name] = /filename="([^"]*)"/.exec(reply.headers.get("content-disposition") ?? "") ?? [];
  return { blob: await reply.blob(), name: name ?? "session" };
}

/** What the gateway answers, parsed. */
export async function ask(method, path, body) {
  return JSON.parse(await request(method, path, body));
}

/** The same as it was sent: numbers that JavaScript cannot hold are still in it. */
export const askText = request;

function refused(status, text) {
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // not ours: something stands between us and the gateway
  }
  const made = new Refused(status, body);
  if (status === 401) dispatchEvent(new CustomEvent("key-wanted", { detail: made.message }));
  return made;
}

/** Follow a stream until `signal` aborts. `hear(name, data, id)` gets each event; `state` gets
 *  "open" and "lost". A stream that ends is taken up behind its last event. */
export async function follow(path, hear, state, signal) {
  let last = null;
  let wait = FIRST_WAIT;
  while (!signal.aborted) {
    try {
      const more = { accept: "text/event-stream" };
      if (last !== null) more["last-event-id"] = last;
      const reply = await fetch(path, { headers: headers(more), signal, cache: "no-store" });
      if (!reply.ok) throw refused(reply.status, await reply.text());
      state("open");
      wait = FIRST_WAIT;
      await eachEvent(reply.body, (name, data, id) => {
        if (id !== null) last = id;
        hear(name, data, id);
      });
    } catch (odd) {
      if (signal.aborted) return;
      if (odd instanceof Refused && odd.status < 500) {
        state("refused", odd);
        return;
      }
    }
    if (signal.aborted) return;
    state("lost");
    await new Promise((go) => setTimeout(go, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** Send a request whose answer is a stream; `hear(data)` gets each event. Returns the reply's headers. */
export async function stream(path, body, hear, signal) {
  const init = { method: "POST", headers: headers({ "content-type": "application/json" }), body: JSON.stringify(body), signal };
  const reply = await fetch(path, { ...init, cache: "no-store" }).catch(unreachable);
  if (!reply.ok) throw refused(reply.status, await reply.text());
  return { headers: reply.headers, done: eachEvent(reply.body, (_name, data) => hear(data)) };
}

async function eachEvent(body, hear) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const frames = rest.split("\n\n");
    rest = frames.pop();
    for (const frame of frames) oneEvent(frame, hear);
  }
}

function oneEvent(frame, hear) {
  let name = "message";
  let id = null;
  const data = [];
  for (const line of frame.split("\n")) {
    const at = line.indexOf(":");
    const value = line.slice(at + 1).replace(/^ /, "");
    if (line.startsWith("event:")) name = value;
    else if (line.startsWith("id:")) id = value;
    else if (line.startsWith("data:")) data.push(value);
  }
  if (data.length && data[0] !== "[DONE]") hear(name, JSON.parse(data.join("\n")), id);
}
