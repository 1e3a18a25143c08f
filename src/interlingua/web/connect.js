// How an SDK or an agent is pointed at this gateway, and a first request from the page itself.

import { ask, askReply, hasKey } from "./api.js";
import { field, fill, h } from "./dom.js";
import { took } from "./format.js";
import { badge, button, snippet, tabs } from "./parts.js";
import { address } from "./route.js";

const LOCAL = "local";
const WORDS = "Say hello in three languages.";

/**
 * Programs by their names, each with its few lines.
 * @param {string} base  @param {string} model  @param {string} key
 * @returns {[string, string][]}
 */
export function programs(base, model, key) {
  const body = `{"model": ${JSON.stringify(model)},\n    "messages": [{"role": "user",\n      "content": "${WORDS}"}]}`;
  const auth = key === "any" ? "" : ` -H 'authorization: Bearer ${key}'`;
  return [
    ["curl", `curl ${base}/v1/chat/completions${auth} \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`],
    [
      "OpenAI SDK",
      `from openai import OpenAI\n\nclient = OpenAI(base_url="${base}/v1", api_key="${key}")\nanswer = client.chat.completions.create(\n    model="${model}",\n    messages=[{"role": "user", "content": "${WORDS}"}],\n)\nprint(answer.choices[0].message.content)`,
    ],
    [
      "Anthropic SDK",
      `from anthropic import Anthropic\n\nclient = Anthropic(base_url="${base}", api_key="${key}")\nanswer = client.messages.create(\n    model="${model}",\n    max_tokens=200,\n    messages=[{"role": "user", "content": "${WORDS}"}],\n)\nprint(answer.content[0].text)`,
    ],
    [
      "Gemini SDK",
      `from google import genai\n\nclient = genai.Client(api_key="${key}", http_options={"base_url": "${base}"})\nanswer = client.models.generate_content(model="${model}", contents="${WORDS}")\nprint(answer.text)`,
    ],
    ["Claude Code", `ANTHROPIC_BASE_URL=${base} ANTHROPIC_AUTH_TOKEN=${key} \\\n  ANTHROPIC_MODEL=${model} claude`],
    ["Codex", `codex -c model_provider=il -c model_providers.il.name=interlingua \\\n  -c model_providers.il.base_url=${base}/v1 -c model_providers.il.wire_api=responses -m ${model}`],
  ];
}

/** The model in the box, which needs no key. @param {string} name */
const isLocal = (name) => name === LOCAL || name.startsWith(`${LOCAL}:`);

/** Models that can be asked now, by their names; the local one first. */
export async function models() {
  const { data } = await ask("GET", "/v1/models");
  const names = data.map((/** @type {{ id: string }} */ each) => each.id).filter((/** @type {string} */ id) => !/embed/.test(id));
  return [...names.filter(isLocal), ...names.filter((/** @type {string} */ name) => !isLocal(name))];
}

/** @param {string[]} names */
export function connectCard(names) {
  const model = names[0] ?? LOCAL;
  const shown = programs(location.origin, model, hasKey() ? "YOUR_KEY" : "any");
  return h(
    "section",
    { class: "card", "aria-label": "Connect" },
    h("h2", {}, "Point an SDK or an agent here"),
    h("p", { class: "quiet" }, "Programs stay as they are: only their base URL changes. Any SDK may ask for any model."),
    tabs("Connect", shown.map(([name, text]) => [name, snippet(text, name)])),
  );
}

/** Ask from here. `done` is called when an answer is there. @param {string[]} names  @param {() => void} done */
export function firstRequest(names, done) {
  const model = h("select", {}, names.map((name) => h("option", { value: name }, name)));
  const words = h("input", { type: "text", value: WORDS, autocomplete: "off", required: true });
  const send = button("send", "Send", { type: "submit", class: "first" });
  const out = h("div", { class: "answered", "aria-live": "polite" }, h("p", { class: "quiet" }, "The answer appears here."));
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    send.disabled = true;
    const note = isLocal(model.value) ? "Asking; the first answer of the local model takes a little longer." : "Asking.";
    fill(out, h("p", { class: "quiet" }, note));
    const began = performance.now();
    try {
      const body = { model: model.value, max_tokens: 200, messages: [{ role: "user", content: words.value }] };
      const reply = await askReply("POST", "/v1/chat/completions", body);
      const { choices, usage } = await reply.json();
      const facts = [took(performance.now() - began), usage && `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`];
      const id = reply.headers.get("x-request-id");
      fill(
        out,
        h("p", { class: "text" }, choices?.[0]?.message?.content ?? ""),
        h("p", { class: "quiet" }, badge("200", "good"), ` ${facts.filter(Boolean).join(" · ")} · `, id ? h("a", { href: address("requests", id) }, "See this request") : null),
      );
      done();
    } catch (odd) {
      fill(out, h("p", { class: "wrong", role: "alert" }, odd instanceof Error ? odd.message : String(odd)));
    }
    send.disabled = false;
  };
  return h(
    "section",
    { class: "card", "aria-label": "First request" },
    h("h2", {}, "Send a request from here"),
    h("p", { class: "quiet" }, names.some(isLocal) ? "The local model needs no key and no network once it is fetched." : "It goes through this gateway like any other request."),
    names.length
      ? h("form", { onsubmit: submit }, field("Message", words), h("div", { class: "row" }, field("Model", model), send), out)
      : h("p", {}, "No model is available yet: set a provider's API key in the gateway's environment, and start it again."),
  );
}
