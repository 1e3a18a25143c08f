// A session that is here as a whole, told page by page.

const MOST = 20; // messages that a search finds
const NEAR = 60; // characters on both sides of a word that was found
const WORDLESS = new Set(["type", "id", "tool_use_id", "signature", "kind", "media_type", "data", "raw"]);

/** What `transcript` asks: `link` and `href` make addresses of messages and sessions, `go` goes there. */
export function memorySource({ row, messages, summary }, { link, href, go }) {
  const places = new Map(messages.map(({ id }, place) => [id, place]));
  return {
    row,
    page: async ({ limit, before, after, around }) => {
      const [start, end] = range(limit, places.get(before), places.get(after), places.get(around));
      const part = messages.slice(start, end);
      return { messages: part, text: null, has_earlier: start > 0, has_later: end < messages.length };
    },
    summary: async () => summary,
    search: async (words) => found(words.toLowerCase().split(/\s+/)),
    link,
    href,
    go,
  };

  /** Messages that have all of these words, the newest first, with what stands around the first one. */
  function found(words) {
    const hits = messages.map((each) => ({ message_id: each.id, role: each.role, text: textIn(each.content) }));
    const fit = hits.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
    return fit.slice(-MOST).reverse().map(({ text, ...hit }) => ({ ...hit, snippet: around(text, words[0]) }));
  }

  function range(limit, before, after, around) {
    if (after !== undefined) return [after + 1, Math.min(messages.length, after + 1 + limit)];
    if (around !== undefined) {
      const start = Math.max(0, around - Math.floor(limit / 2));
      return [start, Math.min(messages.length, start + limit)];
    }
    const end = before ?? messages.length;
    return [Math.max(0, end - limit), end];
  }
}

/** All texts in a value, however deep; names of kinds, ids, signatures and bytes are no words. */
function textIn(value) {
  if (typeof value === "string") return value;
  if (value === null || typeof value !== "object") return "";
  const said = Object.entries(value).filter(([name]) => !WORDLESS.has(name));
  return said.map(([, each]) => textIn(each)).filter(Boolean).join(" ");
}

function around(text, word) {
  const at = text.toLowerCase().indexOf(word);
  const [start, end] = [Math.max(0, at - NEAR), at + word.length + NEAR];
  return `${start ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}
