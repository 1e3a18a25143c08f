// A conversion to be taken elsewhere: as a command, or as a program.

import { h } from "./dom.js";

const FRONTS = {
  "openai-chat": "/v1/chat/completions",
  openrouter: "/v1/chat/completions",
  "openai-responses": "/v1/responses",
  anthropic: "/v1/messages",
  ollama: "/api/chat",
};

function pathOf(target, model) {
  if (target !== "gemini") return FRONTS[target] ?? null;
  return model ? `/v1beta/models/${encodeURIComponent(model)}:generateContent` : null;
}

/** The request for this gateway as a command; null where its path is unknown. `model` is whom
 *  it is for, where the body does not say so. */
export function curlOf({ kind, target, text, model }) {
  const path = kind === "request" ? pathOf(target, model) : null;
  if (!path) return null;
  const named = target === "gemini" || !model || /^\{\s*"model"|\n  "model":/.test(text);
  const body = named ? text : text.replace("{", `{\n  "model": ${JSON.stringify(model)},`);
  const quoted = `'${body.replaceAll("'", "'\\''")}'`;
  return `curl ${location.origin}${path} -H 'content-type: application/json' -d ${quoted}`;
}

/** The same conversion in a program. */
export function pythonOf({ body, source, target, kind }) {
  const args = [body, source, target, kind].map((text) => JSON.stringify(text)).join(", ");
  return `import interlingua as il\n\nwritten = il.convert(${args})\nprint(written.json().decode())\nprint(written.report)\n`;
}

/** Buttons that copy the `last()` conversion; `copied` is called when one did. */
export function copyButtons(last, copied) {
  const button = (name, make) => {
    const copy = () => last() && navigator.clipboard?.writeText(make(last())).then(copied);
    return h("button", { type: "button", onclick: copy }, name);
  };
  const curl = button("Copy as curl", curlOf);
  const made = [button("Copy", ({ text }) => text), curl, button("Copy as Python", pythonOf)];
  return { made, refresh: () => (curl.disabled = !last() || !curlOf(last())) };
}
