"""Codex's rollouts to a transcript."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import msgspec
from msgspec.structs import replace

from interlingua.errors import InterlinguaError
from interlingua.model.blocks import TextBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.model.reasons import because
from interlingua.transcripts.codex.history import (
    MODEL_MADE,
    NAME,
    OUTPUTS,
    WHOLE,
    History,
    UsualItem,
    read_items,
    results,
    typed,
)
from interlingua.transcripts.files import TranscriptError
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import Entry, Line, LinesFile, whole
from interlingua.transcripts.notes import KEY
from interlingua.transcripts.transcript import (
    Answer,
    Branch,
    Compaction,
    Origin,
    OriginFile,
    Overview,
    SubAgent,
    Transcript,
    name_of,
    summary_text,
    title_of,
    total,
)
from interlingua.transcripts.values import as_text, decoded, from_iso, members

THREAD = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<thread>[0-9a-f-]{36})(?P<part>_[0-9a-f-]{36})?\.jsonl"
    r"(?P<packed>\.zst)?"
)

_THREAD_ID = re.compile("[0-9A-Za-z-]{1,64}")
"""Characters that are not patterns of file names."""
_TURNS = (Role.USER, Role.ASSISTANT, Role.TOOL)
_UNDATED = "rollout-0000-00-00T00-00-00-"
_MOST_HELPERS = 1000
_DEEPEST = 16
"""The longest chain of files that continue one another."""


def rollouts_of(thread: str, beside: Path) -> list[Path]:
    """The files of a thread: in the folder of another rollout, or anywhere in its tree."""
    if _THREAD_ID.fullmatch(thread) is None:
        return []
    here = rollouts_in(beside.parent.glob(f"rollout-*-{thread}*.jsonl*"))
    if here:
        return here
    tree = next((each for each in beside.parents if each.name == "sessions"), None)
    return rollouts_in(tree.rglob(f"rollout-*-{thread}*.jsonl*")) if tree else []


def rollouts_in(paths: Iterable[Path]) -> list[Path]:
    """Old ones are packed (Codex 0.156, seen 2026-11)."""
    return sorted(path for path in paths if path.name.endswith((".jsonl", ".jsonl.zst")))


def detect_file(sample: Sample) -> str | None:
    """The first line names its session."""
    first = sample.head.partition(b"\n")[0].replace(b" ", b"")
    if b'"type":"session_meta"' in first and b'"payload"' in first:
        return "a first line of type session_meta"
    return None


def read_file(path: Path) -> Transcript:
    """One session: its rollout, the ones that it continues, and those of its sub-agents."""
    return _Rollout(path, Report(NAME)).transcript()


class _Rollout:
    """One file, read together with the history before it."""

    def __init__(self, path: Path, report: Report, depth: int = 0) -> None:
        self.path = path
        self.report = report
        self.file = LinesFile(path, report)
        lines = self.file.lines(decode=_decode_line)
        first = next(lines, None)
        meta = first.value if first else {}
        if meta.get("type") != "session_meta" or not isinstance(meta.get("payload"), dict):
            raise TranscriptError(path, "it does not start with session metadata")
        self.meta: dict[str, Any] = meta["payload"]
        self.time: str | None = meta.get("timestamp")
        """The time of the last line."""
        self._lines = list(lines) if depth else lines
        """Those behind the first; of a file that others continue they are read more than once."""
        self.base, self.cut = self._base(depth)

    @property
    def thread(self) -> str | None:
        name = self.meta.get("id")
        return name if isinstance(name, str) else None

    def _base(self, depth: int) -> tuple[_Rollout | None, int]:
        """The file that this one continues, and the byte at which it does."""
        about = self.meta.get("history_base")
        if not isinstance(about, dict):
            return None, 0
        thread, end = str(about.get("thread_id")), about.get("end_byte_offset")
        found = [each for each in rollouts_of(thread, self.path) if each != self.path]
        if not found or depth >= _DEEPEST or not isinstance(end, int):
            reason = because("parent_missing", thread=thread)
            self.report.add("dropped", "line 1", reason)
            return None, 0
        return _Rollout(found[0], self.report, depth + 1), end

    def history(self, end: int | None = None) -> History:
        """The history up to a byte of this file, with that of the files before."""
        history = self.base.history(self.cut) if self.base else self._beginning()
        take, line = history.take, None
        for line in self._lines:
            if end is None or line.span.start < end:
                take(line)
        self.time = line.value.get("timestamp") if line is not None else self.time
        history.end_answer()
        if end is not None:  # the lines of another file are copied, never changed
            history.entries = [replace(entry, lines=[]) for entry in history.entries]
        return history

    def _beginning(self) -> History:
        history = History(self.report, self.meta.get("model_provider"))
        about = self.meta.get("base_instructions")
        text = about.get("text") if isinstance(about, dict) else None
        if isinstance(text, str) and text:
            history.entries.append(Entry(Message(Role.SYSTEM, (TextBlock(text),)), []))
        return history

    def transcript(
        self, above: frozenset[str | None] = frozenset(), left: Iterator[int] | None = None
    ) -> Transcript:
        """The session; `above` are the threads that it is a sub-agent of, `left` limits the number
        of its own."""
        history = self.history()
        entries = history.entries
        messages = tuple(entry.message for entry in entries)
        abandoned = self._left()
        more = iter(range(_MOST_HELPERS)) if left is None else left
        helpers, beside = self._helpers(messages, above | {self.thread}, more)
        usages = history.usages + (abandoned[1] if abandoned else [])
        branches = [Branch(self.thread, messages, True)]
        return Transcript.of(
            NAME,
            messages,
            id=self.thread,
            folder=as_text(self.meta.get("cwd")),
            created_at=from_iso(self.meta.get("timestamp")),
            updated_at=from_iso(self.time),
            usage=total(usages),
            branches=tuple(abandoned[0] + branches if abandoned else branches),
            compactions=_compactions(entries),
            subagents=helpers,
            report=self.report,
            details=self._details(),
            origin=Origin(
                NAME,
                (self.file.origin(), *self._files_before(), *beside),
                messages,
                tuple(entry.spans for entry in entries),
            ),
        )

    def _left(self) -> tuple[list[Branch], list[Any]] | None:
        """The abandoned messages of the file before: the same thread, cut off."""
        if self.base is None or self.base.thread != self.thread:
            return None
        there = self.base.history()
        shared = self.base.history(self.cut)
        if len(there.entries) == len(shared.entries):
            return None
        messages = tuple(entry.message for entry in there.entries)
        return [Branch(self.thread, messages)], there.usages[len(shared.usages) :]

    def _files_before(self) -> list[OriginFile]:
        """The files that this one continues, as far as they are in the same folder."""
        found, base = [], self.base
        while base is not None:
            if base.path.parent == self.path.parent:
                found.append(base.file.origin())
            base = base.base
        return found

    def _helpers(
        self, messages: tuple[Message, ...], above: frozenset[str | None], left: Iterator[int]
    ) -> tuple[tuple[SubAgent, ...], list[OriginFile]]:
        callers = _callers(messages)
        helpers, files = [], []
        for thread, call in callers.items():
            for path in () if thread in above else rollouts_of(thread, self.path):
                if next(left, None) is None:
                    break
                try:
                    helper = _Rollout(path, Report(NAME))
                    helpers.append(SubAgent(helper.transcript(above, left), call))
                except (OSError, TranscriptError) as error:
                    self.report.add("dropped", path.name, because("unreadable", error=error))
                    continue
                if path.parent == self.path.parent:
                    files.append(helper.file.origin())
        return tuple(helpers), files

    def _details(self) -> dict[str, Any]:
        found = {"version": self.meta.get("cli_version"), "originator": self.meta.get("originator")}
        found["parent"] = self.meta.get("parent_thread_id")
        return {key: value for key, value in found.items() if isinstance(value, str)}


def _callers(messages: tuple[Message, ...]) -> dict[str, str]:
    """Helpers' threads and the calls that began them, from the calls' results."""
    found: dict[str, str] = {}
    for message in messages:
        for block in results(message) if message.role is Role.TOOL else ():
            text = "".join([each.text for each in block.content if type(each) is TextBlock])
            if '"agent_id"' not in text:
                continue
            thread = members(decoded(text)).get("agent_id")
            if isinstance(thread, str) and THREAD.fullmatch(f"{_UNDATED}{thread}.jsonl"):
                found.setdefault(thread, block.tool_use_id)
    return found


def _compactions(entries: list[Entry]) -> tuple[Compaction, ...]:
    """The replacing history repeats prompts, then has the summary."""
    marks = []
    for at, entry in enumerate(entries):
        if entry.compaction:
            payload = entry.lines[0].value["payload"] if entry.lines else None
            replacement = _again(members(payload).get("replacement_history"))
            keys = {_key(message) for message in replacement if message.role in _TURNS}
            indexes = [i for i in range(at) if _key(entries[i].message) in keys]
            first = bool(replacement) and replacement[0].text == summary_text(entry.message)
            marks.append(Compaction(at, tuple(indexes), summary_last=not first))
    return tuple(marks)


def _again(items: Any) -> list[Message]:
    try:
        return list(read_items(items)) if isinstance(items, list) else []
    except InterlinguaError:
        return []  # nothing of it can be found among the messages before


def _key(message: Message) -> tuple[Role, str, tuple[str, ...], tuple[str, ...]]:
    """The identity of a message that is repeated."""
    calls = tuple(call.id for call in message.tool_calls)
    return message.role, message.text, calls, tuple(each.tool_use_id for each in results(message))


class _Shown(TypedDict, total=False):
    type: Any
    info: Any


class _Event(TypedDict, total=False):
    timestamp: Any
    type: Any
    payload: _Shown


_item: dict[str, Any] = {**dict.fromkeys(("timestamp", "type", KEY), Any), "payload": UsualItem}
_ItemLine = TypedDict("_ItemLine", _item, total=False)  # type: ignore[misc]  # made of a list
_decode_item = msgspec.json.Decoder(_ItemLine).decode
_decode_event = msgspec.json.Decoder(_Event).decode
_LONG, _BEGINNING = 1000, 120
"""Bytes of an event that is worth a look, and in which a line's type stands."""


def _decode_line(line: bytes) -> Any:
    """The value of a line; a usual item is typed. Events repeat what items say: of long ones only
    what is read is built."""
    if line.find(b'"response_item"', 0, _BEGINNING) > 0:
        value = _decode_item(line)
        if value.get("type") == "response_item":
            value[WHOLE] = line  # type: ignore[literal-required]  # a key of ours
            return value
    elif len(line) > _LONG and line.find(b'"event_msg"', 0, _BEGINNING) > 0:
        value = _decode_event(line)
        if value.get("type") == "event_msg":
            return value
    return whole(line)


class _Part(TypedDict, total=False):
    type: Any
    text: Any


class _Search(TypedDict, total=False):
    type: Any
    id: Any
    action: Any


_PAYLOAD = (
    *("type", "role", "id", "model", "usage", "response_id", "info", "cwd", "timestamp"),
    *("parent_thread_id", "history_base", "model_provider", "base_instructions"),
    *("status", "action", "call_id"),
)
_payload: dict[str, Any] = {
    **dict.fromkeys(_PAYLOAD, Any),
    "content": list[_Part] | str | None,
    "item": _Search | None,
}
_Payload = TypedDict("_Payload", _payload, total=False)  # type: ignore[misc]  # made of a list
_line: dict[str, Any] = {"timestamp": Any, "type": Any, "payload": _Payload, KEY: Any}
_Line = TypedDict("_Line", _line, total=False)  # type: ignore[misc]  # made of a list
_decode = msgspec.json.Decoder(_Line).decode
_HELPER = b'agent_id\\"'
"""The spelling of a result that names a helper, whose rollout has to be read, too."""
_ROLES = {"user": Role.USER, "developer": Role.DEVELOPER, "system": Role.SYSTEM}


class _NotPlainError(Exception):
    """The session needs to be read whole."""


class _OverviewHistory(History):
    """The same history, of messages without content; prompts have their text."""

    def take(self, line: Line) -> None:
        if KEY in line.value:
            raise _NotPlainError
        super().take(line)

    def _answered(self, lines: list[Line], usage: Usage | None, response: Any) -> bool:
        self._put(lines[:1], Role.ASSISTANT, (), self._about(False, usage, response))
        return True

    def _item(self, line: Line, item: dict[str, Any]) -> None:
        kind, role = str(item.get("type")), str(item.get("role"))
        if kind in MODEL_MADE or (kind == "message" and role == "assistant"):
            self._answer.append(line)
            return
        self.end_answer()
        if kind in OUTPUTS:
            self._put([line], Role.TOOL)
        elif kind == "message" and role in _ROLES:
            texts = _texts(item.get("content")) if role == "user" else ()
            self._put_message([line], typed(Message(_ROLES[role], texts)))
        else:
            raise _NotPlainError


def overview_at(path: Path, id: str | None) -> Overview | None:
    """None for a rollout that continues another, has sub-agents, or has notes of another tool."""
    try:
        return _overview(path)
    except _NotPlainError:
        return None


def _overview(path: Path) -> Overview | None:
    lines = LinesFile(path, Report(NAME)).lines(decode=_plain)
    first = next(lines, None)
    meta = first.value.get("payload") if first is not None else None
    if first is None or first.value.get("type") != "session_meta" or not isinstance(meta, dict):
        return None
    if meta.get("history_base") is not None:
        raise _NotPlainError
    history = _OverviewHistory(Report(NAME), meta.get("model_provider"))
    line = first
    for line in lines:
        history.take(line)
    history.end_answer()
    messages = tuple(entry.message for entry in history.entries)
    about = meta.get("base_instructions")
    instructions = about.get("text") if isinstance(about, dict) else None
    return Overview(
        meta.get("id") if isinstance(meta.get("id"), str) else None,
        title_of(messages),
        meta.get("cwd") or None,
        from_iso(meta.get("timestamp")),
        from_iso(line.value.get("timestamp")),
        len(messages) + bool(instructions),
        tuple(_answers(messages)),
        meta.get("parent_thread_id"),
    )


def _plain(line: bytes) -> Any:
    if _HELPER in line:
        raise _NotPlainError
    return _decode(line)


def _texts(content: Any) -> tuple[TextBlock, ...]:
    if type(content) is str:
        return (TextBlock(content),)
    parts = content if type(content) is list else []
    texts = (part.get("text") for part in parts if type(part) is dict)
    return tuple(TextBlock(text) for text in texts if type(text) is str)


def _answers(messages: tuple[Message, ...]) -> list[Answer]:
    return [
        Answer(each.metadata.model, each.metadata.usage, each.created_at, name_of(each))
        for each in messages
        if each.metadata.usage is not None
    ]
