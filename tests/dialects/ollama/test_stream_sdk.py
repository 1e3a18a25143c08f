"""The official SDK reads the streams that are written here."""

from __future__ import annotations

import json
from typing import Any

import ollama
import pytest

import interlingua as il
from interlingua.dialects.ollama import DIALECT
from interlingua.streams import ndjson
from tests.dialects.ollama.streaming import Json, calls, talk, thoughts, words
from tests.loopback import STREAM_TYPES, answering


def streamed(events: list[Any]) -> bytes:
    writer = DIALECT.stream_writer()
    frames = [frame for event in events for frame in writer.feed(event)]
    return b"".join(ndjson.encode(frame) for frame in [*frames, *writer.close()])


def heard(body: bytes) -> Json:
    """What a user of the SDK has in the end: the last line, with the pieces of all."""
    with answering(body, STREAM_TYPES["ndjson"]) as url, ollama.Client(host=url) as client:
        lines = list(client.chat("m", [{"role": "user", "content": "Hello"}], stream=True))
    items = [line.message for line in lines]
    assert [line.done for line in lines] == [False] * (len(lines) - 1) + [True]
    return {
        "model": lines[-1].model,
        "done_reason": lines[-1].done_reason,
        "counts": (lines[-1].prompt_eval_count, lines[-1].eval_count),
        "content": "".join([message.content or "" for message in items]),
        "thinking": "".join([message.thinking or "" for message in items]),
        "calls": [call.function.model_dump() for each in items for call in each.tool_calls or ()],
    }


def in_one(response: il.Response) -> Json:
    """The same of the answer in one body."""
    wire = DIALECT.write_response(response).wire
    message = wire["message"]
    return {
        "model": wire["model"],
        "done_reason": wire["done_reason"],
        "counts": (wire.get("prompt_eval_count"), wire.get("eval_count")),
        "content": message["content"],
        "thinking": message.get("thinking", ""),
        "calls": [each["function"] for each in message.get("tool_calls", ())],
    }


ANSWERS: dict[str, list[il.Block]] = {
    "text": [il.TextBlock("Grüße,\n世界")],
    "texts": [il.TextBlock("a"), il.TextBlock("b")],
    "thinking": [il.ThinkingBlock("Hm", "sig"), il.ThinkingBlock("Ah"), il.TextBlock("a")],
    "calls": [
        il.TextBlock("Let me see."),
        il.ToolUseBlock("call_1", "add", {"a": 1, "b": [2, {"c": "é"}]}),
        il.ToolUseBlock("call_2", "now", {}),
    ],
    "refusal": [il.RefusalBlock("No.")],
    "nothing": [],
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_sdk_hears_what_a_whole_answer_says(kind: str) -> None:
    reason = il.StopReason.TOOL_USE if kind == "calls" else il.StopReason.END_TURN
    metadata = il.MessageMetadata(
        response_model="gpt-5", stop_reason=reason, usage=il.Usage(5, 7, 3, reasoning_tokens=2)
    )
    response = il.Response(il.Message.assistant(ANSWERS[kind], metadata))
    assert heard(streamed(il.unfold(response))) == in_one(response)


def test_the_sdk_hears_a_stream_that_went_home() -> None:
    call = {"id": "call_1", "function": {"name": "add", "arguments": {"a": 1}}}
    wires = talk(thoughts("H", "m"), words("a", "b"), calls(call))
    reader = DIALECT.stream_reader()
    frames = [ndjson.Decoder().feed(json.dumps(wire).encode() + b"\n")[0] for wire in wires]
    events = [event for frame in frames for event in reader.feed(frame)]
    assert heard(streamed(events)) == in_one(il.fold(events))


def test_the_sdk_hears_of_an_error() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "too many requests")
    response = il.Response(il.Message.assistant("Hel"), error=error)
    body = streamed(il.unfold(response))
    with answering(body, STREAM_TYPES["ndjson"]) as url, ollama.Client(host=url) as client:
        lines = client.chat("m", stream=True)
        assert next(iter(lines)).message.content == "Hel"
        with pytest.raises(ollama.ResponseError, match="too many requests"):
            list(lines)
