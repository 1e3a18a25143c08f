// Two JSON texts of one value a line, compared line by line.

const AROUND = 2;
const MOST = 4000;
const ASIDE = new Set(["id", "session_id", "created_at", "metadata", "schema_version", "raw"]);

/** The lines that differ, with some around them: `sign` is "-", "+" or " ". What a wire never says
 *  of a message (ids, times, provenance) is left out on both sides. */
export function differences(before, after) {
  const [a, b] = [linesOf(before), linesOf(after)];
  if (a.length > MOST || b.length > MOST) return around(apart(a, b));
  return around(compared(a, b));
}

/** The lines without what is aside, and without the commas at their ends. */
function linesOf(text) {
  const lines = [];
  let skipping = null;
  for (const line of text.split("\n")) {
    const depth = line.length - line.trimStart().length;
    if (skipping !== null) {
      if (depth <= skipping) skipping = null;
      continue;
    }
    const [, key, rest] = /^\s*"([^"]*)": (.*)$/.exec(line) ?? [];
    if (ASIDE.has(key)) {
      if (/^[[{]$/.test(rest)) skipping = depth;
    } else {
      lines.push(line.replace(/,$/, ""));
    }
  }
  return lines;
}

/** The longest common lines stay, all others went or came. */
export function compared(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const width = right.length + 1;
  const table = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const same = left[i] === right[j];
      table[i * width + j] = same ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const out = a.slice(0, start).map((text) => ({ sign: " ", text }));
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      out.push({ sign: " ", text: left[i] });
      [i, j] = [i + 1, j + 1];
    } else if (j === right.length || (i < left.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
      out.push({ sign: "-", text: left[i++] });
    } else {
      out.push({ sign: "+", text: right[j++] });
    }
  }
  return [...out, ...a.slice(a.length - end).map((text) => ({ sign: " ", text }))];
}

/** For very long texts: lines that the other one does not have at all. */
function apart(a, b) {
  const [inA, inB] = [new Set(a), new Set(b)];
  const gone = a.map((text) => ({ sign: inB.has(text) ? " " : "-", text }));
  return [...gone, ...b.filter((text) => !inA.has(text)).map((text) => ({ sign: "+", text }))];
}

export function around(lines) {
  const near = new Set();
  lines.forEach(({ sign }, number) => {
    for (let at = number - AROUND; sign !== " " && at <= number + AROUND; at += 1) near.add(at);
  });
  return lines.filter((_, number) => near.has(number));
}

/**
 * The lines that change, with some around them.
 * @param {string | null} before  @param {string} after
 * @returns {{ sign: "+" | "-" | " ", text: string }[]}
 */
export function difference(before, after) {
  const [a, b] = [fileLines(before ?? ""), fileLines(after)];
  if (before === null || a.length > MOST || b.length > MOST) return b.map((text) => ({ sign: "+", text }));
  return around(compared(a, b));
}

/** @param {string} text */
function fileLines(text) {
  if (!text) return [];
  return text.replace(/\n$/, "").split("\n");
}
