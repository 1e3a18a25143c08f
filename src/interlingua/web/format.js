// Numbers and times as people read them.

/** @type {Intl.DateTimeFormatOptions} */
export const HOURS = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

/** A count; from ten thousand on, short. @param {number | null | undefined} value */
export function count(value) {
  if (value == null) return "";
  if (value < 10_000) return value.toLocaleString("en");
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/** Dollars, with as many digits as matter; at least so many decimals, where they stand in a column.
 *  @param {string | number | null | undefined} value  @param {number} [least] */
export function money(value, least = 2) {
  if (value == null || value === "") return "";
  const amount = Number(value);
  if (!Number.isFinite(amount)) return "";
  if (amount === 0) return "$0";
  if (Math.abs(amount) >= 1000) return `$${Math.round(amount).toLocaleString("en")}`;
  if (Math.abs(amount) >= 1) return `$${amount.toFixed(2)}`;
  const digits = Math.min(12, 1 - Math.floor(Math.log10(Math.abs(amount))));
  const shortest = amount.toFixed(Math.max(2, digits)).replace(/(\.\d\d+?)0+$/, "$1");
  return `$${shortest.padEnd(shortest.indexOf(".") + 1 + least, "0")}`;
}

/** What one request cost, or several: `?` where no price is known, `+ ?` where a part has none. @param {any} spending */
export function spent({ cost_usd: cost, unpriced }, least = 2) {
  const lacks = Array.isArray(unpriced) ? unpriced.length : unpriced;
  if (!lacks) return money(cost, least);
  return Number(cost) ? `${money(cost, least)} + ?` : "?";
}

/** The decimals of a column of dollars, at most four. @param {(string | number | null | undefined)[]} values */
export function decimals(values) {
  return Math.min(4, Math.max(2, ...values.map((value) => money(value).split(".")[1]?.length ?? 0)));
}

/** A time that something took. @param {number | null | undefined} ms */
export function took(ms) {
  if (ms == null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** @param {number | null | undefined} part  @param {number} [whole] */
export function percent(part, whole = 1) {
  if (part == null || !whole) return "–";
  const value = (100 * part) / whole;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value.toFixed(value === 0 || value >= 10 ? 0 : 1)} %`;
}

/** How long ago, in words. @param {string | number} time  @param {number} [now] */
export function ago(time, now = Date.now()) {
  const seconds = Math.round((now - new Date(time).getTime()) / 1000);
  if (Number.isNaN(seconds)) return "";
  if (seconds < 45) return "just now";
  for (const [size, unit] of /** @type {[number, string][]} */ ([[86_400, "d"], [3600, "h"], [60, "min"]])) {
    if (seconds >= size || unit === "min") {
      const many = Math.max(1, Math.round(seconds / size));
      if (unit === "d" && many > 6) break;
      return `${many} ${unit} ago`;
    }
  }
  return new Date(time).toLocaleDateString(undefined, { month: "short", day: "numeric", year: "numeric" });
}

/** A day and the time of day. @param {string | number} time */
export function when(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  const day = date.toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
  return `${day}, ${date.toLocaleTimeString([], { ...HOURS, second: "2-digit" })}`;
}

/** The time of day; with the day, where that is another one. @param {string | number} time  @param {boolean} [exact] with seconds */
export function clock(time, exact = false) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  /** @type {Intl.DateTimeFormatOptions} */
  const parts = { ...HOURS, ...(exact ? { second: "2-digit" } : {}) };
  const hour = date.toLocaleTimeString([], parts);
  if (date.toDateString() === new Date().toDateString()) return hour;
  return `${date.toLocaleDateString(undefined, { month: "short", day: "numeric" })} ${hour}`;
}

/** One thing or several: `plural(2, "loss", "losses")`. @param {number} value  @param {string} one  @param {string} [many] */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}
