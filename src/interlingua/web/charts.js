// Charts, drawn by hand as SVG: bars and lines over time, and shares. Their words are HTML, so that they
// are never stretched; what a chart shows is in its name, and the values under the pointer above it.

import { fill, h, s } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 120;
const LABELS = 7; // below a chart, at most
const VIEW = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };

/**
 * @typedef {{ at: string | number, values: (number | null)[] }} Point
 * @typedef {{ label: string, points: Point[], parts: string[], shown: (value: number) => string,
 *   when: (at: string | number) => string, tick?: (at: string | number) => string, titles?: string[] }} Options
 */

/**
 * Bars over time. `parts` are stacked, the first one at the bottom; `titles` are their names.
 * @param {Options} options
 */
export function bars(options) {
  const { label, points, parts, shown, when } = options;
  const sums = points.map(({ values }) => values.reduce((all, each) => all + (each ?? 0), 0));
  const top = scale(sums);
  const drawn = s("svg", { class: "chart", role: "img", "aria-label": words(label, points, sums, shown, when), ...VIEW }, columns(points, parts, top));
  const said = (/** @type {number} */ at) => {
    const several = options.titles && points[at].values.filter(Boolean).length > 1;
    return several ? `${shown(sums[at])} (${each(options, points[at])})` : shown(sums[at]);
  };
  return plot(drawn, options, top, said);
}

/** @param {Point[]} points  @param {string[]} parts  @param {number} top */
function columns(points, parts, top) {
  const step = WIDTH / Math.max(points.length, 1);
  const width = Math.max(step * (points.length > 40 ? 0.9 : 0.72), 1);
  return points.map(({ values }, number) => {
    let bottom = HEIGHT;
    return values.map((value, part) => {
      const height = top ? (HEIGHT * (value ?? 0)) / top : 0;
      bottom -= height;
      const place = { x: (number * step + (step - width) / 2).toFixed(2), y: bottom.toFixed(2), width: width.toFixed(2) };
      return height > 0 ? s("rect", { class: `part ${parts[part]}`, ...place, height: height.toFixed(2) }) : null;
    });
  });
}

/**
 * A course without words beside it, for a tile or a row; `top` is the value of full height.
 * @param {string | null} label  @param {(number | null)[]} values  @param {string} tone  @param {number} [top]
 */
export function spark(label, values, tone, top = Math.max(...values, 0)) {
  const named = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  const step = WIDTH / Math.max(values.length - 1, 1);
  const height = (/** @type {number} */ value) => (HEIGHT - 8 - ((HEIGHT - 16) * value) / (top || 1)).toFixed(1);
  const runs = [[]];
  values.forEach((value, at) => (value === null ? runs.push([]) : runs.at(-1).push(`${(at * step).toFixed(1)} ${height(value)}`)));
  const known = runs.filter((run) => run.length);
  const end = (/** @type {string} */ point) => point.split(" ")[0];
  const areas = known.map((run) => `M${end(run[0])} ${HEIGHT}L${run.join("L")}L${end(run.at(-1))} ${HEIGHT}Z`);
  const quiet = top ? tone : "none";
  const strokes = known.map((run) => `M${run.join("L")}`);
  return s("svg", { class: "chart spark", ...named, ...VIEW }, s("path", { class: `area ${quiet}`, d: areas.join("") }), stroke(quiet, strokes.join("")), dots(quiet, known.filter((run) => run.length === 1).flat()));
}

/** @param {string} tone  @param {string} d */
function stroke(tone, d) {
  return s("path", { class: `line ${tone}`, d, "vector-effect": "non-scaling-stroke" });
}

/** Points that no line goes to or from. @param {string} tone  @param {string[]} places */
function dots(tone, places) {
  return places.length ? stroke(`dot ${tone}`, places.map((each) => `M${each}h.01`).join("")) : null;
}

/**
 * What every chart has around it: its scale, the values under the pointer, times below (`tick` is the
 * short form of `when`).
 * @param {SVGElement} drawn  @param {Options} options  @param {number} top  @param {(at: number) => string} said
 */
function plot(drawn, { points, shown, when, tick = when }, top, said) {
  const tip = h("p", { class: "tip" });
  drawn.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const box = drawn.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * points.length);
    if (points[at]) fill(tip, h("strong", {}, when(points[at].at)), ` ${said(at)}`);
  });
  drawn.addEventListener("pointerleave", () => fill(tip));
  const ticks = top ? [shown(top), shown(top / 2), shown(0)] : [];
  return h("div", { class: "bars" }, tip, h("div", { class: "plot" }, h("div", { class: "ticks", "aria-hidden": "true" }, ticks.map((text) => h("span", {}, text))), drawn, times(points, tick)));
}

/** Some of the times, each below the first bar of its group. @param {Point[]} points  @param {(at: string | number) => string} when */
function times(points, when) {
  const step = Math.max(1, Math.ceil(points.length / LABELS));
  const made = [];
  for (let at = 0; at < points.length; at += step) {
    const label = h("span", {}, when(points[at].at));
    label.style.flexGrow = String(Math.min(step, points.length - at));
    made.push(label);
  }
  return h("div", { class: step > 1 ? "times" : "times each", "aria-hidden": "true" }, made);
}

/** @param {Options} options  @param {Point} point */
function each({ parts, titles, shown }, { values }) {
  return values
    .map((value, which) => (value ? `${(titles ?? parts)[which]} ${shown(value)}` : null))
    .filter(Boolean)
    .join(", ");
}

/** The end of a scale; whole numbers have one whose half is whole, too. @param {number[]} values */
export function scale(values) {
  const top = nice(Math.max(...values, 0));
  return top % 2 === 1 && values.every(Number.isInteger) ? top + 1 : top;
}

/** The next round number, whose half is round, too. @param {number} value */
export function nice(value) {
  if (value <= 0) return 0;
  const unit = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 3, 4, 5, 6, 8, 10].find((each) => each * unit >= value * 0.999);
  return (found ?? 10) * unit;
}

/**
 * What a chart says, in a sentence.
 * @param {string} label  @param {{ at: string | number }[]} points  @param {number[]} sums
 * @param {(value: number) => string} shown  @param {(at: string | number) => string} when
 */
function words(label, points, sums, shown, when) {
  const highest = Math.max(...sums, 0);
  if (!highest) return `${label}: none`;
  return `${label}: at most ${shown(highest)}, at ${when(points[sums.indexOf(highest)].at)}`;
}

/**
 * Lines over time, on one scale; periods without a value are gaps.
 * @param {Options} options
 */
export function lines(options) {
  const { label, points, parts, shown, when } = options;
  const all = points.flatMap(({ values }) => values).filter((each) => each !== null);
  const top = scale(all);
  const step = WIDTH / Math.max(points.length, 1);
  const place = (/** @type {number} */ number, /** @type {number} */ value) =>
    `${((number + 0.5) * step).toFixed(1)} ${(HEIGHT - (HEIGHT * value) / (top || 1)).toFixed(1)}`;
  const drawn = parts.map((part, which) => {
    let pen = "M";
    const alone = [];
    const path = points.map(({ values }, number) => {
      const value = values[which];
      if (value === null) {
        pen = "M";
        return "";
      }
      const piece = `${pen}${place(number, value)}`;
      if (pen === "M" && (points[number + 1]?.values[which] ?? null) === null) alone.push(place(number, value));
      pen = "L";
      return piece;
    });
    return [stroke(part, path.join("")), dots(part, alone)];
  });
  const highest = points.map(({ values }) => Math.max(...values.map((each) => each ?? 0), 0));
  const picture = s("svg", { class: "chart", role: "img", "aria-label": words(label, points, highest, shown, when), ...VIEW }, drawn);
  return plot(picture, options, top, (at) => each(options, points[at]));
}

/** A bar as long as a share; its number stands beside it. @param {number} share  @param {string} [tone] */
export function share(share, tone = "main") {
  const width = (100 * Math.min(Math.max(share, 0), 1)).toFixed(1);
  return s(
    "svg",
    { class: "chart share", viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "track", width: 100, height: 4 }),
    s("rect", { class: `part ${tone}`, width, height: 4 }),
  );
}
