// Asks the package `@ag-ui/client` about events: a list of lists on stdin, the messages that its
// client builds up of each on stdout. The package is found from the folder of the command.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "judge.js"));
const { defaultApplyEvents, verifyEvents } = require("@ag-ui/client");
const { from, lastValueFrom, toArray } = createRequire(require.resolve("@ag-ui/client"))("rxjs");

async function messages(events) {
  const verified = from(events).pipe(verifyEvents(false));
  const ids = { threadId: "thread", runId: "run" };
  const input = { ...ids, messages: [], state: {}, tools: [], context: [], forwardedProps: {} };
  const agent = { ...ids, messages: [], state: {} };
  const steps = defaultApplyEvents(input, verified, agent, []).pipe(toArray());
  const changes = (await lastValueFrom(steps)).filter((each) => each.messages);
  return { messages: changes.at(-1)?.messages ?? [] };
}

let text = "";
for await (const piece of process.stdin) text += piece;
const told = [];
for (const events of JSON.parse(text)) {
  try {
    told.push(await messages(events));
  } catch (error) {
    told.push({ error: String(error).slice(0, 1000) });
  }
}
process.stdout.write(JSON.stringify(told));
