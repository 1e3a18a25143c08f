"""OpenTelemetry's own package for instrumentations (opentelemetry-util-genai) about our traces.

It has a type for each part of the conventions, which what we write is held against, and it writes
spans, which we read. The reference scenarios of the conventions tell the names of attributes alone;
`test_otel.py` has those. `make judges` fetches the package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from interlingua import transcripts
from interlingua.model.blocks import (
    Block,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.transcripts import Transcript
from interlingua.transcripts.otel.otlp import INPUT, INSTRUCTIONS, OUTPUT, TOOLS
from tests.transcripts.said import said
from tests.transcripts.test_judges import package, sessions, written

MAY_BE_MISSING = {"id": None, "mime_type": None}
"""By the JSON schemas of the conventions; the package's types ask for them."""
LONGEST = 60
"""Messages: every span says all of the history."""


@pytest.fixture(scope="module")
def types() -> Any:
    return package("opentelemetry.util.genai.types")


def attributes(path: Path) -> Iterator[tuple[str, Any]]:
    for resource in json.loads(path.read_bytes())["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for pair in span["attributes"]:
                    yield pair["key"], pair["value"].get("stringValue")


def test_our_messages_are_those_of_the_conventions(types: Any, tmp_path: Path) -> None:
    pydantic = package("pydantic")
    known = {kind.type: pydantic.TypeAdapter(kind) for kind in _kinds(types)}
    messages = {INPUT: types.InputMessage, OUTPUT: types.OutputMessage}
    count = 0
    for each in written("otel", "json", tmp_path):
        for key, value in attributes(each.path):
            for entry in json.loads(value) if key in (*messages, INSTRUCTIONS) else ():
                if key in messages:
                    pydantic.TypeAdapter(messages[key]).validate_python({**entry, "parts": []})
                for part in entry["parts"] if key in messages else [entry]:
                    judge = known.get(part["type"])
                    assert judge or part["type"] == "refusal", (each.path.name, part["type"])
                    if judge:
                        judge.validate_python(MAY_BE_MISSING | part)
                        count += 1
    assert count > 10


def test_our_tools_are_those_of_the_conventions(types: Any, tmp_path: Path) -> None:
    pydantic = package("pydantic")
    tool = pydantic.TypeAdapter(types.FunctionToolDefinition)
    for each in written("otel", "json", tmp_path):
        for key, value in attributes(each.path):
            for definition in json.loads(value) if key == TOOLS else ():
                if definition["type"] == "function":
                    tool.validate_python({"description": None} | definition)


def _kinds(types: Any) -> list[Any]:
    return [kind for kind in get_args(types.MessagePart) if kind is not types.GenericPart]


def test_spans_of_the_package_are_read_as_what_was_told(
    types: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    read = 0
    for name, transcript in sessions():
        messages = [each for each in transcript.messages if each.content]
        if len(messages) > LONGEST or not any(m.role is Role.ASSISTANT for m in messages):
            continue
        while messages[-1].role is not Role.ASSISTANT:
            messages.pop()
        result = transcript.replace(messages=tuple(map(_as_told, messages)))
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(_exported(types, result)))
        heard = transcripts.read(path, "otel")
        assert said(_texts_alone(heard)) == said(_texts_alone(result)), name
        assert _counts(heard.usage) == _counts(_usage(result)), name
        read += 1
    assert read


def _exported(types: Any, transcript: Transcript) -> dict[str, Any]:
    """Every answer as a request that an instrumentation saw."""
    handlers = package("opentelemetry.util.genai.handler")
    sdk = package("opentelemetry.sdk.trace")
    export = package("opentelemetry.sdk.trace.export")
    memory = package(
        "opentelemetry.sdk.trace.export.in_memory_span_exporter"
    ).InMemorySpanExporter()
    encode = package("opentelemetry.exporter.otlp.proto.common.trace_encoder").encode_spans
    as_dict = package("google.protobuf.json_format").MessageToDict
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    handler = handlers.TelemetryHandler(tracer_provider=provider)
    history: list[Any] = []
    for message in transcript.messages:
        entry = [_part(types, block) for block in message.content]
        if message.role is Role.ASSISTANT:
            with handler.inference("anthropic", request_model="m", conversation_id="c") as span:
                span.input_messages = list(history)
                span.output_messages = [types.OutputMessage("assistant", entry, "stop")]
                _count(span, message.metadata.usage or Usage())
        history.append(types.InputMessage(str(message.role), entry))
    exported: dict[str, Any] = as_dict(encode(memory.get_finished_spans()))
    return exported


def _part(types: Any, block: Block) -> Any:
    match block:
        case TextBlock(text):
            return types.TextPart(text)
        case ThinkingBlock(text):
            return types.ReasoningPart(text)
        case ToolUseBlock(id, name, given):
            return types.ToolCallRequestPart(given, name, id)
        case ToolResultBlock(id, content):
            return types.ToolCallResponsePart("".join(map(_text, content)), id)
    raise AssertionError(block)


def _count(span: Any, usage: Usage) -> None:
    span.input_tokens = usage.prompt_tokens
    span.output_tokens = usage.output_tokens
    span.cache_read_input_tokens = usage.cached_input_tokens
    span.cache_write_input_tokens = usage.cache_creation_input_tokens
    span.thinking_tokens = usage.reasoning_tokens


def _as_told(message: Message) -> Message:
    """Without what the package has no words for."""
    kinds = (TextBlock, ThinkingBlock, ToolUseBlock, ToolResultBlock)
    blocks = tuple(block for block in message.content if isinstance(block, kinds))
    return message.replace(content=blocks or (TextBlock("…"),))


def _texts_alone(transcript: Transcript) -> Transcript:
    """Results as their text: there is no word for a failure."""
    messages = []
    for message in transcript.messages:
        blocks = [
            ToolResultBlock(each.tool_use_id, (TextBlock("".join(map(_text, each.content))),))
            if isinstance(each, ToolResultBlock)
            else each
            for each in message.content
        ]
        messages.append(message.replace(content=tuple(blocks)))
    return transcript.replace(messages=tuple(messages))


def _text(block: Any) -> str:
    return block.text if isinstance(block, TextBlock) else ""


def _usage(transcript: Transcript) -> Usage:
    from interlingua.transcripts.transcript import usage_of

    return usage_of(transcript.messages)


def _counts(usage: Usage) -> tuple[int, ...]:
    return (
        usage.prompt_tokens or 0,
        usage.output_tokens or 0,
        usage.cached_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
        usage.reasoning_tokens or 0,
    )
