"""Streams of Cohere's v2 chat: home, folded, cut anywhere, and of others."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.cohere import DIALECT
from interlingua.streams import sse
from tests.dialects.cohere.wires import ANSWER, CALLING, CITATION, USAGE, blocks
from tests.laws import cohere_types, streams

START: dict[str, Any] = {
    "type": "message-start",
    "id": "a1",
    "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}},
}


def said(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": kind, **place} | ({"delta": {"message": message}} if message else {})


def end(reason: str = "COMPLETE") -> dict[str, Any]:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": USAGE}}


def frames(*wires: dict[str, Any]) -> list[il.Frame]:
    return [il.Frame(wire["type"], json.dumps(wire)) for wire in wires]


DONE = il.Frame(None, "[DONE]")
TALK = [
    *frames(
        START,
        said("content-start", 0, content={"type": "thinking", "thinking": ""}),
        said("content-delta", 0, content={"thinking": "Hm."}),
        said("content-end", 0),
        said("content-start", 1, content={"type": "text", "text": ""}),
        said("content-delta", 1, content={"text": "Cold "}),
        said("citation-start", 0, citations=CITATION),
        said("citation-end", 0),
        said("content-delta", 1, content={"text": "there."}),
        said("content-end", 1),
        end(),
    ),
    DONE,
]
CALL = {"id": "weather_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
CALLS = [
    *frames(
        START,
        said("tool-plan-delta", tool_plan="I "),
        said("tool-plan-delta", tool_plan="look."),
        said("tool-call-start", 0, tool_calls=CALL),
        said("tool-call-delta", 0, tool_calls={"function": {"arguments": '{"city": '}}),
        said("tool-call-delta", 0, tool_calls={"function": {"arguments": '"Oslo"}'}}),
        said("tool-call-end", 0),
        end("TOOL_CALL"),
    ),
    DONE,
]


@pytest.mark.parametrize("talk", [TALK, CALLS, TALK[:-1]])
def test_a_stream_goes_home_and_folds(talk: list[il.Frame]) -> None:
    assert streams.home(DIALECT, talk) == []
    assert streams.folds(DIALECT, talk) == []


@pytest.mark.parametrize(("talk", "whole"), [(TALK, ANSWER), (CALLS, CALLING)])
def test_a_stream_gives_what_the_whole_answer_gives(
    talk: list[il.Frame], whole: dict[str, Any]
) -> None:
    folded = il.fold(streams.read(DIALECT, talk))
    assert folded.message.content == blocks(whole)
    assert folded == DIALECT.read_response(whole)


def test_a_stream_may_be_cut_anywhere() -> None:
    data = b"".join([sse.encode(frame) for frame in TALK])
    for at in range(0, len(data), 7):
        pieces = sse.Decoder()
        found = [*pieces.feed(data[:at]), *pieces.feed(data[at:]), *pieces.close()]
        assert found == TALK


def test_a_stream_that_breaks_off_is_an_error_with_what_there_is() -> None:
    last = streams.read(DIALECT, TALK[:6])[-1]
    assert last.type == "error"
    assert last.error.kind is il.ErrorKind.NETWORK
    assert last.partial is not None
    assert last.partial.text == "Cold "


def test_an_error_at_the_end_is_one() -> None:
    failed = {"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "rate limit"}}
    talk = [*TALK[:6], *frames(failed), DONE]
    last = streams.read(DIALECT, talk)[-1]
    assert last.type == "error"
    assert last.error.kind is il.ErrorKind.RATE_LIMIT
    assert streams.home(DIALECT, talk) == []


@pytest.mark.parametrize("whole", [ANSWER, CALLING])
def test_what_is_streamed_is_taken_by_the_types_of_cohere(whole: dict[str, Any]) -> None:
    if not cohere_types.are_there():
        pytest.skip("the package `cohere` is not installed")
    response = DIALECT.read_response(whole)
    written = streams.write(DIALECT, il.unfold(response))
    assert written[-1] == DONE
    odd = [p for frame in written[:-1] for p in cohere_types.frame_problems(json.loads(frame.data))]
    assert [each for each in odd if "/message-start" not in each and "/tokens/" not in each] == []
    assert il.fold(streams.read(DIALECT, written)) == response


def test_free_text_of_a_tool_is_put_into_an_object() -> None:
    call = il.ToolUseBlock("c1", "patch", {"input": "+a"}, "+a", call_type="custom")
    message = il.Message.assistant((call,))
    written = streams.write(DIALECT, il.unfold(il.Response(message)))
    (again,) = il.fold(streams.read(DIALECT, written)).message.content
    assert isinstance(again, il.ToolUseBlock)
    assert again.input == {"input": "+a"}


def test_text_that_waited_for_a_call_is_a_delta_where_none_follows() -> None:
    """Clients look for text in `content-delta` alone."""
    called = DIALECT.read_response(CALLING).message
    plan = called.replace(content=called.content[:1])
    writer = DIALECT.stream_writer()
    frames = [frame for event in il.unfold(il.Response(plan)) for frame in writer.feed(event)]
    data = [json.loads(frame.data) for frame in frames if frame.data.startswith("{")]
    messages = [each.get("delta", {}).get("message", {}) for each in data]
    contents = [message["content"] for message in messages if "content" in message]
    assert contents == [[], {"type": "text", "text": ""}, {"text": "I look."}]
