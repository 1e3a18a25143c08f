// Charts, drawn by hand as SVG: bars over time and bars in a row. Their words are HTML, so that they
// are never stretched; what a chart shows is in its name, and the value under the pointer above it.

import { fill, h, s } from "./dom.js";

const WIDTH = 600;
const HEIGHT = 120;

/**
 * Bars over time. `parts` are stacked, the first one at the bottom.
 * @param {{ label: string, points: { at: string | number, values: number[] }[], parts: string[],
 *   shown: (value: number) => string, when: (at: string | number) => string, small?: boolean }} options
 */
export function bars({ label, points, parts, shown, when, small = false }) {
  const sums = points.map(({ values }) => values.reduce((all, each) => all + each, 0));
  const highest = Math.max(...sums, 0);
  const top = small ? highest : nice(highest);
  const step = WIDTH / Math.max(points.length, 1);
  const tip = h("span", { class: "tip" });
  const columns = points.map(({ values }, number) => {
    let bottom = HEIGHT;
    return values.map((value, part) => {
      const height = top ? (HEIGHT * value) / top : 0;
      bottom -= height;
      const width = Math.max(step * (points.length > 40 ? 0.9 : 0.72), 1);
      const place = { x: (number * step + (step - width) / 2).toFixed(2), y: bottom.toFixed(2), width: width.toFixed(2) };
      return s("rect", { class: `part ${parts[part]}`, ...place, height: Math.max(height, 0).toFixed(2) });
    });
  });
  const view = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
  const drawn = s("svg", { class: "chart", role: "img", "aria-label": words(label, points, sums, shown, when), ...view }, columns);
  const describe = (/** @type {PointerEvent} */ event) => {
    const box = drawn.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * points.length);
    if (points[at]) fill(tip, `${when(points[at].at)}: ${shown(sums[at])}`);
  };
  drawn.addEventListener("pointermove", describe);
  drawn.addEventListener("pointerleave", () => fill(tip));
  if (small) return h("div", { class: "bars small" }, drawn);
  const first = points[0];
  const last = points.at(-1);
  return h(
    "div",
    { class: "bars" },
    h("div", { class: "scale" }, h("span", {}, top ? shown(top) : ""), tip),
    drawn,
    h("div", { class: "scale" }, h("span", {}, first ? when(first.at) : ""), h("span", {}, last ? when(last.at) : "")),
  );
}

/** The next round number: 1, 2, 2.5 or 5 times a power of ten. @param {number} value */
export function nice(value) {
  if (value <= 0) return 0;
  const unit = 10 ** Math.floor(Math.log10(value));
  const found = [1, 2, 2.5, 5, 10].find((each) => each * unit >= value * 0.999);
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
 * @param {{ label: string, points: { at: string | number, values: (number | null)[] }[], parts: string[],
 *   shown: (value: number) => string, when: (at: string | number) => string }} options
 */
export function lines({ label, points, parts, shown, when }) {
  const all = points.flatMap(({ values }) => values).filter((each) => each !== null);
  const top = nice(Math.max(...all, 0));
  const step = WIDTH / Math.max(points.length, 1);
  const tip = h("span", { class: "tip" });
  const place = (/** @type {number} */ number, /** @type {number} */ value) =>
    `${((number + 0.5) * step).toFixed(1)} ${(HEIGHT - (HEIGHT * value) / (top || 1)).toFixed(1)}`;
  const drawn = parts.map((part, which) => {
    let pen = "M";
    const path = points.map(({ values }, number) => {
      const value = values[which];
      if (value === null) {
        pen = "M";
        return "";
      }
      const piece = `${pen}${place(number, value)}`;
      const alone = pen === "M" && (points[number + 1]?.values[which] ?? null) === null;
      pen = "L";
      return alone ? `${piece}h.01` : piece;
    });
    return s("path", { class: `line ${part}`, d: path.join(""), "vector-effect": "non-scaling-stroke" });
  });
  const firsts = points.map(({ values }) => values[values.length - 1] ?? 0);
  const view = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
  const picture = s("svg", { class: "chart", role: "img", "aria-label": words(label, points, firsts, shown, when), ...view }, drawn);
  picture.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const box = picture.getBoundingClientRect();
    const point = points[Math.floor(((event.clientX - box.left) / box.width) * points.length)];
    const told = point?.values.map((value, which) => (value === null ? null : `${parts[which]} ${shown(value)}`)).filter(Boolean);
    if (point) fill(tip, told?.length ? `${when(point.at)}: ${told.join(", ")}` : "");
  });
  picture.addEventListener("pointerleave", () => fill(tip));
  return h(
    "div",
    { class: "bars" },
    h("div", { class: "scale" }, h("span", {}, top ? shown(top) : ""), tip),
    picture,
    h("div", { class: "scale" }, h("span", {}, points[0] ? when(points[0].at) : ""), h("span", {}, points.length ? when(points[points.length - 1].at) : "")),
  );
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
