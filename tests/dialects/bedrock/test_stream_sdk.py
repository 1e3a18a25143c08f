"""The official SDK reads the streams that are written here."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import botocore.config
import botocore.session
import pytest
from botocore.exceptions import EventStreamError

import interlingua as il
from interlingua.dialects.bedrock import DIALECT
from interlingua.streams import aws
from tests.dialects.bedrock.streaming import called, read, redacted, talk, thoughts, words
from tests.loopback import STREAM_TYPES, answering

Json = dict[str, Any]


def streamed(events: list[Any]) -> bytes:
    writer = DIALECT.stream_writer()
    frames = [frame for event in events for frame in writer.feed(event)]
    return b"".join(aws.encode(frame) for frame in [*frames, *writer.close()])


@contextmanager
def stream_of(body: bytes) -> Iterator[Any]:
    """The events of the SDK's own stream."""
    with answering(body, STREAM_TYPES["aws"]) as url:
        client = botocore.session.Session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=botocore.config.Config(retries={"total_max_attempts": 1}, proxies={}),
        )
        message = {"role": "user", "content": [{"text": "Hello"}]}
        stream = client.converse_stream(modelId="m", messages=[message])["stream"]
        try:
            yield stream
        finally:
            stream.close()
            client.close()


def heard(body: bytes) -> Json:
    """What a user of the SDK has in the end."""
    parts: dict[int, Json] = {}
    out: Json = {}
    with stream_of(body) as stream:
        for event in stream:
            ((name, data),) = event.items()
            part = parts.setdefault(data["contentBlockIndex"], {}) if "Block" in name else {}
            if name == "contentBlockStart":
                part.update(data["start"])
            elif name == "contentBlockDelta":
                _add(part, data["delta"])
            else:
                out |= {key: item for key, item in data.items() if key != "contentBlockIndex"}
    for part in parts.values():
        if "toolUse" in part:
            part["toolUse"]["input"] = json.loads(part["toolUse"]["input"])
    return {**out, "content": [part for _, part in sorted(parts.items())]}


def _add(part: Json, delta: Json) -> None:
    for key, item in delta.items():
        if isinstance(item, dict):
            _add(part.setdefault(key, {}), item)
        else:
            part[key] = part[key] + item if key in part else item


def in_one(response: il.Response) -> Json:
    """The same of the answer in one body."""
    wire = DIALECT.write_response(response).wire
    message = wire.pop("output")["message"]
    return {**wire, **message, "content": [_flat(part) for part in message["content"]]}


def _flat(part: Json) -> Json:
    """A part as the pieces of a stream come to."""
    inner = part.get("reasoningContent", {})
    if "reasoningText" in inner:
        return {"reasoningContent": inner["reasoningText"]}
    if "redactedContent" in inner:
        data = base64.b64decode(inner["redactedContent"])
        return {"reasoningContent": {"redactedContent": data}}
    if "citationsContent" in part:
        (text,), (citation,) = (part["citationsContent"][key] for key in ("content", "citations"))
        return {**text, "citation": citation}
    if "toolResult" in part:
        inner = part["toolResult"]
        collected = {key: item for key, item in inner.items() if key != "content"}
        return {"toolResult": {**collected, "content": inner["content"]}}
    return part


ANSWERS: dict[str, list[il.Block]] = {
    "text": [il.TextBlock("Grüße,\n世界")],
    "texts": [il.TextBlock("a"), il.TextBlock("b")],
    "citation": [il.TextBlock("a", citations=(il.Citation("b", "https://example.com/", "c"),))],
    "thinking": [
        il.ThinkingBlock("Hm", "sig"),
        il.RedactedThinkingBlock("xyz"),
        il.ThinkingBlock("", "late"),
        il.TextBlock("a"),
    ],
    "calls": [
        il.TextBlock("Let me see."),
        il.ToolUseBlock("tooluse_1", "add", {"a": 1, "b": [2, {"c": "é"}]}),
        il.ToolUseBlock("tooluse_2", "now", {}),
        il.ToolUseBlock("tooluse_3", "search", {"q": "x"}, executor="provider"),
    ],
    "refusal": [il.RefusalBlock("No.")],
    "nothing": [],
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_the_sdk_hears_what_a_whole_answer_says(kind: str) -> None:
    reason = il.StopReason.TOOL_USE if kind == "calls" else il.StopReason.END_TURN
    metadata = il.MessageMetadata(stop_reason=reason, usage=il.Usage(5, 7, 3, 2))
    response = il.Response(il.Message.assistant(ANSWERS[kind], metadata))
    content, wanted = heard(streamed(il.unfold(response))), in_one(response)
    for part in content["content"]:  # a thought that is hidden has no text in a stream
        if "redactedContent" not in part.get("reasoningContent", {"redactedContent": 1}):
            part["reasoningContent"].setdefault("text", "")
    assert content == wanted


def test_the_sdk_hears_a_stream_that_went_home() -> None:
    wires = talk(
        thoughts(0, "H", "m", signature="sig"),
        redacted(1, "abc"),
        words(2, "a", "b"),
        called(3, '{"a":', "1}"),
    )
    events = read(wires)
    assert heard(streamed(events)) == in_one(il.fold(events))


def test_the_sdk_hears_of_an_error() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down")
    response = il.Response(il.Message.assistant("Hel"), error=error)
    with stream_of(streamed(il.unfold(response))) as stream:
        events = iter(stream)
        assert next(events) == {"messageStart": {"role": "assistant"}}
        assert next(events)["contentBlockDelta"]["delta"] == {"text": "Hel"}
        with pytest.raises(EventStreamError, match=r"throttlingException.*slow down"):
            list(events)
