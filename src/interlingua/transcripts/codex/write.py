"""Transcripts to Codex's rollouts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec

from interlingua.dialects.registry import dialect
from interlingua.losses import Report
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.transcripts.codex.history import DIALECT, NAME, History
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import Line, joined, spelled
from interlingua.transcripts.memo import KEY, memo
from interlingua.transcripts.retelling import RetoldMessage, retell_messages, tell
from interlingua.transcripts.summary import is_summary, summary_text
from interlingua.transcripts.times import to_iso
from interlingua.transcripts.totals import bare
from interlingua.transcripts.transcript import Compaction, Span, Transcript

VERSION = "0.166.0"
"""Which Codex the lines are made for."""
_STEP = timedelta(milliseconds=1)


def write(transcript: Transcript, name: str) -> Draft:
    """A rollout of its own."""
    report = Report(NAME)
    lines = _Lines(transcript.created_at or datetime.now(UTC))
    lines.add("session_meta", _meta(transcript, lines.time))
    _all(lines, transcript, report)
    if len(transcript.branches) > 1:
        left = len(transcript.branches) - 1
        report.add("dropped", "$.branches", f"{left} other branches stay behind", "warning")
    if transcript.subagents:
        count = len(transcript.subagents)
        report.add("dropped", "$.subagents", f"sessions of {count} helpers stay behind", "warning")
    return Draft({name: lines.data()}, report)


def more(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Lines for the messages from `start` on, behind the last line that is there."""
    lines = _Lines(transcript.updated_at or datetime.now(UTC))
    ordinal = msgspec.json.decode(last).get("ordinal")
    lines.ordinal = ordinal + 1 if isinstance(ordinal, int) else 0
    _all(lines, transcript, Report(NAME), start)
    return lines.data()


def patch(transcript: Transcript, index: int, lines: list[bytes]) -> list[bytes] | None:
    """The items of one message that was changed; None if it no longer has as many."""
    message = transcript.messages[index]
    values = [msgspec.json.decode(line) for line in lines]
    items = [] if is_summary(message) else _items(message)
    if len(items) != len(values):
        return None
    for value, item in zip(values, items, strict=True):
        value["payload"] = {**value["payload"], **item}
    return [spelled(value) for value in values]


class _Lines:
    def __init__(self, time: datetime) -> None:
        self.time = time
        self.ordinal = 0
        self.made: list[dict[str, Any]] = []

    def add(self, kind: str, payload: dict[str, Any], time: datetime | None = None) -> None:
        self.time = max(time or self.time, self.time + _STEP)
        line = {"timestamp": to_iso(self.time), "ordinal": self.ordinal}
        self.made.append({**line, "type": kind, "payload": payload})
        self.ordinal += 1

    def data(self) -> bytes:
        return joined(self.made)


def _meta(transcript: Transcript, time: datetime) -> dict[str, Any]:
    name = _thread(transcript)
    meta = {"session_id": name, "id": name, "timestamp": to_iso(time)}
    meta |= {"cwd": transcript.folder or "/", "originator": "interlingua", "cli_version": VERSION}
    return {**meta, "source": "cli"}


def _all(lines: _Lines, transcript: Transcript, report: Report, start: int = 0) -> None:
    compacted = {each.at: each for each in transcript.compactions}
    history = History(Report(NAME), "openai")
    said: dict[int, list[dict[str, Any]]] = {}
    for told in retell_messages(transcript.messages, DIALECT, report, start > 0):
        if told.at < start:
            continue
        before = len(lines.made)
        if told.original is not None and told.at in compacted:
            _summary(lines, told.message, said, compacted[told.at])
        else:
            _said(lines, told, history, report)
            said[told.at] = [line["payload"] for line in lines.made[before:] if _is_item(line)]
        _remember(lines.made[before:], told, history)
        usage = told.message.metadata.usage
        if told.message.role is Role.ASSISTANT and usage is not None:
            _used(lines, told.message, usage)


def _said(lines: _Lines, told: RetoldMessage, history: History, report: Report) -> None:
    message = told.message
    model = bare(message.metadata.model)
    if message.role is Role.ASSISTANT and model is not None and model != history.model:
        history.model = model
        lines.add("turn_context", {"cwd": "/", "model": model}, message.created_at)
    for item in _items(message, lambda losses: tell(told, losses, report)):
        lines.add("response_item", item, message.created_at)


def _items(
    message: Message, tell: Callable[[Report], None] = lambda losses: None
) -> list[dict[str, Any]]:
    written = dialect(DIALECT).write_request(Request((message,)))
    tell(written.report)
    wire = written.wire
    items = wire.get("input")
    if isinstance(items, str):
        return [_spoken({"role": "user", "content": items})]
    if not items and "instructions" in wire:
        return [_spoken({"role": "developer", "content": wire["instructions"]})]
    return [_spoken(item) if "role" in item else item for item in items or ()]


def _spoken(item: dict[str, Any]) -> dict[str, Any]:
    """A message with a list as its content: Codex skips the whole line where it is a string
    (0.166.0, seen 2026-11-17)."""
    content = item.get("content", [])
    if isinstance(content, str):
        kind = "output_text" if item["role"] == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return {"type": "message", **item, "content": content}


def _is_item(line: dict[str, Any]) -> bool:
    return bool(line["type"] == "response_item")


def _summary(
    lines: _Lines, message: Message, said: dict[int, list[dict[str, Any]]], mark: Compaction
) -> None:
    """`said` are the items of the messages before it, as they were written."""
    kept = [item for at in mark.kept for item in said.get(at, ())]
    summary = _spoken({"role": "user", "content": summary_text(message)})
    again = [*kept, summary] if mark.summary_last else [summary, *kept]
    payload = {"message": summary_text(message), "replacement_history": again}
    lines.add("compacted", payload, message.created_at)


def _remember(made: list[dict[str, Any]], told: RetoldMessage, history: History) -> None:
    """Notes what reading these lines would not give again."""
    items = [line for line in made if line["type"] in ("response_item", "compacted")]
    if not items:
        return
    before = len(history.entries)
    for value in items:
        history.take(Line(0, Span(0, 0), value))
    history.end_answer()
    shown = [entry.message for entry in history.entries[before:]]
    note = memo(told.original, shown[0], told.before, told.after) if len(shown) == 1 else None
    if note is not None:
        items[0][KEY] = note


def _used(lines: _Lines, message: Message, usage: Usage) -> None:
    counts = {
        "input_tokens": usage.prompt_tokens or 0,
        "cached_input_tokens": usage.cached_input_tokens or 0,
        "cache_write_input_tokens": usage.cache_creation_input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "reasoning_output_tokens": usage.reasoning_tokens or 0,
        "total_tokens": usage.total_tokens or 0,
    }
    name = message.metadata.response_id
    lines.add("token_usage_record", {"response_id": name, "usage": counts}, message.created_at)


def _thread(transcript: Transcript) -> str:
    try:
        return str(UUID(transcript.id or ""))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"{transcript.format}:{transcript.id}"))
