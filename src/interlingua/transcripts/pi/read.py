"""pi's files to a transcript."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.losses import Report
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, Usage
from interlingua.transcripts.errors import TranscriptError
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import Line, LinesFile
from interlingua.transcripts.memo import KEY, recall
from interlingua.transcripts.pi.blocks import call_id, read_blocks, sections
from interlingua.transcripts.pi.tables import APIS, STOPS
from interlingua.transcripts.summary import is_summary, summary_message
from interlingua.transcripts.times import from_iso
from interlingua.transcripts.totals import model_changes, models_of
from interlingua.transcripts.transcript import Compaction, Origin, OriginFile, Transcript
from interlingua.transcripts.tree import Entry, Node, Ways, mark_continued, way_to

NAME = "pi"
_HEADER = b'{"type":"session"'


def signs(sample: Sample) -> str | None:
    """The first line is a session's header."""
    first = sample.head.partition(b"\n")[0].replace(b" ", b"")
    if first.startswith(_HEADER) and b'"cwd"' in first:
        return "a first line of type session"
    return None


def read(path: Path) -> Transcript:
    """One session."""
    report = Report(NAME)
    file = LinesFile(path, report)
    lines = list(file.lines())
    if not lines or lines[0].value.get("type") != "session":
        raise TranscriptError(path, "it does not start with a session header")
    return _Session(lines, report).transcript(file.origin())


class _Session:
    def __init__(self, lines: list[Line], report: Report) -> None:
        self.header = lines[0].value
        self.lines = lines[1:]
        self.report = report
        self.nodes = _nodes(self.lines)
        edits = [each.value for each in self.lines if each.value.get("type") == "context_edit"]
        self.edits = {each.get("targetId"): each.get("replacement") for each in edits}
        """What is said in the place of an entry: the last edit counts; None: nothing."""

    def transcript(self, file: OriginFile) -> Transcript:
        self._tell_edits()
        tip = self.nodes[-1] if self.nodes else None
        ways = Ways(self._entries)
        entries = ways.entries(tip)
        messages = tuple(entry.message for entry in entries)
        branches = ways.branches(self.nodes, _last_spoken(tip))
        return Transcript(
            format=NAME,
            messages=messages,
            id=_text(self.header.get("id")),
            title=self._title(),
            folder=_text(self.header.get("cwd")),
            created_at=from_iso(self.header.get("timestamp")),
            updated_at=from_iso(self.lines[-1].value.get("timestamp")) if self.lines else None,
            models=models_of(messages),
            usage=ways.usage(self.nodes),
            branches=branches,
            compactions=self._compactions(entries),
            model_changes=model_changes(messages),
            report=self.report,
            details={"version": self.header.get("version", 1)},
            origin=Origin(NAME, (file,), messages, tuple(entry.spans for entry in entries)),
        )

    def _entries(self, node: Node) -> list[Entry]:
        line = node.lines[0]
        value = line.value
        try:
            shown = _message(value)
        except InterlinguaError as error:
            self.report.add("dropped", f"line {line.number}", str(error), "error")
            return []
        if shown is None:
            return []
        note = value.get(KEY)
        if note is None:
            return [Entry(shown, node.lines, is_summary(shown))]
        return [Entry(each, node.lines, is_summary(each)) for each in recall(shown, note)]

    def _compactions(self, entries: list[Entry]) -> tuple[Compaction, ...]:
        if not any(entry.compaction for entry in entries):
            return ()
        names = (_text(entry.lines[0].value.get("id")) for entry in entries)
        places = {name: at for at, name in enumerate(names)}
        marks = []
        for at, entry in enumerate(entries):
            if entry.compaction:
                first = self._first_kept(entry.lines[0].value, places, at)
                kept = [i for i in range(first, at) if self._is_kept(entries[i])]
                marks.append(Compaction(at, tuple(kept)))
        return tuple(marks)

    def _is_kept(self, entry: Entry) -> bool:
        edits = self.edits.get(entry.lines[0].value.get("id"), ...)
        return entry.message.role is not Role.SYSTEM and edits is not None

    def _tell_edits(self) -> None:
        """What the model sees in the place of an entry stays in the file."""
        for line in self.lines:
            if line.value.get("type") == "context_edit" and line.value.get("replacement"):
                reason = "an edit of the model's context is left in the file"
                self.report.add("dropped", f"line {line.number}", reason, "warning")

    def _first_kept(self, value: dict[str, Any], places: dict[Any, int], at: int) -> int:
        """The first message that is still said; an entry that is no message stands for the next."""
        name = _text(value.get("firstKeptEntryId"))
        if name in places:
            return places[name]
        later = False
        for line in self.lines:
            later = later or line.value.get("id") == name
            if later and _text(line.value.get("id")) in places:
                return min(places[line.value["id"]], at)
        return at

    def _title(self) -> str | None:
        for line in reversed(self.lines):
            if line.value.get("type") == "session_info":
                return _text(line.value.get("name"))
        return None


def _nodes(lines: list[Line]) -> list[Node]:
    """Entries with their parents; in files without ids (version 1) each follows the one before."""
    nodes = [Node([line], line.value.get("type") == "message") for line in lines]
    names = [line.value.get("id") for line in lines]
    by_id = {name: at for name, at in zip(names, nodes, strict=True) if type(name) is str and name}
    before: Node | None = None
    for node in nodes:
        value = node.lines[0].value
        above = value.get("parentId")
        if "id" not in value:
            node.parent = before
        elif type(above) is str:
            node.parent = by_id.get(above)
        before = node
    mark_continued(nodes)
    return nodes


def _last_spoken(tip: Node | None) -> Node | None:
    if tip is None or tip.spoken:
        return tip
    return next((node for node in reversed(way_to(tip)) if node.spoken), None)


def _said(value: dict[str, Any]) -> dict[str, Any]:
    message = value.get("message")
    return message if isinstance(message, dict) else {}


def _message(value: dict[str, Any]) -> Message | None:
    """The message of an entry; None for those that say nothing to the model."""
    kind = value.get("type")
    if kind == "message":
        return _spoken(_said(value), _text(value.get("id")), from_iso(value.get("timestamp")))
    match kind:
        case "compaction":
            message = summary_message(_text(value.get("summary")) or "")
        case "branch_summary":
            text = _text(value.get("summary")) or ""
            message = Message(Role.SYSTEM, (TextBlock(text),), "branch_summary")
        case "custom_message":
            content = tuple(read_blocks(value.get("content"), None))
            message = Message(Role.SYSTEM, content, _text(value.get("customType")))
        case _:
            return None
    return replace(message, id=_text(value.get("id")), created_at=from_iso(value.get("timestamp")))


def _spoken(said: dict[str, Any], id: str | None, time: datetime | None) -> Message:
    name: str | None = None
    content: tuple[Block, ...]
    match said.get("role"):
        case "assistant":
            return _answer(said, id, time)
        case "toolResult":
            block = _result(said)
            metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id)
            return Message(Role.TOOL, (block,), id=id, metadata=metadata, created_at=time)
        case "user":
            content = tuple(read_blocks(said.get("content"), None))
            return Message(Role.USER, content, id=id, created_at=time)
        case "system":
            content = _texts(sections(said))
        case "bashExecution" as name:
            content = _texts(f"$ {said.get('command', '')}\n{said.get('output', '')}")
        case "custom" | "hookMessage" as role:
            content = tuple(read_blocks(said.get("content"), None))
            name = _text(said.get("customType")) or role
        case other:
            raise ReadError("pi", "$.message.role", "a role of pi", found(other))
    return Message(Role.SYSTEM, content, name, id=id, created_at=time)


def _answer(said: dict[str, Any], id: str | None, time: datetime | None) -> Message:
    protocol = APIS.get(str(said.get("api")))
    stop = STOPS.get(str(said.get("stopReason")))
    provider, model = _text(said.get("provider")), _text(said.get("model"))
    metadata = MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model,
        provider=provider,
        protocol=protocol,
        response_model=model,
        response_id=_text(said.get("responseId")),
        usage=_usage(said),
        stop_reason=stop,
        raw_stop_reason=_text(said.get("rawStopReason")),
        status=_status(said.get("stopReason")),
        error_message=_text(said.get("errorMessage")),
    )
    content = tuple(read_blocks(said.get("content"), protocol))
    return Message(Role.ASSISTANT, content, id=id, metadata=metadata, created_at=time)


def _status(stop: Any) -> MessageStatus:
    if stop == "error":
        return MessageStatus.ERROR
    return MessageStatus.CANCELLED if stop == "aborted" else MessageStatus.COMPLETE


def _result(said: dict[str, Any]) -> ToolResultBlock:
    name = said.get("toolCallId")
    if not isinstance(name, str):
        raise ReadError("pi", "$.message.toolCallId", "a string", found(name))
    content: Any = tuple(read_blocks(said.get("content"), None))
    failed = said.get("isError") is True
    return ToolResultBlock(call_id(name, None), content, failed, _text(said.get("toolName")))


def _usage(said: dict[str, Any]) -> Usage | None:
    usage = said.get("usage")
    if not isinstance(usage, dict) or said.get("role") != "assistant":
        return None
    cost = usage.get("cost")
    spent = cost.get("total") if isinstance(cost, dict) else None
    return Usage(
        input_tokens=_count(usage.get("input")),
        output_tokens=_count(usage.get("output")),
        cached_input_tokens=_count(usage.get("cacheRead")),
        cache_creation_input_tokens=_count(usage.get("cacheWrite")),
        reasoning_tokens=_count(usage.get("reasoning")),
        cost_usd=Decimal(repr(spent)) if type(spent) in (int, float) else None,
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _text(value: Any) -> str | None:
    return value if type(value) is str and value else None


def _texts(text: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text),) if text else ()


def shown_as(value: dict[str, Any]) -> Message | None:
    """What an entry that was just made is read as, without what is noted in it."""
    return _message(value)
