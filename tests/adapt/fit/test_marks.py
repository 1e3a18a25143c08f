"""Cache marks: where they are taken, and as many."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.adapt.fit.fit import Fitted
from interlingua.model.blocks import Cache, TextBlock
from interlingua.model.message import Message
from tests.adapt.fit.asking import fitted, losses, request, tool, wire
from tests.laws.fits import refusals


def test_marks_of_blocks_that_are_alike_or_the_same_are_counted_one_by_one() -> None:
    same = TextBlock("x" * 9000, cache=Cache())
    for blocks in ([same] * 6, [same.replace() for _ in range(6)]):
        asked = request(Message.user(blocks), max_output_tokens=9)
        done = fitted("anthropic:claude-opus-4-8", asked)
        content = done.value.messages[0].content
        assert [n for n, block in enumerate(content) if block.cache is not None] == [0, 3, 4, 5]
        assert len(done.report.entries) == 2


def test_no_more_cache_marks_than_are_taken() -> None:
    marked = [Message.user([TextBlock(str(n), cache=Cache())]) for n in range(6)]
    done = fitted("anthropic:claude-opus-4-8", request(*marked, max_output_tokens=9))
    remaining = [each.text for each in done.value.messages if each.content[0].cache is not None]
    assert remaining == ["0", "3", "4", "5"]
    assert {loss.severity for loss in done.report.entries} == {"info"}
    assert len(done.report.entries) == 2


def test_no_cache_marks_where_none_are_taken() -> None:
    content = Message.user([TextBlock("a", cache=Cache())])
    asked = request(content, tools=(tool(cache=Cache()),), cache=Cache())
    done = fitted("openai:gpt-4o", asked)
    assert "cache" not in str(wire(done))
    assert len(done.report.entries) == 3


def marked(text: str, ttl: str | None = None) -> TextBlock:
    return TextBlock(text, cache=Cache(ttl))


def times(done: Fitted) -> list[str | None]:
    blocks = [block for message in done.value.messages for block in message.content]
    return [block.cache.ttl for block in blocks if block.cache is not None]


def test_marks_that_nothing_is_cached_by_go_first() -> None:
    blocks = [marked("a"), marked("b" * 20_000), *[marked(word) for word in "cde"]]
    done = fitted(
        "anthropic:claude-opus-4-8", request(il.Message.user(blocks), max_output_tokens=9)
    )
    assert losses(done) == [
        ("dropped", "$.messages[0].content[0].cache", "claude-cache-1024"),
    ]
    few = fitted(
        "anthropic:claude-opus-4-8", request(il.Message.user(blocks[:2]), max_output_tokens=9)
    )
    assert losses(few) == []


def test_a_mark_lasts_as_long_as_it_may() -> None:
    asked = request(il.Message.user([marked("a", "1h"), marked("b", "12h")]), max_output_tokens=9)
    done = fitted("bedrock:anthropic.claude-3-7-sonnet-20250219-v1:0", asked)
    assert times(done) == ["5m", "5m"]
    assert [rule for _, _, rule in losses(done)] == ["claude-bedrock-short-ttl"] * 2
    assert times(fitted("anthropic:claude-opus-4-8", asked)) == ["1h", "1h"]


def test_no_mark_lasts_longer_than_one_before_it() -> None:
    blocks = [marked("a", "1h"), marked("b"), marked("c", "1h")]
    asked = request(il.Message.user(blocks), max_output_tokens=9)
    done = fitted("anthropic:claude-opus-4-8", asked)
    assert times(done) == ["1h", None, "5m"]
    assert losses(done) == [("approximated", "$.messages[0].content[2].cache.ttl", "anthropic-api")]
    before = il.dialect("anthropic").write_request(asked).wire
    found = refusals("anthropic", "anthropic", "claude-opus-4-8", before)
    assert [each.rule for each in found] == ["ANT-TTL-ORDER"]
    assert refusals("anthropic", "anthropic", "claude-opus-4-8", wire(done)) == []


CLAUDE_AT_BEDROCK = "bedrock:us.anthropic.claude-sonnet-4-6"
TEXT_FILE: dict[str, Any] = {
    "type": "document",
    "source": {"type": "text", "media_type": "text/plain", "data": "# Rye"},
}
MARK = {"cache_control": {"type": "ephemeral"}}


def at_bedrock(content: list[Any], **more: Any) -> tuple[list[str], list[str]]:
    """The kinds of the parts of a message there, and what was reported of breakpoints."""
    asked = {"role": "user", "content": content}
    body = {"model": "m", "max_tokens": 9, "messages": [asked], **more}
    written = il.convert(body, "anthropic", "bedrock", model=CLAUDE_AT_BEDROCK)
    kinds = [next(iter(part)) for part in written.wire["messages"][0]["content"]]
    return kinds, [loss.code for loss in written.report.entries if "cache" in loss.code]


def test_bedrock_gets_no_breakpoint_behind_a_document_that_is_no_pdf() -> None:
    text = {"type": "text", "text": "Read."}
    assert at_bedrock([text, {**TEXT_FILE, **MARK}]) == (["text", "document"], ["cache_not_here"])
    kinds, _ = at_bedrock([text, TEXT_FILE], cache_control={"type": "ephemeral"})
    assert kinds == ["text", "cachePoint", "document"]
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
    kinds, _ = at_bedrock([text, {"type": "document", "source": pdf, **MARK}])
    assert kinds == ["text", "document", "cachePoint"]


def test_a_breakpoint_inside_a_result_moves_behind_it_at_bedrock() -> None:
    inner = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two.", **MARK}]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": inner}
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    body = {
        "model": "m",
        "max_tokens": 9,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ],
    }
    written = il.convert(body, "anthropic", "bedrock", model=CLAUDE_AT_BEDROCK)
    (part, point) = written.wire["messages"][2]["content"]
    assert part["toolResult"]["content"] == [{"text": "One."}, {"text": "Two."}]
    assert point == {"cachePoint": {"type": "default"}}
    assert [loss.code for loss in written.report.entries] == ["cache_behind_result"]
