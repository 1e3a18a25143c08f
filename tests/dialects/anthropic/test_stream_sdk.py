"""Streams that were written here, read by the official SDK over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from anthropic import Anthropic, APIStatusError
from anthropic.types import Message

import interlingua as il
from interlingua.dialects.anthropic import DIALECT
from interlingua.model.base import same
from interlingua.model.events import Event, MessageStart, StreamError
from interlingua.streams import sse
from tests.dialects.anthropic.streaming import TEXT as EMPTY_TEXT
from tests.dialects.anthropic.streaming import (
    THINKING,
    block,
    called,
    frame,
    given,
    read,
    signed,
    talk,
    thoughts,
    whole,
    words,
)
from tests.loopback import answering

TEXT = il.TextBlock("Grüße, 世界 \u2028 🙂\n")
CITATION = {
    "type": "char_location",
    "cited_text": "there",
    "document_index": 0,
    "document_title": "Doc",
    "file_id": None,
    "start_char_index": 0,
    "end_char_index": 5,
}
CITED = whole({"type": "text", "text": "See there.", "citations": [CITATION]}).message.content[0]
ONE = il.ToolUseBlock("toolu_1", "add", {"a": 1, "b": ["é"]})
TWO = il.ToolUseBlock("toolu_2", "now", {})

ANSWERS: dict[str, tuple[tuple[il.Block, ...], il.StopReason]] = {
    "text": ((TEXT,), il.StopReason.END_TURN),
    "two texts": ((TEXT, il.TextBlock("b")), il.StopReason.END_TURN),
    "citations": ((CITED, TEXT), il.StopReason.END_TURN),
    "thinking": ((il.ThinkingBlock("Hm. So.", "c2ln"), TEXT), il.StopReason.END_TURN),
    "hidden thinking": (
        (il.RedactedThinkingBlock("xyz"), il.ThinkingBlock("", "c2ln"), TEXT),
        il.StopReason.END_TURN,
    ),
    "calls": ((il.TextBlock("Well"), ONE, TWO), il.StopReason.TOOL_USE),
    "call without arguments": ((TWO,), il.StopReason.TOOL_USE),
    "cut": ((il.TextBlock("And th"),), il.StopReason.MAX_TOKENS),
    "stopped": ((il.TextBlock("And"),), il.StopReason.STOP_SEQUENCE),
    "paused": ((il.TextBlock("And"),), il.StopReason.PAUSE),
    "refused": ((il.TextBlock("No."),), il.StopReason.REFUSAL),
    "nothing": ((), il.StopReason.END_TURN),
}


def answer(content: tuple[il.Block, ...], reason: il.StopReason) -> il.Response:
    metadata = il.MessageMetadata(
        protocol="anthropic",
        response_id="msg_1",
        response_model="claude-sonnet-5",
        stop_reason=reason,
        usage=il.Usage(10, 5, cached_input_tokens=2, cache_creation_input_tokens=3),
    )
    return il.Response(il.Message.assistant(content, metadata))


def in_pieces(response: il.Response) -> list[Event]:
    """Its events, each text in pieces of three characters."""
    events: list[Event] = []
    for event in il.unfold(response):
        text = getattr(event, "text", "")
        if len(text) > 3:
            cuts = range(0, len(text), 3)
            events += [event.replace(text=text[start : start + 3]) for start in cuts]
        else:
            events.append(event)
    return events


def written(events: list[Event]) -> bytes:
    writer = DIALECT.stream_writer()
    frames = [frame for event in events for frame in writer.feed(event)] + writer.close()
    return b"".join([sse.encode(frame) for frame in frames])


@contextmanager
def client(body: bytes) -> Iterator[Anthropic]:
    """The SDK, for a server that answers with these bytes."""
    with answering(body) as url, Anthropic(api_key="none", base_url=url, max_retries=0) as sdk:
        yield sdk


ASKED: Any = {
    "model": "claude-sonnet-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "Hi"}],
}


def final(body: bytes) -> Message:
    """What the SDK's own accumulator makes of the stream."""
    with client(body) as sdk, sdk.messages.stream(**ASKED) as stream:
        message: Message = stream.get_final_message()
    return message


def plain(message: Message) -> dict[str, Any]:
    wire: dict[str, Any] = message.model_dump(mode="json", exclude_unset=True)
    if wire["stop_details"] is None:
        del wire["stop_details"]  # the SDK takes it over from a delta that has none
    for part in wire["content"]:
        part.pop("parsed_output", None)
    return wire


@pytest.mark.parametrize("name", ANSWERS)
def test_the_sdk_gives_the_message_that_we_would_write_whole(name: str) -> None:
    response = answer(*ANSWERS[name])
    expected = DIALECT.write_response(response).wire
    result = plain(final(written(in_pieces(response))))
    assert same(result, expected), (result, expected)
    assert DIALECT.read_response(result).message.content == response.message.content


@pytest.mark.parametrize("name", ANSWERS)
def test_what_the_sdk_gives_is_what_we_fold(name: str) -> None:
    body = written(in_pieces(answer(*ANSWERS[name])))
    reader, pieces = DIALECT.stream_reader(), sse.Decoder()
    events = [event for each in pieces.feed(body) for event in reader.feed(each)]
    folded = il.fold([*events, *reader.close()])
    assert DIALECT.read_response(plain(final(body))) == folded


def test_the_pieces_are_those_that_were_fed() -> None:
    response = answer((il.ThinkingBlock("Hm. So.", "c2ln"), TEXT, ONE), il.StopReason.TOOL_USE)
    fields: dict[str, list[str]] = {"text": [], "thinking": [], "input_json": []}
    with (
        client(written(in_pieces(response))) as sdk,
        sdk.messages.stream(**ASKED) as stream,
    ):
        for event in stream:
            if event.type == "text":
                fields["text"].append(event.text)
            elif event.type == "thinking":
                fields["thinking"].append(event.thinking)
            elif event.type == "input_json":
                fields["input_json"].append(event.partial_json)
    assert "".join(fields["text"]) == TEXT.text
    assert fields["thinking"] == ["Hm.", " So", "."]
    assert len(fields["input_json"]) > 1


def test_plain_iteration_gives_every_frame_in_order() -> None:
    body = written(in_pieces(answer(*ANSWERS["calls"])))
    with client(body) as sdk:
        events = list(sdk.messages.create(**ASKED, stream=True))
    assert len(events) == body.count(b"\n\n")
    assert events[0].type == "message_start"
    assert events[-1].type == "message_stop"
    starts = [event.index for event in events if event.type == "content_block_start"]
    assert starts == [0, 1, 2]


def test_a_stream_that_came_from_this_dialect_is_the_same_to_the_sdk() -> None:
    wires = talk(
        block(0, THINKING, *thoughts("H", "m"), signed("c2ln")),
        block(1, EMPTY_TEXT, *words("a", "b")),
        block(2, called(), *given('{"a":', " 1}")),
        block(3, called("now", "toolu_2")),
        word="tool_use",
    )
    body = b"".join([sse.encode(frame(wire)) for wire in wires])
    assert final(written(read(wires))) == final(body)


def test_an_error_is_one_to_the_sdk() -> None:
    error = il.ProviderError(il.ErrorKind.SERVER_ERROR, "overloaded", "overloaded_error")
    body = written([StreamError(error)])
    with client(body) as sdk, pytest.raises(APIStatusError, match="overloaded"):
        list(sdk.messages.create(**ASKED, stream=True))


def test_a_failure_on_the_way_comes_after_what_was_said() -> None:
    partial = answer((il.TextBlock("Hel"),), il.StopReason.ERROR).message
    begun = il.unfold(answer((il.TextBlock("Hel"),), il.StopReason.END_TURN))
    start = [event for event in begun if isinstance(event, MessageStart) or hasattr(event, "index")]
    error = il.ProviderError(il.ErrorKind.SERVER_ERROR, "gone")
    heard = []
    with (
        client(written([*start, StreamError(error, partial)])) as sdk,
        sdk.messages.stream(**ASKED) as stream,
        pytest.raises(APIStatusError, match="gone"),
    ):
        heard.extend(event for event in stream)
    assert stream.current_message_snapshot.content[0].model_dump()["text"] == "Hel"
