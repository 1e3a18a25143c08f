"""Files of UI messages, and recorded UI message streams, to a transcript."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from interlingua.dialects.kernel.preserved import keep, spelling_of
from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.model.blocks import Block, ThinkingBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.files import TranscriptError, contents, lines_in, opened
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import EventsFile, is_events
from interlingua.transcripts.notes import KEY, apply_note, read_session_note
from interlingua.transcripts.rows import first_row, whole_value
from interlingua.transcripts.transcript import (
    Origin,
    OriginFile,
    Transcript,
    summaries_in,
)
from interlingua.transcripts.ui_message.parts import (
    ISSUERS,
    NAME,
    PROVIDERS,
    STOPS,
    Part,
    is_call,
    read_part,
    read_result,
)
from interlingua.transcripts.ui_message.stream import FoldedStream, fold
from interlingua.transcripts.values import (
    as_count,
    as_text,
    decoded,
    from_iso,
    from_millis,
    known,
    members,
    to_millis,
)


def read_usage(wire: Any) -> Usage | None:
    """Both forms: with details (since version 6), and flat. None if it has no counts."""
    if not isinstance(wire, dict):
        return None
    input_details = members(wire.get("inputTokenDetails"))
    made = members(wire.get("outputTokenDetails"))
    prompt, output = as_count(wire.get("inputTokens")), as_count(wire.get("outputTokens"))
    if prompt is None and output is None:
        return None
    cached = _first(input_details.get("cacheReadTokens"), wire.get("cachedInputTokens"))
    written = as_count(input_details.get("cacheWriteTokens"))
    fresh = as_count(input_details.get("noCacheTokens"))
    if fresh is None and prompt is not None:
        fresh = max(prompt - (cached or 0) - (written or 0), 0)
    usage = Usage(
        input_tokens=fresh,
        output_tokens=output,
        cached_input_tokens=cached,
        cache_creation_input_tokens=written,
        reasoning_tokens=_first(made.get("reasoningTokens"), wire.get("reasoningTokens")),
    )
    return usage if _plain(usage) == wire else usage.replace(raw=keep(NAME, None, {"usage": wire}))


def write_usage(usage: Usage) -> dict[str, Any]:
    """In its original form, if that still has these values."""
    original: dict[str, Any] | None = spelling_of(NAME, usage.raw).get("usage")
    if original is not None and read_usage(original) == usage:
        return original
    return _plain(usage)


def _plain(usage: Usage) -> dict[str, Any]:
    details = {
        "noCacheTokens": usage.input_tokens,
        "cacheReadTokens": usage.cached_input_tokens,
        "cacheWriteTokens": usage.cache_creation_input_tokens,
    }
    wire = {
        "inputTokens": usage.prompt_tokens,
        "inputTokenDetails": known(details),
        "outputTokens": usage.output_tokens,
        "outputTokenDetails": known({"reasoningTokens": usage.reasoning_tokens}),
        "totalTokens": usage.total_tokens,
    }
    return known(wire)


def _first(*values: Any) -> int | None:
    return next((each for value in values if (each := as_count(value)) is not None), None)


ROLES = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}
MODELS = ("model", "modelId")
USAGES = ("usage", "totalUsage")
_MADE = re.compile(r"il-\d+")
"""Ids that we gave to messages that had none."""


class _Step(NamedTuple):
    """One answer: the number of borders before it, and its parts."""

    starts: int
    parts: list[Part]
    trailing: int = 0
    """The number of borders behind the last one."""


class _About(NamedTuple):
    """The metadata of a UI message, and the rest of it."""

    created_at: datetime | None
    model: str | None
    usage: Any
    rest: Part
    form: Part


def read_message(ui: Any, apart: bool = False) -> list[Message]:
    """The messages of a UI message: one of the assistant is a whole tool loop, each step of which
    is an answer followed by the results of its calls. `apart`: the message before it is the
    assistant's too."""
    role = ROLES.get(str(_member(ui, "role")))
    if role is None:
        raise ReadError(NAME, "$.role", f"one of {', '.join(ROLES)}", found(_member(ui, "role")))
    parts = ui.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ReadError(NAME, "$.parts", "a list of parts", found(parts))
    about = _about(ui)
    if role is Role.ASSISTANT:
        return list(_answers(ui, parts, about, apart))
    content = tuple(read_part(part) for part in parts)
    message = Message(role, content, id=_id(ui), created_at=about.created_at)
    raw = keep(NAME, about.rest, about.form)
    if raw is None:
        return [message]
    return [replace(message, metadata=MessageMetadata(provider_raw=raw))]


def _member(ui: Any, key: str) -> Any:
    return ui.get(key) if isinstance(ui, dict) else ui


def _id(ui: Part) -> str | None:
    name = ui.get("id")
    return name if isinstance(name, str) and name and not _MADE.fullmatch(name) else None


def _about(ui: Part) -> _About:
    rest = {key: value for key, value in ui.items() if key not in ("id", "role", "parts")}
    metadata = rest.get("metadata")
    if not isinstance(metadata, dict):
        return _About(None, None, None, rest, {})
    metadata = {key: value for key, value in metadata.items() if key != KEY}
    form: Part = {}
    created = metadata.get("createdAt")
    time = from_iso(created) or from_millis(created)
    if time is not None and metadata.pop("createdAt") != to_millis(time):
        form["createdAt"] = created
    model = next((key for key in MODELS if isinstance(metadata.get(key), str)), None)
    if model == "modelId":
        form["model"] = model
    named = metadata.pop(model) if model is not None else None
    usage = None
    for key in USAGES:
        usage = read_usage(metadata.get(key))
        if usage is not None:
            form |= {} if key == "usage" else {"usage": key}
            del metadata[key]
            break
    del rest["metadata"]
    return _About(time, named, usage, {**rest, "metadata": metadata} if metadata else rest, form)


def _answers(ui: Part, parts: list[Part], about: _About, apart: bool) -> Iterator[Message]:
    steps = _steps(parts)
    answers = [step for step in steps if isinstance(step, _Step)]
    first, last = answers[0], answers[-1]
    for step in steps:
        if not isinstance(step, _Step):
            yield _steering(step)
            continue
        form = _borders(step)
        if step is first:
            form |= {**about.form, **({"apart": True} if apart else {})}
        rest = about.rest if step is first else None
        metadata = _metadata(step, parts, about).replace(provider_raw=keep(NAME, rest, form))
        if step is last:
            metadata = metadata.replace(usage=about.usage)
        whose = ISSUERS.get(metadata.provider or "")
        message = Message(Role.ASSISTANT, _content(step.parts, whose), metadata=metadata)
        if step is first:
            message = replace(message, id=_id(ui), created_at=about.created_at)
        yield message
        yield from _results(step.parts)


def _steps(parts: list[Part]) -> list[_Step | Part]:
    """Answers, and a person's parts between two of them."""
    steps: list[_Step | Part] = []
    starts, answered = 0, False
    for part in parts:
        kind = part.get("type")
        if kind == "step-start":
            starts += 1
            answered = False
        elif kind == "steering-message":
            steps.append(part)
            answered = False
        elif answered and isinstance(steps[-1], _Step):
            steps[-1].parts.append(part)
        else:
            steps.append(_Step(starts, [part]))
            starts, answered = 0, True
    places = [at for at, step in enumerate(steps) if isinstance(step, _Step)]
    if not places:
        steps.append(_Step(starts, []))
    elif starts:
        last = steps[places[-1]]
        assert isinstance(last, _Step)
        steps[places[-1]] = last._replace(trailing=starts)
    return steps


def _borders(step: _Step) -> Part:
    form: Part = {} if step.starts == 1 else {"starts": step.starts}
    return {**form, "trailing": step.trailing} if step.trailing else form


def _steering(part: Part) -> Message:
    parts = part.get("parts")
    content = tuple(read_part(each) for each in parts or () if isinstance(each, dict))
    metadata = MessageMetadata(provider_raw=keep(NAME, None, {"steering": True}))
    return Message(Role.USER, content, id=_id(part), metadata=metadata)


def _content(parts: list[Part], whose: str | None) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for part in parts:
        block = read_part(part, whose)
        if isinstance(block, ThinkingBlock) and blocks:
            blocks[-1] = _sealed_once(blocks[-1], block)
        blocks.append(block)
        result = read_result(part) if is_call(part) else None
        if result is not None and part.get("providerExecuted") is True:
            blocks.append(result)
    return tuple(blocks)


def _sealed_once(before: Block, block: ThinkingBlock) -> Block:
    """Each part of an OpenAI item repeats its signature; the last one keeps it."""
    if not isinstance(before, ThinkingBlock) or before.id is None or before.id != block.id:
        return before
    if before.signature is None or before.signature != block.signature:
        return before
    raw = before.raw or {}
    own = raw.get(NAME) or {}
    form = {**(own.get("$form") or {}), "sealed": True}
    return before.replace(signature=None, raw={**raw, NAME: {**own, "$form": form}})


def _results(parts: list[Part]) -> Iterator[Message]:
    for part in parts:
        result = read_result(part) if is_call(part) else None
        if result is not None and part.get("providerExecuted") is not True:
            yield Message.of_result(result)


def _metadata(step: _Step, parts: list[Part], about: _About) -> MessageMetadata:
    issuer = _issuer(step.parts) or _issuer(parts)
    provider, protocol = PROVIDERS.get(issuer or "", (None, None))
    began = _began(step.parts)
    model = as_text(began.get("model")) or about.model
    return MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model,
        provider=provider,
        protocol=protocol,
        response_model=model,
        response_id=as_text(began.get("id")),
    )


def _issuer(parts: list[Part]) -> str | None:
    """The answer's issuer, by the first part that has data of one."""
    for part in parts:
        for key in ("providerMetadata", "callProviderMetadata"):
            metadata = part.get(key)
            for issuer in metadata if isinstance(metadata, dict) else ():
                if issuer in PROVIDERS:
                    return str(issuer)
    return None


def _began(parts: list[Part]) -> Part:
    """The data of Anthropic's provider at the start of an answer."""
    for part in parts:
        match part:
            case {"kind": "anthropic.message_start", "providerMetadata": {"anthropic": dict(it)}}:
                return it
    return {}


_CHUNKS = ("start", "start-step", "text-start", "reasoning-start", "message-metadata")
"""Chunks that a stream may begin with."""


def detect_file(sample: Sample) -> str | None:
    """Messages with typed parts, or the first chunk of a stream."""
    if is_events(sample.head):
        chunk = _first_chunk(sample.head)
        return f"a stream that begins with {chunk}" if chunk in _CHUNKS else None
    row = first_row(sample) or {}
    if isinstance(row.get("messages"), list):
        row = next((each for each in row["messages"] if isinstance(each, dict)), {})
    parts = row.get("parts")
    typed = isinstance(parts, list) and all(map(_is_typed, parts))
    return "messages with typed parts" if typed and "role" in row and "info" not in row else None


def _is_typed(part: Any) -> bool:
    """Whether it is a part, or as much of one as the sample has."""
    return isinstance(part, dict) and ("type" in part or not part)


def _first_chunk(head: bytes) -> Any:
    for line in head.split(b"\n"):
        if line.startswith(b"data:"):
            return members(decoded(line[5:])).get("type")
    return None


def read_file(path: Path) -> Transcript:
    """One conversation: a list of messages, a chat that holds one, or the stream of an answer."""
    with opened(path) as file:
        events = is_events(file.read(64))
    return _read_stream(path) if events else _read_messages(path)


def _read_messages(path: Path) -> Transcript:
    report = Report(NAME)
    data = contents(path)
    value = whole_value(data, report)
    chat = value if isinstance(value, dict) and "messages" in value else {}
    listed = chat["messages"] if chat else [value] if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise TranscriptError(path, "expected a list of UI messages")
    rest = {key: each for key, each in chat.items() if key != "messages"}
    messages = _messages(listed, report)
    return _transcript(messages, path, len(data), report, rest, _session(listed))


def _messages(listed: list[Any], report: Report) -> tuple[Message, ...]:
    found: list[Message] = []
    before = None
    for number, ui in enumerate(listed):
        try:
            found += with_notes(ui, before == "assistant")
        except InterlinguaError as error:
            report.add("dropped", f"$[{number}]", because("unreadable", error=error))
        else:
            before = ui["role"]
    return tuple(found)


def with_notes(ui: Any, apart: bool = False) -> list[Message]:
    """The messages of a UI message, with the notes beside it."""
    shown = read_message(ui, apart)
    notes = _notes(ui)
    each = [apply_note(message, notes.get(str(at))) for at, message in enumerate(shown)]
    order = notes.get("order")
    if isinstance(order, list) and sorted(map(str, order)) == sorted(map(str, range(len(each)))):
        each = [each[at] for at in order]
    return [message for messages in each for message in messages]


def _notes(ui: Any) -> Part:
    metadata = ui.get("metadata") if isinstance(ui, dict) else None
    return members(members(metadata).get(KEY))


def _session(listed: list[Any]) -> Part:
    """A session's data beside the list is stored with its first message."""
    return read_session_note(_notes(listed[0]).get("session") if listed else None)


def _read_stream(path: Path) -> Transcript:
    report = Report(NAME)
    file = EventsFile(path, report)
    stream = fold(line.value for line in file.lines())
    messages = list(with_notes(stream.message))
    if not (stream.finished or stream.error is not None or stream.aborted):
        reason = because("stream_incomplete")
        with opened(path) as opened_file:
            count = sum(1 for _ in lines_in(opened_file, path))
        report.add("dropped", f"line {count}", reason)
    at = max((at for at, each in enumerate(messages) if each.role is Role.ASSISTANT), default=None)
    if at is not None:
        messages[at] = _ended(messages[at], stream)
    session = _session([stream.message])
    return _transcript(tuple(messages), path, file.size, report, {}, session)


def _ended(message: Message, stream: FoldedStream) -> Message:
    """An answer with how its stream ended."""
    metadata = message.metadata
    if stream.finish is not None and metadata.stop_reason is None:
        stop = STOPS.get(stream.finish, StopReason.OTHER)
        metadata = metadata.replace(stop_reason=stop, raw_stop_reason=stream.finish)
    if stream.error is not None:
        metadata = metadata.replace(status=MessageStatus.ERROR, error_message=stream.error)
    elif stream.aborted:
        metadata = metadata.replace(status=MessageStatus.CANCELLED)
    elif not stream.finished:
        metadata = metadata.replace(status=MessageStatus.PARTIAL)
    return replace(message, metadata=metadata)


def _transcript(
    messages: tuple[Message, ...],
    path: Path,
    size: int,
    report: Report,
    chat: Part,
    session: Part,
) -> Transcript:
    file = OriginFile(path, path.name, size)
    times = [message.created_at for message in messages if message.created_at is not None]
    return Transcript.of(
        NAME,
        messages,
        id=as_text(chat.get("id")) or as_text(session.get("id")),
        title=as_text(chat.get("title")) or as_text(session.get("title")),
        folder=as_text(session.get("folder")),
        created_at=times[0] if times else None,
        updated_at=times[-1] if times else None,
        compactions=summaries_in(messages),
        report=report,
        details={"chat": chat} if chat else {},
        origin=Origin(NAME, (file,), messages, tuple(() for _ in messages)),
    )
