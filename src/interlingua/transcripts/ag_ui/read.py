"""Recorded events of AG-UI, inputs of its runs and lists of its messages to a transcript."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from interlingua.errors import found
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.ag_ui.messages import (
    END,
    EVENTS,
    NAME,
    NOTE,
    PROVIDERS,
    ROLES,
    RUN,
    Entry,
    Part,
    Sealed,
    Thread,
    message_id,
    note_of,
    raw_of,
    read_answer,
    read_content,
    read_result,
    read_thinking,
    unsealed,
    whose,
)
from interlingua.transcripts.files import TranscriptError, contents, opened
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import is_events, recorded
from interlingua.transcripts.notes import KEY, apply_note, read_session_note
from interlingua.transcripts.rows import first_row, read_tools, whole_value
from interlingua.transcripts.transcript import (
    Branch,
    Origin,
    OriginFile,
    SubAgent,
    Transcript,
    models_of,
    summaries_in,
    total,
    usage_of,
    usage_with,
)
from interlingua.transcripts.values import as_count, as_text, listed, objects


def detect_file(sample: Sample) -> str | None:
    """The input of a run, or an event."""
    head = sample.head
    if is_events(head):
        head = next((line[5:] for line in head.split(b"\n") if line.startswith(b"data:")), b"")
    row = first_row(Sample(sample.path, head)) or {}
    if "threadId" in row and "runId" in row and "messages" in row:
        return "the input of a run"
    kind = row.get("type")
    return f"an event {kind}" if isinstance(kind, str) and kind.upper() in EVENTS else None


def read_file(path: Path) -> Transcript:
    """One thread: lines or server-sent events, one JSON value with events, or messages alone."""
    report = Report(NAME)
    with opened(path) as file:
        head = file.read(1 << 16)
    thread = Thread()
    last = 1
    if not is_events(head) and _is_one_value(head):
        data = contents(path)
        for event in _values(data, path, report):
            thread.feed(event)
        size = len(data)
    else:
        lines = recorded(path, report)
        for line in lines.lines():
            thread.feed(line.value, line.span)
            last = line.number
        size = lines.size
    thread.close()
    if not thread.entries and thread.id is None:
        raise TranscriptError(path, "it contains no events and no messages")
    if thread.running is not None:
        reason = because("run_unfinished", run=thread.running)
        report.add("dropped", f"line {last}", reason)
    return _transcript(thread, OriginFile(path, path.name, size), report)


def _is_one_value(head: bytes) -> bool:
    """Whether it is one JSON value, and not one a line."""
    first, feed, _ = head.lstrip().partition(b"\n")
    return first.startswith(b"[") or (bool(feed) and not first.rstrip().endswith(b"}"))


def _values(data: bytes, path: Path, report: Report) -> list[Part]:
    value = whole_value(data, report)
    if isinstance(value, dict):
        return [value]
    listed = [each for each in value if isinstance(each, dict)] if isinstance(value, list) else None
    if listed is None:
        raise TranscriptError(path, f"expected events or messages, found {found(value)}")
    if listed and all(
        "role" in each and str(each.get("type")).upper() not in EVENTS for each in listed
    ):
        return [{"messages": listed}]
    return listed


class ReadMessage(NamedTuple):
    """A message, its source, and its notes."""

    message: Message
    entry: Entry
    note: Any = None


class _Reading:
    """Turns entries into messages; thinking waits for its answer."""

    def __init__(self, report: Report) -> None:
        self.messages: list[ReadMessage] = []
        self._report = report
        self._thoughts: list[tuple[Entry, Block, Sealed | None]] = []
        self._tools: dict[str, str] = {}
        self._first = 0
        """The first message of the run."""

    def all(self, entries: Iterable[Entry]) -> list[ReadMessage]:
        for entry in entries:
            role = entry.role
            if role == "reasoning":
                block, known = read_thinking(entry.message)
                self._thoughts.append((entry, block, known))
            elif role == "assistant":
                self._answer(entry)
            else:
                self._think()
                self._other(role, entry)
        self._think()
        return self.messages

    def _other(self, role: str, entry: Entry) -> None:
        wire = entry.message
        if role == NOTE:
            if self.messages:
                self.messages[-1] = self.messages[-1]._replace(note=wire.get("value"))
        elif role == RUN:
            self._first = len(self.messages)
        elif role == END:
            self._end(wire)
        elif role == "tool":
            result = read_result(wire, self._tools.get(str(wire.get("toolCallId"))))
            self._add(replace(result, id=message_id(wire)), entry, wire)
        elif role in ROLES:
            name = wire.get("name")
            content = read_content(wire.get("content"))
            message = Message(ROLES[role], content, name if isinstance(name, str) else None)
            self._add(_with_raw(message, wire), entry, wire)
        else:
            reason = because(
                "unreadable", error=f"expected a role of AG-UI, found {found(wire.get('role'))}"
            )
            where = wire.get("id") if isinstance(wire.get("id"), str) else "$"
            self._report.add("dropped", str(where), reason)

    def _think(self) -> None:
        """Thinking that no answer followed."""
        if self._thoughts:
            self._answer(Entry({"role": "assistant"}, self._thoughts[0][0].time))

    def _answer(self, entry: Entry) -> None:
        wire, waiting = entry.message, self._thoughts
        self._thoughts = []
        content = (*(block for _, block, _ in waiting), *read_answer(wire))
        for block in content:
            if isinstance(block, ToolUseBlock):
                self._tools[block.id] = block.name
        known = [each for *_, each in waiting]
        calls = wire.get("toolCalls")
        values = [wire, *(calls if isinstance(calls, list) else ())]
        known += [unsealed(each.get("encryptedValue")) for each in values if isinstance(each, dict)]
        message = Message(Role.ASSISTANT, content)
        name = wire.get("name")
        if isinstance(name, str):
            message = replace(message, name=name)
        about = whose(known)
        if about is not None:
            message = replace(message, metadata=about)
        aside = (
            ("encryptedValue",) if isinstance(wire.get("content"), str) and wire["content"] else ()
        )
        first = waiting[0][0] if waiting else entry
        self._add(_with_raw(message, wire, *aside), first, wire)

    def _add(self, message: Message, entry: Entry, wire: Part) -> None:
        message = replace(message, id=message_id(wire), created_at=entry.time)
        self.messages.append(ReadMessage(message, entry, note_of(wire)))

    def _end(self, outcome: Part) -> None:
        """Records a run's end on its last answer, or on an empty one if there is none."""
        places = [
            at
            for at in range(self._first, len(self.messages))
            if self.messages[at].message.role is Role.ASSISTANT
        ]
        usages = objects(outcome.get("usage"))
        if not places:
            if "error" not in outcome:
                return
            self._add(Message(Role.ASSISTANT, ()), Entry({}), {})
            places = [len(self.messages) - 1]
        if len({str(each.get("model")) for each in usages}) == 1:
            for at in places:
                self._name(at, usages[0])
        metadata = self.messages[places[-1]].message.metadata
        if usages:
            metadata = metadata.replace(usage=total(map(_usage, usages)))
        if "error" in outcome:
            metadata = metadata.replace(status=MessageStatus.ERROR, error_message=outcome["error"])
        elif outcome.get("partial"):
            metadata = metadata.replace(status=MessageStatus.PARTIAL)
        elif outcome.get("cancelled"):
            metadata = metadata.replace(status=MessageStatus.CANCELLED)
        self._set_metadata(places[-1], metadata)

    def _name(self, at: int, usage: Part) -> None:
        metadata = self.messages[at].message.metadata
        named, model = usage.get("provider"), usage.get("model")
        provider, protocol = PROVIDERS.get(str(named), (named, None))
        if metadata.provider is None and isinstance(provider, str):
            metadata = metadata.replace(provider=provider, protocol=protocol)
        if isinstance(model, str):
            whole = f"{metadata.provider}:{model}" if metadata.provider else model
            metadata = metadata.replace(model=whole, response_model=model)
        self._set_metadata(at, metadata)

    def _set_metadata(self, at: int, metadata: MessageMetadata) -> None:
        read_message = self.messages[at]
        self.messages[at] = read_message._replace(
            message=replace(read_message.message, metadata=metadata)
        )


def _with_raw(message: Message, wire: Part, *aside: str) -> Message:
    raw = raw_of(wire, *aside)
    if raw is None:
        return message
    return replace(message, metadata=message.metadata.replace(provider_raw=raw))


def _usage(counts: Part) -> Usage:
    """The totals include their parts."""
    names = ("inputTokens", "outputTokens", "cachedInputTokens", "cacheWriteInputTokens")
    reasoned = as_count(counts.get("reasoningTokens"))
    return usage_with(*[as_count(counts.get(name)) for name in names], reasoning_tokens=reasoned)


def read_entries(entries: Iterable[Entry], report: Report) -> list[ReadMessage]:
    """The messages of entries, as they are shown."""
    return _Reading(report).all(entries)


def _with_notes(entries: Iterable[Entry], report: Report) -> list[tuple[Message, Entry]]:
    """The original messages, and the source of each."""
    return [
        (message, read_message.entry)
        for read_message in read_entries(entries, report)
        for message in apply_note(read_message.message, read_message.note)
    ]


def _transcript(thread: Thread, file: OriginFile | None, report: Report) -> Transcript:
    main = _with_notes(thread.entries, report)
    others = [_with_notes(way, Report(NAME)) for way in thread.ways]
    messages = tuple(message for message, _ in main)
    left = [tuple(message for message, _ in way) for way in others]
    every = {(id(entry), m.id): m for way in (*others, main) for m, entry in way}.values()
    times = [message.created_at for message in messages if message.created_at is not None]
    session = _session(thread)
    functions = listed(thread.inputs[-1].get("tools")) if thread.inputs else []
    tools = [{"type": "function", "function": each} for each in functions]
    helpers = tuple(_helper(name, each, report) for name, each in thread.helpers.items())
    spans = tuple((entry.span,) if entry.span is not None else () for _, entry in main)
    return Transcript.of(
        NAME,
        messages,
        id=as_text(session.get("id")) or thread.id,
        title=as_text(session.get("title")),
        folder=as_text(session.get("folder")),
        created_at=times[0] if times else None,
        updated_at=times[-1] if times else None,
        models=models_of(every),
        usage=usage_of(every),
        branches=(*(Branch(None, way) for way in left), Branch(None, messages, True)),
        compactions=summaries_in(messages),
        subagents=helpers,
        tools=read_tools(tools, "openai-chat", report, "$.tools"),
        report=report,
        details={"beside": thread.beside} if thread.beside else {},
        origin=None if file is None else Origin(NAME, (file,), messages, spans),
    )


def _helper(name: str, thread: Thread, report: Report) -> SubAgent:
    helper = _transcript(thread, None, report)
    title = as_text(thread.started.get("name"))
    return SubAgent(
        helper.replace(id=name, title=title), as_text(thread.started.get("parentToolCallId"))
    )


def _session(thread: Thread) -> Part:
    """Our data of a session in the input of its first run."""
    props = thread.inputs[0].get("forwardedProps") if thread.inputs else None
    return read_session_note(props.get(KEY) if isinstance(props, dict) else None)
