"""The official SDK hears the streams that are written here as it hears Google's own."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

import interlingua as il
from interlingua.dialects.gemini import DIALECT
from interlingua.model.events import Event
from interlingua.streams import sse
from tests.dialects.gemini.streaming import Json, chunk, counts, frame, late, thought
from tests.dialects.gemini.wires import PNG, call, text
from tests.loopback import answering

MODEL = "gemini-3-flash"


def body_of(events: list[Event]) -> bytes:
    """What the writer says, as bytes on a connection."""
    writer = DIALECT.stream_writer()
    frames = [out for event in events for out in writer.feed(event.replace(frame=None))]
    return b"".join(sse.encode(each) for each in [*frames, *writer.close()])


@contextmanager
def client(body: bytes) -> Iterator[genai.Client]:
    with answering(body) as url:
        options = types.HttpOptions(base_url=url)
        yield genai.Client(api_key="none", vertexai=False, http_options=options)


def heard(body: bytes) -> list[types.GenerateContentResponse]:
    with client(body) as ours:
        return list(ours.models.generate_content_stream(model=MODEL, contents="Hi"))


def parts_of(chunks: list[types.GenerateContentResponse], choice: int = 0) -> list[Json]:
    """All parts as the SDK has them: neighbouring pieces of one kind joined, signatures with the
    text that they end."""
    joined: list[Json] = []
    for each in chunks:
        for candidate in each.candidates or ():
            if (candidate.index or 0) == choice and candidate.content is not None:
                for part in candidate.content.parts or ():
                    _join(joined, part.model_dump(mode="json", exclude_none=True))
    return joined


def _join(joined: list[Json], part: Json) -> None:
    if part == {"text": ""}:
        return
    last = joined[-1] if joined else {}
    same = "text" in last and "text" in part and last.get("thought") == part.get("thought")
    if same and "thought_signature" not in last:
        joined[-1] = {**last, **part, "text": last["text"] + part["text"]}
    else:
        joined.append(part)


def parts_written(response: il.Response) -> list[Json]:
    """The parts of the whole answer, read by the SDK's types."""
    wire = DIALECT.write_response(response).wire
    return parts_of([types.GenerateContentResponse.model_validate(wire)])


def answer(*content: il.Block, **metadata: Any) -> il.Response:
    fields = {
        "response_model": "gpt-5",
        "response_id": "resp_1",
        "stop_reason": il.StopReason.END_TURN,
        "usage": il.Usage(10, 7, 2, reasoning_tokens=3),
        **metadata,
    }
    return il.Response(il.Message.assistant(content, il.MessageMetadata(**fields)))


CALLS = (
    il.ToolUseBlock("call_1", "weather", {"city": "Tromsø"}, signature="c2ln"),
    il.ToolUseBlock("call_2", "weather", {"city": "Bodø", "days": [1, 2]}),
    il.ToolUseBlock("call_3", "now", {}),
)


@pytest.mark.parametrize(
    "response",
    [
        answer(il.TextBlock("Grüße 🎈\n\n" * 200)),
        answer(il.ThinkingBlock("Hm.", "c2ln"), il.TextBlock("Hi"), il.TextBlock("", "MQ==")),
        answer(il.TextBlock("Wait."), *CALLS, stop_reason=il.StopReason.TOOL_USE),
        answer(il.RefusalBlock("No."), stop_reason=il.StopReason.CONTENT_FILTER),
        answer(il.TextBlock("Look"), il.ImageBlock(il.Source("base64", PNG), "image/png")),
        answer(il.TextBlock("cut"), stop_reason=il.StopReason.MAX_TOKENS),
        answer(),
    ],
)
@pytest.mark.requirement("P28", "P29", "P31")
def test_the_sdk_hears_what_the_whole_answer_says(response: il.Response) -> None:
    chunks = heard(body_of(il.unfold(response)))
    assert parts_of(chunks) == parts_written(response)
    whole = types.GenerateContentResponse.model_validate(DIALECT.write_response(response).wire)
    last = chunks[-1]
    assert last.usage_metadata == whole.usage_metadata
    assert last.candidates is not None
    assert whole.candidates is not None
    assert last.candidates[0].finish_reason == whole.candidates[0].finish_reason
    assert {(each.model_version, each.response_id) for each in chunks} == {("gpt-5", "resp_1")}


def test_the_sdk_finds_text_calls_and_thoughts_in_their_places() -> None:
    response = answer(il.ThinkingBlock("Hm."), il.TextBlock("Hi"), *CALLS)
    chunks = heard(body_of(il.unfold(response)))
    assert "".join(each.text or "" for each in chunks) == "Hi"
    found = [found for each in chunks for found in each.function_calls or ()]
    assert [(each.id, each.name, each.args) for each in found] == [
        (block.id, block.name, block.input) for block in CALLS
    ]
    signatures = [
        part.thought_signature
        for each in chunks
        for part in each.parts or ()
        if part.function_call is not None
    ]
    assert signatures == [base64.b64decode("c2ln"), None, None]


def test_the_sdk_keeps_answers_apart() -> None:
    other = il.Message.assistant("b", il.MessageMetadata(stop_reason=il.StopReason.MAX_TOKENS))
    response = answer(il.TextBlock("a")).replace(alternatives=(other,))
    chunks = heard(body_of(il.unfold(response)))
    assert [parts_of(chunks, choice) for choice in (0, 1)] == [[{"text": "a"}], [{"text": "b"}]]


def test_a_chat_of_the_sdk_goes_on_with_what_it_heard() -> None:
    response = answer(il.TextBlock("Hi"), *CALLS, stop_reason=il.StopReason.TOOL_USE)
    with client(body_of(il.unfold(response))) as ours:
        chat = ours.chats.create(model=MODEL)
        list(chat.send_message_stream("Hello"))
        history = chat.get_history()
    calls = [
        part.function_call.name
        for content in history
        for part in content.parts or ()
        if part.function_call is not None
    ]
    assert calls == ["weather", "weather", "now"]


def test_the_sdk_hears_a_stream_that_went_through_us_unchanged() -> None:
    wires = [
        chunk(thought("Hm"), usage=counts(4, None)),
        chunk(text("Hel"), usage=counts(4, 1)),
        chunk(text("lo"), usage=counts(4, 2)),
        chunk({**call(), "thoughtSignature": "c2ln"}, usage=counts(4, 9)),
        chunk(late("MQ=="), usage=counts(4, 9), finishReason="STOP"),
    ]
    direct = heard(b"".join(sse.encode(frame(wire)) for wire in wires))
    reader, writer = DIALECT.stream_reader(), DIALECT.stream_writer()
    frames = [
        out for wire in wires for event in reader.feed(frame(wire)) for out in writer.feed(event)
    ]
    through = heard(b"".join(sse.encode(each) for each in frames))
    assert [each.candidates for each in through] == [each.candidates for each in direct]
    assert [each.usage_metadata for each in through] == [each.usage_metadata for each in direct]


def test_the_sdk_raises_the_error_of_a_stream_that_fails() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down")
    response = answer().replace(error=error)
    with pytest.raises(errors.ClientError) as caught:
        heard(body_of(il.unfold(response)))
    assert (caught.value.code, caught.value.message) == (429, "slow down")
