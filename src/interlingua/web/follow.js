// A log that shows its end while it grows, unless somebody has scrolled up to read.

const GESTURES = ["wheel", "touchmove", "keydown", "pointerdown"];
const AFTER = 1000; // milliseconds in which scrolling is due to a gesture

/** `region` scrolls where the page is wide, `outer` where it is narrow. `jump` shows the end again. */
export function followEnd(region, log, outer, signal) {
  let following = true;
  let touched = 0;
  const scroller = () => (region.scrollHeight > region.clientHeight + 1 ? region : outer);
  const missing = (element) => element.scrollHeight - element.scrollTop - element.clientHeight;
  const toEnd = () => {
    const element = scroller();
    if (following && missing(element) >= 1) element.scrollTop = element.scrollHeight;
  };
  const scrolled = () => {
    if (Date.now() - touched < AFTER) following = missing(scroller()) < 80;
  };
  const touch = () => {
    touched = Date.now();
  };
  for (const each of [region, outer]) {
    each.addEventListener("scroll", scrolled, { passive: true, signal });
    for (const name of GESTURES) each.addEventListener(name, touch, { passive: true, signal });
  }
  const watching = new ResizeObserver(toEnd);
  for (const each of [log, region, region.parentElement]) watching.observe(each);
  signal.addEventListener("abort", () => watching.disconnect());
  return {
    jump() {
      following = true;
      touched = 0;
      toEnd();
    },
  };
}
