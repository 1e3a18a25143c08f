// A part of a long conversation: pages come as one scrolls there, and go at the other end.

import { fill, h } from "./dom.js";

const PAGE = 100;
const MOST = 4;
const NEAR = 600;

export class Window {
  /** `source.page(query)` gives messages in order, and whether there are earlier and later ones;
   *  `draw(message)` an element; `seen()` is called when others are shown. */
  constructor(source, draw, scroller, seen) {
    this.source = source;
    this.draw = draw;
    this.scroller = scroller;
    this.seen = seen;
    this.pages = [];
    this.log = h("div", { role: "log", "aria-label": "Conversation", tabindex: 0 });
    this.earlier = h("button", { type: "button", hidden: true, onclick: () => this.more(false) }, "Earlier messages");
    this.later = h("button", { type: "button", hidden: true, onclick: () => this.more(true) }, "Later messages");
    this.busy = false;
  }

  get messages() {
    return this.pages.flatMap((page) => page.messages);
  }

  /** The messages that are here as JSON, with all their digits. */
  get text() {
    return `[${this.pages.map((page) => page.text).filter(Boolean).join(",")}]`;
  }

  /** Show the end, or what is around a message. */
  async open(id) {
    const page = await this.source.page(id ? { around: id, limit: PAGE } : { limit: PAGE });
    this.pages = [this.made(page)];
    fill(this.log, this.pages[0].element);
    [this.earlier.hidden, this.later.hidden] = [!page.has_earlier, !page.has_later];
    this.seen();
  }

  made({ messages, text }) {
    return { messages, text, element: h("div", {}, messages.map(this.draw)) };
  }

  /** One page more at one end; what is too much goes at the other. What is seen stays in place. */
  async more(below) {
    if (this.busy) return;
    this.busy = true;
    try {
      const at = below ? this.pages.at(-1).messages.at(-1) : this.pages[0].messages[0];
      const page = await this.source.page({ [below ? "after" : "before"]: at.id, limit: PAGE });
      this.keepingPlace(() => this.add(this.made(page), below));
      if (below) this.later.hidden = !page.has_later;
      else this.earlier.hidden = !page.has_earlier;
      this.seen();
    } finally {
      this.busy = false;
    }
  }

  add(page, below) {
    if (below) this.pages.push(page);
    else this.pages.unshift(page);
    this.log[below ? "append" : "prepend"](page.element);
    if (this.pages.length <= MOST) return;
    const gone = below ? this.pages.shift() : this.pages.pop();
    gone.element.remove();
    (below ? this.earlier : this.later).hidden = false;
  }

  /** What is read stays where it is; at the very top that is the head, which may grow. */
  keepingPlace(change, fromTop = false) {
    if (fromTop && !this.scroller.scrollTop) return change();
    const top = (element) => element.getBoundingClientRect().top;
    const seen = [...this.log.querySelectorAll("article")].find((each) => each.getBoundingClientRect().bottom > 0);
    const before = seen ? top(seen) : 0;
    change();
    if (seen?.isConnected) this.scroller.scrollTop += top(seen) - before;
  }

  /** Pages come by themselves from now on, until `signal` aborts. */
  follow(signal) {
    const scrolled = () => {
      const { top, bottom } = this.scroller.getBoundingClientRect();
      const here = this.log.getBoundingClientRect();
      if (!this.earlier.hidden && here.top > top - NEAR) this.more(false);
      else if (!this.later.hidden && here.bottom < bottom + NEAR) this.more(true);
    };
    this.scroller.addEventListener("scroll", scrolled, { passive: true, signal });
  }

  find(id) {
    return [...this.log.querySelectorAll("article")].find((each) => each.dataset.message === id);
  }
}
