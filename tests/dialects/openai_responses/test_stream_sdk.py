"""Streams that were written here, read by the official SDK over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai import APIError, OpenAI

import interlingua as il
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.base import same
from interlingua.model.events import Event, MessageStart, StreamError
from interlingua.streams import sse
from tests.loopback import answering

TEXT = il.TextBlock("Grüße, 世界 \u2028 🙂\n")
CITED = il.TextBlock(
    "See there.",
    citations=(il.Citation(url="https://example.com/", title="Example", start=0, end=3),),
)
ONE = il.ToolUseBlock("call_1", "add", {"a": 1, "b": ["é"]})
TWO = il.ToolUseBlock("call_2", "now", {})
PATCH = il.ToolUseBlock("call_3", "patch", {"input": "*** x"}, call_type="custom")
THOUGHTS = (il.ThinkingBlock("Hm.", id="rs_1"), il.ThinkingBlock("So.", "sig", "rs_1"))

ANSWERS: dict[str, tuple[tuple[il.Block, ...], il.StopReason]] = {
    "text": ((TEXT,), il.StopReason.END_TURN),
    "two texts": ((TEXT, CITED), il.StopReason.END_TURN),
    "thinking": ((*THOUGHTS, TEXT), il.StopReason.END_TURN),
    "calls": ((il.TextBlock("Well"), ONE, TWO, PATCH), il.StopReason.TOOL_USE),
    "refusal": ((il.RefusalBlock("No."),), il.StopReason.REFUSAL),
    "cut": ((il.TextBlock("And th"),), il.StopReason.MAX_TOKENS),
    "nothing": ((), il.StopReason.END_TURN),
}


def answer(content: tuple[il.Block, ...], reason: il.StopReason) -> il.Response:
    metadata = il.MessageMetadata(
        response_id="msg_1",
        response_model="claude-sonnet-5",
        stop_reason=reason,
        usage=il.Usage(10, 5, cached_input_tokens=2, reasoning_tokens=1),
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
def client(body: bytes) -> Iterator[OpenAI]:
    """The SDK, for a server that answers with these bytes."""
    with answering(body) as url, OpenAI(api_key="none", base_url=url, max_retries=0) as sdk:
        yield sdk


@pytest.mark.parametrize("name", ANSWERS)
def test_the_sdk_gives_the_response_that_we_would_write_whole(name: str) -> None:
    response = answer(*ANSWERS[name])
    expected = DIALECT.write_response(response).wire
    with (
        client(written(in_pieces(response))) as sdk,
        sdk.responses.stream(model="gpt-5", input="Hi") as stream,
    ):
        last: Any = list(stream)[-1]
    whole = last.response.model_dump(mode="json", exclude_unset=True)
    for item in whole["output"]:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or ():
            part.pop("parsed", None)
    assert same(whole, expected)
    assert DIALECT.read_response(whole).message.content == response.message.content


@pytest.mark.parametrize("name", ["text", "two texts", "calls", "thinking"])
def test_the_pieces_give_what_the_sdk_puts_together(name: str) -> None:
    response = answer(*ANSWERS[name])
    texts: dict[tuple[int, int], str] = {}
    arguments: dict[int, str] = {}
    with (
        client(written(in_pieces(response))) as sdk,
        sdk.responses.stream(model="gpt-5", input="Hi") as stream,
    ):
        for event in stream:
            if event.type == "response.output_text.delta":
                texts[event.output_index, event.content_index] = event.snapshot
            elif event.type == "response.function_call_arguments.delta":
                arguments[event.output_index] = event.snapshot
        final = stream.get_final_response()
    assert "".join(texts.values()) == final.output_text == response.message.text
    calls = [item.arguments for item in final.output if item.type == "function_call"]
    assert list(arguments.values()) == calls


def test_plain_iteration_gives_every_frame() -> None:
    response = answer(*ANSWERS["calls"])
    body = written(in_pieces(response))
    with client(body) as sdk:
        events = list(sdk.responses.create(model="gpt-5", input="Hi", stream=True))
    assert len(events) == body.count(b"\n\n")
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_a_stream_that_came_from_this_dialect_is_the_same_to_the_sdk() -> None:
    body = written(in_pieces(answer(*ANSWERS["thinking"])))
    decoder, reader = sse.Decoder(), DIALECT.stream_reader()
    events = [event for frame in decoder.feed(body) for event in reader.feed(frame)]
    again = written([*events, *reader.close()])
    finals = []
    for each in (body, again):
        with (
            client(each) as sdk,
            sdk.responses.stream(model="gpt-5", input="Hi") as stream,
        ):
            finals.append(stream.get_final_response())
    assert finals[0] == finals[1]


def test_an_error_is_one_to_the_sdk() -> None:
    body = written([StreamError(il.ProviderError(il.ErrorKind.SERVER_ERROR, "overloaded"))])
    with client(body) as sdk:
        stream = sdk.responses.create(model="gpt-5", input="Hi", stream=True)
        with pytest.raises(APIError, match="overloaded"):
            list(stream)


def test_a_failure_on_the_way_is_a_response_that_failed() -> None:
    partial = answer((il.TextBlock("Hel"),), il.StopReason.ERROR).message
    partial = partial.replace(metadata=partial.metadata.replace(status=il.MessageStatus.ERROR))
    error = il.ProviderError(il.ErrorKind.SERVER_ERROR, "gone", "server_error")
    with client(written([MessageStart("m", "msg_1"), StreamError(error, partial)])) as sdk:
        *_, last = sdk.responses.create(model="gpt-5", input="Hi", stream=True)
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.message == "gone"
    assert last.response.output_text == "Hel"
