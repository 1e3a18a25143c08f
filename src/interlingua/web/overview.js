// The first page: what is going on, and how to connect.

import { connectCard, firstRequest, models } from "./connect.js";
import { fill, h } from "./dom.js";
import { icon } from "./icons.js";
import { head } from "./parts.js";
import { address } from "./route.js";

export async function overviewView(element) {
  const names = await models();
  const task = h("a", { href: address("tasks"), class: "button" }, icon("plus"), "New task");
  fill(element, head("Overview", `This gateway is at ${location.origin}.`, task), h("div", { class: "stack" }, connectCard(names), firstRequest(names, () => {})));
}
