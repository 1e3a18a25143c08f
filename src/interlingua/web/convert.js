// Any provider's body in another's form, with what is lost on the way.

import { ask } from "./api.js";
import { field, fill, h } from "./dom.js";
import { outcome } from "./losses.js";

const EXAMPLE = {
  model: "gpt-4.1",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "What is the weather in Rome?" },
  ],
  tools: [
    {
      type: "function",
      function: {
        name: "weather",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ],
  frequency_penalty: 0.5,
  seed: 7,
};

const FRONTS = {
  "openai-chat": "/v1/chat/completions",
  "openai-responses": "/v1/responses",
  anthropic: "/v1/messages",
  ollama: "/api/chat",
};

/** The request for this gateway as a command; null where its path cannot be told. */
function curlOf({ kind, target, text }) {
  const path = kind === "request" ? FRONTS[target] : null;
  if (!path) return null;
  const quoted = `'${text.replaceAll("'", "'\\''")}'`;
  return `curl ${location.origin}${path} -H 'content-type: application/json' -d ${quoted}`;
}

/** The same conversion in a program. */
function pythonOf({ body, source, target, kind }) {
  const said = [body, source, target, kind].map((text) => JSON.stringify(text)).join(", ");
  return `import interlingua as il\n\nwritten = il.convert(${said})\nprint(written.json().decode())\nprint(written.report)\n`;
}

export async function convertView(element) {
  const { formats } = await ask("GET", "/convert");
  const body = h("textarea", { rows: 14, spellcheck: "false", class: "code" });
  const source = choice(["", ...formats], "");
  const target = choice(formats, "anthropic");
  const kind = choice(["", "request", "response"], "");
  const model = h("input", { type: "text", autocomplete: "off", placeholder: "as in the body" });
  const found = h("p", { role: "status", class: "quiet" });
  const wrong = h("p", { role: "alert", class: "wrong" });
  const out = outcome();

  const work = async () => {
    fill(wrong);
    if (!body.value.trim()) return;
    const said = { text: body.value, target: target.value };
    for (const [name, control] of Object.entries({ source, kind, model })) {
      if (control.value.trim()) said[name] = control.value.trim();
    }
    try {
      const told = await out.convert(said);
      if (!told) return;
      last = { ...told, body: said.text };
      curl.disabled = !curlOf(last);
      const why = told.evidence.length ? `: ${told.evidence.join(", ")}` : "";
      fill(found, `This is a ${told.kind} of ${told.source}${why}.`);
    } catch (odd) {
      fill(wrong, odd.message);
      fill(found);
      out.clear();
      last = null;
    }
  };
  const submitted = (event) => {
    event.preventDefault();
    work();
  };
  const example = () => {
    body.value = JSON.stringify(EXAMPLE, null, 2);
    work();
  };
  for (const control of [source, target, kind, model]) control.addEventListener("change", work);
  body.addEventListener("paste", () => setTimeout(work));
  let last = null;
  const copied = (make) => () => {
    if (last) navigator.clipboard?.writeText(make(last)).then(() => fill(found, "Copied."));
  };

  const copy = h("button", { type: "button", onclick: copied(({ text }) => text) }, "Copy");
  const curl = h("button", { type: "button", onclick: copied(curlOf) }, "Copy as curl");
  const python = h("button", { type: "button", onclick: copied(pythonOf) }, "Copy as Python");

  fill(
    element,
    h("h1", {}, "Convert"),
    h("p", {}, "Paste a request or a response of any provider, and see it in another's form."),
    h(
      "div",
      { class: "columns" },
      h(
        "form",
        { onsubmit: submitted },
        field("Body", body),
        h("div", { class: "row" }, field("Read as", source), field("Kind", kind), field("Model", model)),
        h(
          "div",
          { class: "row" },
          h("button", { type: "submit", class: "first" }, "Convert"),
          h("button", { type: "button", onclick: example }, "Example"),
        ),
        found,
        wrong,
      ),
      h(
        "div",
        {},
        h("div", { class: "row" }, field("View as", target), copy, curl, python),
        out.element,
      ),
    ),
  );
}

export function choice(names, chosen) {
  const option = (name) => h("option", { value: name }, name || "find out");
  const made = h("select", {}, names.map(option));
  made.value = chosen;
  return made;
}
