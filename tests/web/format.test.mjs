// Numbers, addresses and charts of the page, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { plain } from "../../src/interlingua/web/admin.js";
import { difference } from "../../src/interlingua/web/differences.js";
import { nice, scale } from "../../src/interlingua/web/charts.js";
import { programs } from "../../src/interlingua/web/connect.js";
import { ago, clock, count, decimals, money, percent, plural, took, when } from "../../src/interlingua/web/format.js";
import { usualFirst } from "../../src/interlingua/web/playground.js";
import { phases } from "../../src/interlingua/web/request.js";
import { address, moved, placeOf } from "../../src/interlingua/web/route.js";

test("money has as many digits as matter, and no noise", () => {
  const shown = { 0: "$0", 0.0006: "$0.0006", 0.00579: "$0.0058", 0.5: "$0.50", 12.345: "$12.35", 1234.5: "$1,235" };
  for (const [value, text] of Object.entries(shown)) assert.equal(money(value), text);
  assert.equal(money(null), "");
  assert.equal(money("x"), "");
  assert.equal(money("0.2257062000000000031"), "$0.23");
});

test("dollars in a column have the same decimals", () => {
  const column = [0.057, "0.04", 0.1, null];
  const least = decimals(column);
  assert.deepEqual(column.map((value) => money(value, least)), ["$0.057", "$0.040", "$0.100", ""]);
  assert.equal(decimals([12.5, 0.5]), 2);
  assert.equal(decimals([0.0000123]), 4);
  assert.equal(money(0.003, 4), "$0.0030");
  assert.equal(money(3, 4), "$3.00");
});

test("changes of settings are told in words", () => {
  assert.equal(plain("daily_cap_usd", "30"), "$30.00");
  assert.match(plain("revoked_at", "2026-11-19T20:02:40.389346Z"), /2026.* \d\d:02:40$/);
  assert.equal(plain("models", ["a", "b"]), "a, b");
  assert.equal(plain("models", []), "none");
  assert.equal(plain("status", "revoked"), "revoked");
  assert.equal(plain("status", null), "none");
});

test("hours are counted from 0 to 23", () => {
  assert.match(when("2026-01-02T00:05:06"), /2026.* 00:05:06$/);
  assert.match(clock("2026-01-02T13:05:06", true), /13:05:06$/);
  assert.equal(when("x"), "");
});

test("the playground begins with routes and the newest model of each provider", () => {
  const offered = ["a:old", "a:new", "a:small", "b:only", "local:tiny", "fast", "c:unknown"];
  const named = { "a:new": ["big"], "a:small": ["small"], "b:only": ["other"], "local:tiny": ["local"] };
  const usual = usualFirst(offered.map((id) => ({ id, aliases: named[id] ?? [] })));
  assert.deepEqual(usual, ["fast", "a:new", "b:only", "a:small", "a:old", "c:unknown", "local:tiny"]);
});

test("counts, times and shares are short", () => {
  assert.equal(count(9999), "9,999");
  assert.equal(count(1_234_567), "1.2M");
  assert.equal(took(950), "950 ms");
  assert.equal(took(1234), "1.2 s");
  assert.equal(took(125_000), "2 min 5 s");
  assert.equal(percent(0, 10), "0 %");
  assert.equal(percent(1, 5000), "< 0.1 %");
  assert.equal(percent(1, 0), "–");
  assert.equal(plural(1, "loss", "losses"), "1 loss");
  assert.equal(plural(2, "loss", "losses"), "2 losses");
});

test("times are told from now", () => {
  const now = Date.parse("2026-11-18T12:00:00Z");
  assert.equal(ago(now - 10_000, now), "just now");
  assert.equal(ago(now - 5 * 60_000, now), "5 min ago");
  assert.equal(ago(now - 3 * 3_600_000, now), "3 h ago");
  assert.equal(ago(now - 2 * 86_400_000, now), "2 d ago");
  assert.equal(ago("nonsense", now), "");
});

test("an address is a view, what it shows, and a part of that", () => {
  assert.deepEqual(placeOf("/", ""), { name: "overview", id: null, part: null });
  assert.deepEqual(placeOf("/sessions/a%20b", "#m1"), { name: "sessions", id: "a b", part: "m1" });
  assert.equal(placeOf("/sessions/a/b", "").name, "missing");
  assert.equal(placeOf("/constructor", "").name, "missing");
  assert.equal(placeOf("/sessions/%E0%A4%A", "").id, null);
  assert.equal(address("sessions", "codex:1/2", "m"), "/sessions/codex%3A1%2F2#m");
  assert.deepEqual(placeOf("/sessions/codex%3A1%2F2", ""), { name: "sessions", id: "codex:1/2", part: null });
});

test("addresses of before lead to those of now", () => {
  assert.equal(moved("#/tasks/1"), "/tasks/1");
  assert.equal(moved("#/sessions/1/m2"), "/sessions/1#m2");
  assert.equal(moved("#main"), null);
});

test("a scale ends at a round number that is not below the highest", () => {
  for (const [value, top] of [[0, 0], [7, 8], [65, 80], [100, 100], [101, 200], [240, 300], [0.03, 0.03]]) {
    assert.ok(Math.abs(nice(value) - top) < 1e-9, `${value}`);
  }
});

test("the middle of a scale of counts is a count, too", () => {
  for (const [values, top] of [[[1], 2], [[0, 3], 4], [[5], 6], [[30], 30], [[0.5], 0.5], [[0], 0]]) assert.equal(scale(values), top);
});

test("the phases of a request add up to its time", () => {
  const rows = [
    { duration_ms: 900, first_byte_ms: 300, tries: [{ waited: 0 }, { waited: 0.1 }] },
    { duration_ms: 40, first_byte_ms: null },
    { duration_ms: 0, first_byte_ms: 0, tries: [] },
    { duration_ms: 500, first_byte_ms: 100, tries: [{ waited: 60 }] },
    { duration_ms: 900, first_byte_ms: 500, tries: [{ model: "a", kind: "server_error", took: 0.2 }, { model: "b", waited: 0.1 }] },
    { duration_ms: 300, first_byte_ms: null, tries: [{ model: "a", kind: "network", took: 9 }] },
  ];
  for (const row of rows) {
    const parts = phases(row);
    assert.ok(parts.length >= 1);
    assert.equal(parts.reduce((all, [, ms]) => all + ms, 0), row.duration_ms);
    assert.ok(parts.every(([, ms]) => ms >= 0));
  }
  const told = phases(rows[4]).map(([words, ms]) => `${words} ${ms}`);
  assert.deepEqual(told, ["a: server_error 200", "Pause before the next attempt 100", "Until the first byte of b 200", "Streaming 400"]);
});

test("a file that would be written is compared line by line", () => {
  const signs = (before, after) => difference(before, after).map(({ sign, text }) => `${sign}${text}`);
  assert.deepEqual(signs("a\nb\nc\n", "a\nB\nc\n"), [" a", "-b", "+B", " c"]);
  assert.deepEqual(signs(null, "x\n"), ["+x"]);
  assert.deepEqual(signs("same\n", "same\n"), []);
});

test("each program to copy names this gateway, the model and the key", () => {
  for (const [name, text] of programs("http://host:1", "m", "k3y")) {
    assert.ok(text.includes("http://host:1"), name);
    assert.ok(text.includes("m"), name);
    if (name !== "Codex") assert.ok(text.includes("k3y"), name);
  }
});
