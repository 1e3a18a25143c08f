// Where the values of a JSON text stand in it. The text is scanned and not parsed, so that it may be
// formatted in any way, and an unfinished one has places up to where it ends.

/** @typedef {{ start: number, end: number, line: number }} Place */

const PLAIN = /^[A-Za-z_$][\w$-]*$/;
const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs;

/** One step of a path, as the gateway writes it. @param {string | number} key */
function step(key) {
  if (typeof key === "number") return `[${key}]`;
  return PLAIN.test(key) ? `.${key}` : `['${key}']`;
}

/** @param {string} token */
function keyOf(token) {
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}

/**
 * The places of these paths: from the key, or the item, to the end of a scalar value or the first
 * bracket of another. Of a path that is missing, the place of what should hold it.
 * @param {string} text
 * @param {Iterable<string>} paths
 * @returns {Map<string, Place>}
 */
export function placesOf(text, paths) {
  const wanted = new Set(paths);
  for (const path of [...wanted]) for (const above of holders(path)) wanted.add(above);
  const found = wanted.size ? scan(text, wanted) : new Map();
  const lines = lineStarts(text);
  for (const place of found.values()) place.line = lineAt(lines, place.start);
  for (const path of paths) {
    const holder = found.has(path) ? path : holders(path).find((above) => found.has(above));
    if (holder && holder !== path) found.set(path, found.get(holder));
  }
  return found;
}

/** The paths around a path, the nearest first. @param {string} path */
function holders(path) {
  const out = [];
  let rest = path;
  while (rest.length > 1) {
    const shorter = rest.replace(/(\['(?:[^'\\]|\\.)*'\]|\[\d+\]|\.[^.[\]]*)$/, "");
    if (shorter === rest) break;
    if (shorter !== "$") out.push(shorter);
    rest = shorter;
  }
  return out;
}

/** @param {string} text  @param {Set<string>} wanted  @returns {Map<string, Place>} */
function scan(text, wanted) {
  const found = new Map();
  /** @type {{ path: string, next: number, key: { path: string, start: number } | null, list: boolean }[]} */
  const inside = [];
  for (const match of text.matchAll(TOKEN)) {
    const token = match[0];
    const around = inside.at(-1);
    if (token === "}" || token === "]") {
      inside.pop();
    } else if (token === ",") {
      if (around) around.key = null;
      if (around?.list) around.next += 1;
    } else if (token !== ":") {
      if (around && !around.list && !around.key) {
        around.key = { path: around.path + step(keyOf(token)), start: match.index };
        continue;
      }
      const path = !around ? "$" : around.list ? around.path + step(around.next) : around.key?.path ?? "$";
      const start = around && !around.list ? around.key?.start ?? match.index : match.index;
      if (wanted.has(path) && !found.has(path)) found.set(path, { start, end: match.index + token.length, line: 0 });
      if (token === "{" || token === "[") inside.push({ path, next: 0, key: null, list: token === "[" });
    }
  }
  return found;
}

/** The offset at which each line begins. @param {string} text */
export function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** The number of the line that an offset is on, counted from zero. @param {number[]} starts  @param {number} offset */
export function lineAt(starts, offset) {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * The frames of a stream in its text: where the JSON of each begins and ends.
 * @param {string} text
 * @returns {{ start: number, end: number }[]}
 */
export function framesOf(text) {
  const events = /^\s*(?:data|event|id|retry)?:/.test(text);
  const frames = [];
  let at = 0;
  for (const line of text.split("\n")) {
    const lead = events ? /^data: ?/.exec(line)?.[0].length : line.trim() ? 0 : undefined;
    if (lead !== undefined) frames.push({ start: at + lead, end: at + line.length });
    at += line.length + 1;
  }
  return frames;
}

/**
 * The places of losses: of a path in JSON, of a frame and a path in it (`#12 $.delta.text`), or of a
 * line of a file (`session.jsonl:19`).
 * @param {string} text
 * @param {string[]} all
 * @returns {Map<string, Place>}
 */
export function placesIn(text, all) {
  const found = placesOf(text, all.filter((at) => at.startsWith("$")));
  const starts = lineStarts(text);
  const frames = all.some((at) => at.startsWith("#")) ? framesOf(text) : [];
  for (const at of all) {
    const [, number, path] = /^#(\d+)(?: (.*))?$/.exec(at) ?? [];
    const frame = frames[Number(number) - 1];
    const line = /:(\d+)(?:-\d+)?$/.exec(at);
    if (frame) found.set(at, inFrame(text, frame, path, starts));
    else if (!at.startsWith("$") && line && starts[Number(line[1]) - 1] !== undefined) {
      const number = Number(line[1]) - 1;
      found.set(at, { start: starts[number], end: starts[number + 1] ?? text.length, line: number });
    }
  }
  return found;
}

/** @param {string} text  @param {{ start: number, end: number }} frame  @param {string | undefined} path  @param {number[]} starts */
function inFrame(text, frame, path, starts) {
  const inner = path ? placesOf(text.slice(frame.start, frame.end), [path]).get(path) : undefined;
  const start = frame.start + (inner?.start ?? 0);
  const end = inner ? frame.start + inner.end : frame.end;
  return { start, end, line: lineAt(starts, start) };
}
