// Bodies to begin with in Convert.

const WEATHER = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

const CHAT = {
  model: "gpt-5",
  seed: 7,
  frequency_penalty: 0.5,
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", name: "ada", content: "What is the weather in Rome?" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city": "Rome"}' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "21 °C, sunny" },
  ],
  tools: [{ type: "function", function: { name: "weather", strict: true, parameters: WEATHER } }],
  logit_bias: { 1734: -100 },
};

const CLAUDE = {
  model: "claude-sonnet-4-6",
  max_tokens: 1024,
  thinking: { type: "enabled", budget_tokens: 2048 },
  system: [{ type: "text", text: "You review code.", cache_control: { type: "ephemeral", ttl: "1h" } }],
  messages: [
    { role: "user", content: "Is this loop right?" },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "The bound looks wrong.", signature: "c2lnbmF0dXJl" },
        { type: "text", text: "Almost: it skips the last item." },
      ],
    },
    { role: "user", content: "Fix it, please." },
  ],
  metadata: { user_id: "u-17" },
};

const GEMINI = {
  systemInstruction: { parts: [{ text: "Answer in one sentence." }] },
  contents: [{ role: "user", parts: [{ text: "Why is the sky blue?" }] }],
  generationConfig: { candidateCount: 2, temperature: 0.3, maxOutputTokens: 200 },
  safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }],
};

const STREAM = [
  { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "claude-sonnet-4-6", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 12, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "A greeting." } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2lnbmF0dXJl" } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hello!" } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];

const pretty = (value) => JSON.stringify(value, null, 2);

export const EXAMPLES = {
  "OpenAI Chat request": pretty(CHAT),
  "Claude request": pretty(CLAUDE),
  "Gemini request": pretty(GEMINI),
  "Claude stream": STREAM.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join(""),
};
