// Any provider's body in another's form, with what is lost on the way.

import { ask } from "./api.js";
import { copyButtons } from "./copies.js";
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
    const request = { text: body.value, target: target.value };
    for (const [name, control] of Object.entries({ source, kind, model })) {
      if (control.value.trim()) request[name] = control.value.trim();
    }
    try {
      const result = await out.convert(request);
      if (!result) return;
      last = { ...result, body: request.text };
      copies.refresh();
      const why = result.evidence.length ? `: ${result.evidence.join(", ")}` : "";
      fill(found, `This is a ${result.kind} of ${result.source}${why}.`);
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
  const copies = copyButtons(() => last, () => fill(found, "Copied."));

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
        h("div", { class: "row" }, field("View as", target), copies.made),
        out.element,
      ),
    ),
  );
}

export function choice(names, chosen) {
  const option = (name) => h("option", { value: name }, name || "auto-detect");
  const made = h("select", {}, names.map(option));
  made.value = chosen;
  return made;
}
