// Asks the package `ai` about UI messages: {chats?, streams?} on stdin, what it makes of each on
// stdout. The package is found from the folder that the command is run in.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const found = createRequire(join(process.cwd(), "judge.js")).resolve("ai");
const ai = await import(pathToFileURL(found));

async function model(messages) {
  const valid = await ai.validateUIMessages({ messages });
  return { model: await ai.convertToModelMessages(valid) };
}

async function message(stream) {
  const bytes = new Response(stream).body;
  const parsed = ai.parseJsonEventStream({ stream: bytes, schema: ai.uiMessageChunkSchema });
  const chunks = parsed.pipeThrough(
    new TransformStream({
      transform(part, controller) {
        if (!part.success) throw part.error;
        controller.enqueue(part.value);
      },
    }),
  );
  let last = null;
  for await (const each of ai.readUIMessageStream({ stream: chunks, terminateOnError: true }))
    last = each;
  return { message: last };
}

async function judged(values, judge) {
  const told = [];
  for (const value of values ?? []) {
    try {
      told.push(await judge(value));
    } catch (error) {
      told.push({ error: String(error).slice(0, 1000) });
    }
  }
  return told;
}

let text = "";
for await (const piece of process.stdin) text += piece;
const { chats, streams } = JSON.parse(text);
const told = { chats: await judged(chats, model), streams: await judged(streams, message) };
process.stdout.write(JSON.stringify(told));
