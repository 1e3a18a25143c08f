"""Streams of OpenRouter: those of Chat Completions, with thinking and errors of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from openrouter.components import ChatStreamChunk

import interlingua as il
from interlingua.dialects.anthropic import DIALECT as ANTHROPIC
from interlingua.dialects.openrouter import DIALECT
from interlingua.model.base import same
from interlingua.model.events import (
    BlockDelta,
    BlockStart,
    Event,
    MessageStart,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.streams import sse
from tests.dialects.openai_chat import streaming
from tests.dialects.openai_chat.streaming import (
    BEGUN,
    COUNTS,
    DONE,
    body,
    chunk,
    deltas,
    talk,
    words,
)
from tests.effort import examples
from tests.laws import laws, strategies

FORMAT = "anthropic-claude-v1"


def goes_home(wires: list[Any]) -> list[Event]:
    return streaming.goes_home(wires, DIALECT)


def read(wires: list[Any]) -> list[Event]:
    return streaming.read(wires, DIALECT)


def abroad(events: list[Event]) -> tuple[list[Any], Any]:
    """What is written for others' events, once the official types have accepted it."""
    wires, report = streaming.abroad(events, DIALECT)
    for wire in wires:
        if wire != DONE and "choices" in wire:
            ChatStreamChunk.model_validate(wire)
    return wires, report


def whole(message: dict[str, Any], word: Any = "stop") -> il.Response:
    return DIALECT.read_response(body(message, word))


def thought(text: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    """A delta with a piece of thinking, said twice, as the service does."""
    item: dict[str, Any] = {"type": "reasoning.text", "format": FORMAT, "index": index, **more}
    if text is not None:
        item["text"] = text
    return {"content": "", "reasoning": text, "reasoning_details": [item]}


# -- reading --------------------------------------------------------------------------------------


def test_the_name_of_a_chat_answer_is_in_its_stream() -> None:
    begun = streaming.chunk({"role": "assistant", "name": "bob", "content": "Hi"})
    wires = [json.dumps(each) for each in (begun, streaming.chunk({}, "stop"))]
    raw = [f"data: {wire}\n\n".encode() for wire in (*wires, "[DONE]")]
    done = il.stream_convert(raw, "openai-chat", "openrouter")
    assert b'"name":"bob"' in b"".join(done)


def test_thinking_that_is_said_twice_is_told_once_and_signed_late() -> None:
    collected = [
        thought("", signature=""),
        thought("H"),
        thought("m"),
        thought("!"),
        thought(signature="sig"),
        {"content": "a", "reasoning": None, "reasoning_details": []},
    ]
    events = goes_home(talk(*collected))
    assert [event.text for event in events if isinstance(event, ThinkingDelta)] == ["H", "m", "!"]
    signatures = [event.value for event in events if isinstance(event, BlockDelta)]
    assert signatures == ["sig"]
    folded = il.fold(events)
    assert folded.message.content == (il.ThinkingBlock("Hm!", "sig"), il.TextBlock("a"))
    item = {"type": "reasoning.text", "text": "Hm!", "signature": "sig", "index": 0}
    message = {
        "content": "a",
        "reasoning": "Hm!",
        "reasoning_details": [{**item, "format": FORMAT}],
    }
    assert folded == whole(message)
    assert same(DIALECT.write_response(folded).wire["choices"], body(message)["choices"])


def test_pieces_with_the_same_type_and_index_are_one_thought() -> None:
    collected = [
        thought("a", 0),
        thought("b", 1),
        thought("c", 1),
        {
            "reasoning": "d",
            "reasoning_details": [{"type": "reasoning.summary", "summary": "d", "index": 1}],
        },
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz", "index": 2}]},
    ]
    folded = il.fold(goes_home(talk(*collected)))
    assert folded.message.content == (
        il.ThinkingBlock("a"),
        il.ThinkingBlock("bc"),
        il.ThinkingBlock("d"),
        il.RedactedThinkingBlock("xyz"),
    )


def test_a_tool_that_the_service_ran_is_told_whole() -> None:
    item = {
        "type": "reasoning.server_tool_call",
        "tool_name": "openrouter:web_search",
        "tool_call_id": "srv_1",
        "arguments": '{"query":"x"}',
        "result": "found",
        "index": 0,
    }
    events = goes_home(talk({"reasoning_details": [item]}, *words("a")))
    starts = [event for event in events if isinstance(event, ToolUseStart)]
    assert [(start.name, start.executor) for start in starts] == [
        ("openrouter:web_search", "provider")
    ]
    assert [e.text for e in events if isinstance(e, ToolUseInputDelta)] == ['{"query":"x"}']
    assert il.fold(events) == whole({"content": "a", "reasoning_details": [item]})


def test_pictures_are_told_whole() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    events = goes_home(talk(*words("a"), {"images": [image]}))
    starts = [event.block for event in events if isinstance(event, BlockStart)]
    assert isinstance(starts[1], il.ImageBlock)
    assert il.fold(events) == whole({"content": "a", "images": [image]})


def test_what_the_service_says_of_itself_goes_home_and_outlives_the_stream() -> None:
    wires = [
        {**chunk({"role": "assistant", "content": piece}), "provider": "Anthropic"}
        for piece in ("", "a", "b", "c")
    ]
    for wire in wires:
        wire["choices"][0]["native_finish_reason"] = None
    last = chunk({"role": "assistant", "content": ""}, "stop", usage={**COUNTS, "cost": 0.5})
    last["choices"][0]["native_finish_reason"] = "end_turn"
    last["provider"] = "Anthropic"
    folded = il.fold(goes_home([*wires, last, {**last, "usage": COUNTS}, DONE]))
    written = DIALECT.write_response(folded).wire
    assert written["provider"] == "Anthropic"
    assert written["choices"][0]["native_finish_reason"] == "end_turn"
    assert written["choices"][0]["message"]["content"] == "abc"


def test_lines_that_keep_the_connection_alive_say_nothing() -> None:
    data = b": OPENROUTER PROCESSING\n\n".join(
        [b"", *(sse.encode(streaming.frame(wire)) for wire in talk(*words("a", "b")))]
    )
    decoder = sse.Decoder()
    frames = [*decoder.feed(data), *decoder.close()]
    assert il.fold(read(list(frames))) == il.fold(read(talk(*words("a", "b"))))


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", "!"])
def test_an_error_inside_a_chunk_ends_the_stream_with_what_had_arrived(content: str) -> None:
    error = {"code": 502, "message": "Upstream broke", "metadata": {"error_type": "server"}}
    failed = chunk({"content": content}, "error", error=error, provider="Anthropic")
    events = goes_home([*talk(*words("a", "b"))[:3], failed, DONE])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.SERVER_ERROR
    assert (last.error.status, last.error.code) == (502, "server")
    assert last.partial is not None
    assert last.partial.text == "ab" + content
    assert last.partial.metadata.status is il.MessageStatus.ERROR


def test_an_error_that_stands_alone_ends_the_stream() -> None:
    events = goes_home([BEGUN, {"error": {"code": 429, "message": "Slow down"}}])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.RATE_LIMIT


def test_an_error_of_others_is_said_inside_a_chunk() -> None:
    error = il.ProviderError(il.ErrorKind.SERVER_ERROR, "Overloaded", status=529)
    wires, _ = abroad([MessageStart("m", "r"), TextDelta(0, "a"), StreamError(error)])
    failed, end = wires[-2:]
    assert end == DONE
    assert failed["error"] == {"message": "Overloaded", "code": 529}
    assert failed["choices"][0]["finish_reason"] == "error"
    last = read(wires)[-1]
    assert isinstance(last, StreamError)
    assert last.error == error
    assert last.partial is not None
    assert last.partial.text == "a"


@pytest.mark.parametrize("cut", range(5))
def test_a_stream_that_is_cut_before_its_reason_is_never_complete(cut: int) -> None:
    events = read(talk(thought("H"), thought("m"), *words("a"))[:cut])
    assert isinstance(events[-1], StreamError)


# -- abroad ---------------------------------------------------------------------------------------


def answer(*content: il.Block, **metadata: Any) -> il.Response:
    fields = {"stop_reason": il.StopReason.END_TURN, **metadata}
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**fields)))


def test_thinking_is_said_twice_and_signed_at_its_end() -> None:
    content = (
        il.ThinkingBlock("Hm", "sig"),
        il.RedactedThinkingBlock("xyz"),
        il.ThinkingBlock("So"),
        il.TextBlock("a"),
    )
    wires, report = abroad(il.unfold(answer(*content)))
    item = {"type": "reasoning.text", "format": "unknown"}
    assert deltas(wires) == [
        {"reasoning": "Hm", "reasoning_details": [{**item, "text": "Hm", "index": 0}]},
        {"reasoning_details": [{**item, "signature": "sig", "index": 0}]},
        {
            "reasoning_details": [
                {"type": "reasoning.encrypted", "data": "xyz", "format": "unknown", "index": 1}
            ]
        },
        {"reasoning": "So", "reasoning_details": [{**item, "text": "So", "index": 2}]},
        {"content": "a"},
    ]
    assert il.fold(goes_home(wires)).message.content == content
    assert list(report.entries) == []


def test_thinking_names_the_format_of_whoever_made_it() -> None:
    response = answer(il.ThinkingBlock("Hm", "sig"), il.TextBlock("a"))
    source, reader = ANTHROPIC.stream_writer(), ANTHROPIC.stream_reader()
    frames = [each for event in il.unfold(response) for each in source.feed(event)]
    writer = DIALECT.stream_writer()
    written = [w for f in frames for event in reader.feed(f) for w in writer.feed(event)]
    converted = il.stream_convert(map(sse.encode, frames), "anthropic", "openrouter")
    decoder = sse.Decoder()
    emitted = [*decoder.feed(b"".join(converted)), *decoder.close()]
    for each in (written, emitted):
        wires = [json.loads(frame.data) for frame in each[:-1]]
        details = [item for delta in deltas(wires) for item in delta.get("reasoning_details", ())]
        assert {item["format"] for item in details} == {FORMAT}


@given(strategies.responses())
@settings(max_examples=examples(60))
def test_a_stream_keeps_what_a_whole_answer_keeps(response: il.Response) -> None:
    wires, report = abroad(il.unfold(response))
    back = il.fold(read(wires))
    if response.error is not None:
        assert laws.compare(response, back, list(report.entries)) == []
        return
    written = DIALECT.write_response(response)
    assert list(report.entries) == list(written.report.entries)
    assert laws.same_facts(back, DIALECT.read_response(written.wire))
