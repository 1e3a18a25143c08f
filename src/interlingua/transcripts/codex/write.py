"""Transcripts to Codex's rollouts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from interlingua.dialects.registry import dialect
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.transcripts.codex.history import (
    DIALECT,
    NAME,
    WHOLE,
    History,
    UsualItem,
    is_of_answer,
)
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import Line, LineWriter, session_uuid, spelled
from interlingua.transcripts.notes import (
    KEY,
    RetoldMessage,
    report_losses,
    retell_messages,
)
from interlingua.transcripts.transcript import (
    Compaction,
    Span,
    Transcript,
    bare,
    is_summary,
    summary_text,
)
from interlingua.transcripts.values import to_iso

VERSION = "0.166.0"
"""The version of Codex that the lines are written for."""


def write_file(transcript: Transcript, name: str) -> Draft:
    """A rollout of its own."""
    report = Report(NAME)
    lines = _Lines(transcript.created_at)
    lines.add("session_meta", _meta(transcript, lines.time))
    _all(lines, transcript, report)
    transcript.report_left_out(report)
    return Draft({name: lines.data()}, report)


def append_lines(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Lines for the messages from `start` on, after the last existing line."""
    lines = _Lines(transcript.updated_at)
    ordinal = msgspec.json.decode(last).get("ordinal")
    lines.ordinal = ordinal + 1 if isinstance(ordinal, int) else 0
    _all(lines, transcript, Report(NAME), start)
    return lines.data()


def patch_lines(transcript: Transcript, index: int, lines: list[bytes]) -> list[bytes] | None:
    """The items of one message that was changed; None if it no longer has as many."""
    message = transcript.messages[index]
    values = [msgspec.json.decode(line) for line in lines]
    items = [] if is_summary(message) else _items(message)
    if len(items) != len(values):
        return None
    for value, item in zip(values, items, strict=True):
        value["payload"] = {**value["payload"], **item}
    return [spelled(value) for value in values]


class _Lines(LineWriter):
    ordinal = 0

    def add(self, kind: str, payload: dict[str, Any], time: datetime | None = None) -> None:
        line = {"timestamp": self.next_time(time), "ordinal": self.ordinal}
        self.made.append({**line, "type": kind, "payload": payload})
        self.ordinal += 1


def _meta(transcript: Transcript, time: datetime) -> dict[str, Any]:
    name = session_uuid(transcript)
    meta = {"session_id": name, "id": name, "timestamp": to_iso(time)}
    meta |= {"cwd": transcript.folder or "/", "originator": "interlingua", "cli_version": VERSION}
    return {**meta, "source": "cli"}


def _all(lines: _Lines, transcript: Transcript, report: Report, start: int = 0) -> None:
    compacted = {each.at: each for each in transcript.compactions}
    history = History(Report(NAME), "openai")
    items: dict[int, list[dict[str, Any]]] = {}
    for item in retell_messages(transcript.messages, DIALECT, report, start):
        before = len(lines.made)
        if item.original is not None and item.at in compacted:
            _summary(lines, item.message, items, compacted[item.at])
        else:
            _message_lines(lines, item, history, report)
            made = [line for line in lines.made[before:] if line["type"] == "response_item"]
            items[item.at] = [line["payload"] for line in made]
        _add_note(lines.made[before:], item, history)
        usage = item.message.metadata.usage
        if item.message.role is Role.ASSISTANT and usage is not None:
            _used(lines, item.message, usage)


def _message_lines(lines: _Lines, retold: RetoldMessage, history: History, report: Report) -> None:
    message = retold.message
    if message.role is Role.ASSISTANT:
        model = bare(message.metadata.model) or history.model
        # Items of two answers that follow each other are one answer without a line between them.
        if model != history.model or (lines.made and is_of_answer(lines.made[-1]["payload"])):
            history.model = model
            about = {"cwd": "/"} if model is None else {"cwd": "/", "model": model}
            lines.add("turn_context", about, message.created_at)
    for item in _items(message, lambda losses: report_losses(retold, losses, report)):
        lines.add("response_item", item, message.created_at)


def _items(
    message: Message, report_losses: Callable[[Report], None] = lambda losses: None
) -> list[dict[str, Any]]:
    written = dialect(DIALECT).write_request(Request((message,)))
    report_losses(written.report)
    wire = written.wire
    items = wire.get("input")
    if isinstance(items, str):
        return [_message_item({"role": "user", "content": items})]
    if not items and "instructions" in wire:
        return [_message_item({"role": "developer", "content": wire["instructions"]})]
    return [_message_item(item) if "role" in item else item for item in items or ()]


def _message_item(item: dict[str, Any]) -> dict[str, Any]:
    """A message with a list as its content: Codex skips the whole line where it is a string
    (0.166.0, seen 2026-11-17)."""
    content = item.get("content", [])
    if isinstance(content, str):
        kind = "output_text" if item["role"] == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return {"type": "message", **item, "content": content}


def _summary(
    lines: _Lines, message: Message, items: dict[int, list[dict[str, Any]]], mark: Compaction
) -> None:
    """`said` are the written items of the messages before it."""
    preserved = [item for at in mark.preserved for item in items.get(at, ())]
    summary = _message_item({"role": "user", "content": summary_text(message)})
    again = [*preserved, summary] if mark.summary_last else [summary, *preserved]
    payload = {"message": summary_text(message), "replacement_history": again}
    lines.add("compacted", payload, message.created_at)


def _add_note(made: list[dict[str, Any]], retold: RetoldMessage, history: History) -> None:
    """Adds a note with what these lines alone would lose."""
    items = [line for line in made if line["type"] in ("response_item", "compacted")]
    if not items:
        return
    before = len(history.entries)
    for value in items:
        history.take(Line(0, Span(0, 0), _decoded(value)))
    history.end_answer()
    shown = [entry.message for entry in history.entries[before:]]
    note = retold.note(*shown)
    if note is not None:
        items[0][KEY] = note


def _decoded(value: dict[str, Any]) -> dict[str, Any]:
    """A line as the reader decodes it."""
    try:
        usual = msgspec.convert(value["payload"], UsualItem)
    except msgspec.ValidationError:
        return value
    return {**value, "payload": usual, WHOLE: value["payload"]}


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
