"""OTLP as JSON: spans and log records, their attributes as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from interlingua.errors import ReadError, found
from interlingua.model.arguments import recover, to_text
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    MediaBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.telemetry import PROVIDER_WORDS
from interlingua.transcripts.values import as_text, media_block, members, objects, source_of

NAME = "otel"
Wire = dict[str, Any]
_ROLES = {str(role): role for role in Role}
_KNOWN_PARTS = frozenset(("text", "blob", "uri", "file"))


def read_message(wire: Any, at: int) -> list[Message]:
    """The messages of the entry at index `at`; a user's entry may hold several results."""
    parts = wire.get("parts") if isinstance(wire, dict) else None
    if not isinstance(parts, list):
        raise ReadError(NAME, "$.parts", "a list", found(parts))
    role = _ROLES.get(str(wire.get("role")), Role.USER)
    name = wire.get("name") if isinstance(wire.get("name"), str) else None
    blocks = [_block(part, f"{at}:{number}") for number, part in enumerate(parts)]
    if role is Role.ASSISTANT:
        return [Message(role, tuple(blocks), name)]
    return list(_turns(blocks, role, name))


def _turns(blocks: Iterable[Block], role: Role, name: str | None) -> Iterator[Message]:
    """Each result is a message; the blocks between them are one."""
    waiting: list[Block] = []
    count = 0
    for block in blocks:
        if not isinstance(block, ToolResultBlock):
            waiting.append(block)
            continue
        if waiting:
            yield Message(_speaker(role), tuple(waiting), name)
        yield Message.of_result(block)
        waiting, count = [], count + 1
    if waiting or not count:
        yield Message(_speaker(role), tuple(waiting), name)


def _speaker(role: Role) -> Role:
    """A tool's text beside its results is read as the user's."""
    return Role.USER if role is Role.TOOL else role


def read_parts(parts: Any) -> tuple[Any, ...]:
    """Instructions, or the content of a result."""
    if not isinstance(parts, list):
        return ()
    return tuple(_block(part, f"{number}") for number, part in enumerate(parts))


def _block(part: Any, place: str) -> Block:
    match part:
        case {"type": "text", "content": str(text)}:
            return TextBlock(text)
        case {"type": "reasoning" | "thinking", "content": str(text)}:
            return ThinkingBlock(text)
        case {"type": "tool_call", "name": str(name)}:
            return _call(part, name, place)
        case {"type": "tool_call_response"} if "response" in part or "result" in part:
            return _result(part)
        case {"type": "server_tool_call", "name": str(name), "server_tool_call": dict(value)}:
            return ToolUseBlock(_id(part, name, place), name, value, executor="provider")
        case {"type": "server_tool_call_response", "server_tool_call_response": dict(value)}:
            return ToolResultBlock(as_text(part.get("id")) or "", _contents(value))
        case {"type": "blob", "content": str(data)}:
            return _media(part, Source("base64", data))
        case {"type": "uri", "uri": str(uri)}:
            return _media(part, source_of(uri))
        case {"type": "file", "file_id": str(name)}:
            return _media(part, Source("file_id", name))
        case {"type": "refusal", "content": str(text)}:
            return RefusalBlock(text)
        case {"type": "compaction"}:
            return CompactionBlock(as_text(part.get("content")))
    return UnknownBlock({NAME: part})


def _call(part: Wire, name: str, place: str) -> ToolUseBlock:
    id = _id(part, name, place)
    arguments = part.get("arguments")
    if isinstance(arguments, dict):
        return ToolUseBlock(id, name, arguments)
    if not isinstance(arguments, str):
        return ToolUseBlock(id, name, {})
    recovered = recover(arguments)
    same = recovered.mode == "strict" and to_text(recovered.input) == arguments
    return ToolUseBlock(id, name, recovered.input, None if same else arguments)


def _id(part: Wire, name: str, place: str) -> str:
    return as_text(part.get("id")) or synthetic_tool_id(place, 0, name)


def _result(part: Wire) -> ToolResultBlock:
    content = part["response"] if "response" in part else part["result"]
    tool = as_text(part.get("name"))
    return ToolResultBlock(as_text(part.get("id")) or "", _contents(content), tool_name=tool)


def _contents(content: Any) -> tuple[Any, ...]:
    """A text, parts, or any JSON, which the model saw as text."""
    match content:
        case None:
            return ()
        case str(text):
            return (TextBlock(text),) if text else ()
        case [*parts] if parts and all(members(each).get("type") in _KNOWN_PARTS for each in parts):
            return read_parts(parts)
    return (TextBlock(msgspec.json.encode(content).decode()),)


def _media(part: Wire, source: Source) -> Block:
    media, kind = as_text(part.get("mime_type")), as_text(part.get("modality"))
    if media is None and kind is None:
        return UnknownBlock({NAME: part})
    return media_block(source, kind or media).replace(media_type=media)


def write_message(message: Message) -> Wire:
    """One entry a message, without content that its parts cannot show."""
    wire: Wire = {"role": str(message.role), "parts": write_parts(message.content)}
    return {**wire, "name": message.name} if message.name else wire


def write_parts(blocks: Sequence[Block]) -> list[Wire]:
    return [part for block in blocks if (part := _part(block)) is not None]


def _part(block: Block) -> Wire | None:
    if isinstance(block, MediaBlock):
        return _write_media(block)
    match block:
        case TextBlock(text):
            return {"type": "text", "content": text}
        case ThinkingBlock(text):
            return {"type": "reasoning", "content": text}
        case RefusalBlock(text):
            return {"type": "refusal", "content": text}
        case ToolUseBlock():
            return _write_call(block)
        case ToolResultBlock():
            return _write_result(block)
        case CompactionBlock(text):
            return {"type": "compaction", **({"content": text} if text is not None else {})}
        case UnknownBlock({"otel": dict(part)}):
            return {**part}
    return None


def _write_call(block: ToolUseBlock) -> Wire:
    call: Wire = {"type": "tool_call", "id": block.id, "name": block.name}
    if block.executor == "provider":
        arguments = {"type": block.name, **block.input}
        return {**call, "type": "server_tool_call", "server_tool_call": arguments}
    text = block.raw_arguments
    says = text is not None and recover(text).input == block.input
    return {**call, "arguments": text if says else block.input}


def _write_result(block: ToolResultBlock) -> Wire:
    part: Wire = {"type": "tool_call_response", "id": block.tool_use_id}
    if block.tool_name:
        part["name"] = block.tool_name
    texts = [each.text for each in block.content if isinstance(each, TextBlock)]
    alone = len(block.content) == len(texts) <= 1
    return {**part, "response": "".join(texts) if alone else write_parts(block.content)}


def _write_media(block: MediaBlock) -> Wire | None:
    part: Wire = {"modality": block.type}
    if block.media_type:
        part["mime_type"] = block.media_type
    match block.source:
        case Source("base64", str(data)):
            return {"type": "blob", **part, "content": data}
        case Source("url", str(uri)):
            return {"type": "uri", **part, "uri": uri}
        case Source("file_id", str(name)):
            return {"type": "file", **part, "file_id": name}
    return None


INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
TOOLS = "gen_ai.tool.definitions"
OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
ANSWERED_BY = "gen_ai.response.model"
RESPONSE = "gen_ai.response.id"
ENDS = "gen_ai.response.finish_reasons"
CALL = "gen_ai.tool.call.id"
AGENT = "gen_ai.agent.id"
PROMPT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED = "gen_ai.usage.cache_read.input_tokens"
WRITTEN = "gen_ai.usage.cache_write.input_tokens"
REASONED = "gen_ai.usage.reasoning.output_tokens"
COST = "operation.cost"
"""The cost in US dollars; an attribute of pydantic-ai, not of the conventions."""

OLDER = {
    PROVIDER: ("gen_ai.system",),
    PROMPT_TOKENS: ("gen_ai.usage.prompt_tokens",),
    OUTPUT_TOKENS: ("gen_ai.usage.completion_tokens",),
    WRITTEN: (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
    ),
    REASONED: ("gen_ai.usage.details.reasoning_tokens",),
}
"""Other names of attributes, of earlier versions and of pydantic-ai."""

INFERENCE = ("chat", "text_completion", "generate_content")
"""Operations that call a model."""
TOOL_RUN = "execute_tool"

DETAILS = "gen_ai.client.inference.operation.details"
"""An event with a request's messages, which its span may have too."""
CHOICE = "gen_ai.choice"
ROLES_OF_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events up to 1.36, one a message."""
PROMPTS = ("gen_ai.content.prompt", "gen_ai.prompt")
COMPLETIONS = ("gen_ai.content.completion", "gen_ai.completion")
"""Events up to 1.27, one for all messages, and the attribute that holds them."""

STOPS = {
    "stop": StopReason.END_TURN,
    "end_turn": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "tool_call": StopReason.TOOL_USE,
    "tool_calls": StopReason.TOOL_USE,
    "tool_use": StopReason.TOOL_USE,
    "content_filter": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "compaction": StopReason.PAUSE,
    "error": StopReason.ERROR,
}
STOP_WORDS = {reason: word for word, reason in reversed(STOPS.items())}

PROVIDERS = {word: name for name, word in PROVIDER_WORDS.items()}
"""Names of the convention where they are not ours."""


Attributes = dict[str, Any]
EXPORTED = ("resourceSpans", "resourceLogs", "resourceMetrics")
"""The keys of an exporter's requests; each has one of them."""
_FAILED = (2, "STATUS_CODE_ERROR")


class Event(msgspec.Struct):
    """An event within a span's time: its body, if it has one, else its attributes."""

    name: str
    body: Any


class Record(msgspec.Struct, eq=False):
    """A span, or the log records of one that is missing."""

    where: str
    attributes: Attributes
    trace: str | None = None
    span: str | None = None
    parent: str | None = None
    start: int = 0
    end: int = 0
    failed: bool = False
    events: list[Event] = []
    service: str | None = None


class Records:
    """All spans of a file; log records join the span that they belong to."""

    def __init__(self) -> None:
        self.all: list[Record] = []
        self._by_span: dict[tuple[str, str], Record] = {}
        self._logged: list[tuple[str, Attributes]] = []

    def take(self, exported: dict[str, Any], where: str) -> bool:
        """Takes one request of an exporter: a line of a file, or all of it; False for anything
        else."""
        for resource in objects(exported.get("resourceSpans")):
            service = _attributes(members(resource.get("resource"))).get("service.name")
            for scope in objects(resource.get("scopeSpans")):
                for span in objects(scope.get("spans")):
                    self._span(span, f"{where}, span {len(self.all) + 1}", service)
        for resource in objects(exported.get("resourceLogs")):
            for scope in objects(resource.get("scopeLogs")):
                self._logged.extend((where, each) for each in objects(scope.get("logRecords")))
        return any(key in exported for key in EXPORTED)

    def join(self) -> list[Record]:
        """All of them, once the file is at its end: logs may come before their spans."""
        for where, log in self._logged:
            self._log(log, where)
        self._logged = []
        return self.all

    def _span(self, span: Attributes, where: str, service: Any) -> None:
        status = members(span.get("status")).get("code")
        record = Record(
            where,
            _attributes(span),
            as_text(span.get("traceId")),
            as_text(span.get("spanId")),
            as_text(span.get("parentSpanId")),
            _number(span.get("startTimeUnixNano")),
            _number(span.get("endTimeUnixNano")),
            status in _FAILED,
            service=as_text(service),
        )
        for event in objects(span.get("events")):
            _add_event(record, as_text(event.get("name")), _attributes(event), None)
        self._keep(record)

    def _log(self, log: Attributes, where: str) -> None:
        attributes = _attributes(log)
        name = as_text(log.get("eventName")) or as_text(attributes.get("event.name"))
        if name is None or not name.startswith("gen_ai."):
            return
        trace, span = as_text(log.get("traceId")), as_text(log.get("spanId"))
        record = self._by_span.get((trace or "", span or ""))
        if record is None:
            time = _number(log.get("timeUnixNano")) or _number(log.get("observedTimeUnixNano"))
            record = Record(f"{where}, log of a span", {}, trace, span, None, time, time)
            self._keep(record)
        _add_event(record, name, attributes, plain(log.get("body")))

    def _keep(self, record: Record) -> None:
        """Each span once, though exporters may send one again."""
        if record.trace is not None and record.span is not None:
            if (record.trace, record.span) in self._by_span:
                return
            self._by_span[record.trace, record.span] = record
        self.all.append(record)


def _add_event(record: Record, name: str | None, attributes: Attributes, body: Any) -> None:
    """Add an event's data to its span."""
    if name == DETAILS:
        record.attributes = {**members(body), **attributes, **record.attributes}
    elif name is not None and name.startswith("gen_ai."):
        record.events.append(Event(name, attributes if body is None else body))


def plain(value: Any) -> Any:
    """An attribute's value as JSON has it."""
    match value:
        case {"stringValue": found} | {"boolValue": found} | {"doubleValue": found}:
            return found
        case {"intValue": count}:
            return _number(count)
        case {"arrayValue": {"values": list(values)}}:
            return [plain(each) for each in values]
        case {"kvlistValue": {"values": list(values)}}:
            return _pairs(values)
        case {"arrayValue": _}:
            return []
        case {"kvlistValue": _}:
            return {}
        case {"bytesValue": found}:
            return found
    return None


def any_value(value: Any) -> dict[str, Any]:
    """The inverse of `plain`, for values of attributes."""
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [any_value(each) for each in value]}}
    return {"stringValue": value}


def _attributes(holder: Attributes) -> Attributes:
    return _pairs(holder.get("attributes"))


def _pairs(values: Any) -> Attributes:
    named = (each for each in objects(values) if isinstance(each.get("key"), str))
    return {each["key"]: plain(each.get("value")) for each in named}


def _number(value: Any) -> int:
    """64-bit numbers are text in OTLP's JSON."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0
