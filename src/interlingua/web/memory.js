// A session that is here as a whole, told page by page.

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
    link,
    href,
    go,
  };

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
