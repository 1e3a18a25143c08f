import assert from "node:assert/strict";
import { test } from "node:test";

import { framesOf, placesIn, placesOf } from "../../src/interlingua/web/jsonplaces.js";

const cut = (text, { start, end }) => text.slice(start, end);

test("a place is the key with its value, in any formatting", () => {
  const pretty = JSON.stringify({ a: [{ b: 1 }, { "x y": "z" }], seed: 7 }, null, 2);
  for (const text of [pretty, JSON.stringify(JSON.parse(pretty))]) {
    const found = placesOf(text, ["$.seed", "$.a[0].b", "$.a[1]['x y']", "$.a[1]"]);
    assert.match(cut(text, found.get("$.seed")), /^"seed": ?7$/);
    assert.match(cut(text, found.get("$.a[0].b")), /^"b": ?1$/);
    assert.match(cut(text, found.get("$.a[1]['x y']")), /^"x y": ?"z"$/);
    assert.equal(cut(text, found.get("$.a[1]")), "{");
  }
  assert.equal(placesOf(pretty, ["$.seed"]).get("$.seed").line, 9);
});

test("a missing key is at what should hold it, and braces in strings are text", () => {
  const text = '{"a": {"b": "}]{"}, "c": 2}';
  const found = placesOf(text, ["$.a.nothing", "$.c"]);
  assert.equal(cut(text, found.get("$.a.nothing")), '"a": {');
  assert.equal(cut(text, found.get("$.c")), '"c": 2');
});

test("an unfinished text has places up to its end", () => {
  assert.equal(placesOf('{"a": 1, "b": [2, ', ["$.b[0]"]).get("$.b[0]").start, 15);
});

test("frames of server-sent events and of lines, and lines of files", () => {
  const events = 'event: a\ndata: {"x": 1}\n\ndata: {"delta": {"text": "hi"}}\n\n';
  assert.equal(framesOf(events).length, 2);
  assert.equal(cut(events, placesIn(events, ["#2 $.delta.text"]).get("#2 $.delta.text")), '"text": "hi"');
  const lines = '{"a": 1}\n{"a": 2}\n';
  assert.equal(cut(lines, placesIn(lines, ["#2 $.a"]).get("#2 $.a")), '"a": 2');
  assert.equal(placesIn(lines, ["session.jsonl:2"]).get("session.jsonl:2").line, 1);
});
