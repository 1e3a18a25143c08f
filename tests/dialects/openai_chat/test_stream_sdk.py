"""Streams that were written here, read by the official SDK over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from openai import APIError, OpenAI

import interlingua as il
from interlingua.dialects.openai_chat import DIALECT
from interlingua.model.base import same
from interlingua.model.events import Event, MessageStart, StreamError, TextDelta
from interlingua.streams import sse
from tests.dialects.openai_chat.streaming import called, chunk, read, talk, words
from tests.loopback import answering

TEXT = il.TextBlock("Grüße, 世界 \u2028 🙂\n")
CITED = il.TextBlock(
    "See there.",
    citations=(il.Citation(url="https://example.com/", title="Example", start=0, end=3),),
)
ONE = il.ToolUseBlock("call_1", "add", {"a": 1, "b": ["é"]})
TWO = il.ToolUseBlock("call_2", "now", {})
SIGNED = il.ThinkingBlock("Hm.", "sig")

ANSWERS: dict[str, tuple[tuple[il.Block, ...], il.StopReason]] = {
    "text": ((TEXT,), il.StopReason.END_TURN),
    "citations": ((CITED,), il.StopReason.END_TURN),
    "thinking": ((il.ThinkingBlock("Hm."), TEXT), il.StopReason.END_TURN),
    "signed": (
        (SIGNED, il.RedactedThinkingBlock("xyz"), il.ThinkingBlock("", "s"), TEXT),
        il.StopReason.END_TURN,
    ),
    "calls": ((il.TextBlock("Well"), ONE, TWO), il.StopReason.TOOL_USE),
    "thinking and calls": ((SIGNED, ONE), il.StopReason.TOOL_USE),
    "refusal": ((il.RefusalBlock("I cannot."),), il.StopReason.REFUSAL),
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
        cuts = range(0, len(text), 3) if text else ()
        pieces = [event.replace(text=text[start : start + 3]) for start in cuts]
        events += pieces or [event]
    return events


def streamed(events: list[Event]) -> bytes:
    writer = DIALECT.stream_writer()
    frames = [each for event in events for each in writer.feed(event)]
    return b"".join(sse.encode(each) for each in [*frames, *writer.close()])


@contextmanager
def asking(body: bytes) -> Iterator[OpenAI]:
    with (
        answering(body) as url,
        OpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):
        yield client


ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def heard(body: bytes) -> dict[str, Any]:
    """What the SDK's own accumulator gives in the end."""
    with asking(body) as client, client.chat.completions.stream(**ASKED) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion().to_dict()


@pytest.mark.parametrize("kind", [kind for kind in ANSWERS if kind != "cut"])  # which it refuses
def test_the_sdk_puts_together_what_a_whole_answer_says(kind: str) -> None:
    response = answer(*ANSWERS[kind])
    final = heard(streamed(in_pieces(response)))
    written = DIALECT.write_response(response).wire
    assert same(final["usage"], written["usage"])
    assert final["choices"][0]["finish_reason"] == written["choices"][0]["finish_reason"]
    content, message = final["choices"][0]["message"], written["choices"][0]["message"]
    for item in content.get("thinking_blocks") or ():
        del item["index"]  # by which the accumulator tells items apart
    for each in content.get("tool_calls") or ():
        each.pop("index", None)
        each["function"].pop("parsed_arguments", None)
    content.pop("parsed", None)
    assert same({key: item for key, item in content.items() if item}, _said(message))


def _said(message: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in message.items() if item}


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_chunks_of_the_sdk_add_up(kind: str) -> None:
    response = answer(*ANSWERS[kind])
    with asking(streamed(in_pieces(response))) as client:
        stream = client.chat.completions.create(**ASKED, stream=True)
        chunks = [each.to_dict() for each in stream]
    assert il.fold(read([*chunks, "[DONE]"])) == DIALECT.read_response(
        DIALECT.write_response(response).wire
    )


def test_the_sdk_hears_a_stream_that_went_home() -> None:
    wires = talk(*words("Hel", "lo"), called("call_1", arguments="{}"), word="tool_calls")
    body = streamed(read(wires))
    message = heard(body)["choices"][0]["message"]
    assert message["content"] == "Hello"
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_the_sdk_raises_what_an_error_says() -> None:
    error = il.ProviderError(il.ErrorKind.SERVER_ERROR, "Overloaded", "overloaded")
    events = [MessageStart("m", "r"), TextDelta(0, "a"), StreamError(error)]
    with asking(streamed(events)) as client:
        stream = client.chat.completions.create(**ASKED, stream=True)
        with pytest.raises(APIError) as caught:
            list(stream)
    assert caught.value.message == "Overloaded"
    assert caught.value.code == "overloaded"


def test_the_sdk_hears_that_a_stream_was_cut() -> None:
    body = streamed(read([chunk({"role": "assistant", "content": "a"})]))
    with asking(body) as client, pytest.raises(APIError):
        list(client.chat.completions.create(**ASKED, stream=True))
