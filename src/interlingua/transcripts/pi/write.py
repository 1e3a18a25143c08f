"""Transcripts to pi's files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec
from msgspec.structs import replace

from interlingua.losses import Report
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import joined, spelled
from interlingua.transcripts.memo import KEY, memo
from interlingua.transcripts.pi.blocks import call_id, write_blocks
from interlingua.transcripts.pi.read import NAME, shown_as
from interlingua.transcripts.pi.tables import APIS, STOP_WORDS, VERSION
from interlingua.transcripts.retelling import leave_instructions
from interlingua.transcripts.summary import is_summary, summary_text
from interlingua.transcripts.times import to_iso, to_millis
from interlingua.transcripts.totals import bare
from interlingua.transcripts.transcript import Compaction, Transcript

_STEP = timedelta(milliseconds=1)
_API_OF = {dialect: api for api, dialect in reversed(APIS.items())}
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def write(transcript: Transcript, name: str) -> Draft:
    """A session of its own; pi knows all dialects, so an answer keeps what its API signed."""
    report = Report(NAME)
    entries = _Entries(transcript)
    header = {"type": "session", "version": VERSION, "id": _session_id(transcript)}
    header |= {"timestamp": to_iso(entries.time), "cwd": transcript.folder or "/"}
    entries.all(transcript, report)
    _tell_left(transcript, report)
    data = joined((header, *entries.made))
    return Draft({name: data}, report)


def more(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Entries for the messages from `start` on, behind the last one that is there."""
    entries = _Entries(transcript)
    entries.parent = msgspec.json.decode(last).get("id")
    entries.time = transcript.updated_at or entries.time
    entries.all(transcript, Report(NAME), start)
    return joined(entries.made)


def patch(transcript: Transcript, index: int, lines: list[bytes]) -> list[bytes] | None:
    """The entry of one message that was changed."""
    value = msgspec.json.decode(lines[0])
    message = transcript.messages[index]
    if value.get("type") != "message" or message.role in (Role.SYSTEM, Role.DEVELOPER):
        return None
    value["message"] = {**value["message"], **_said(message)}
    return [spelled(value)]


class _Entries:
    """Makes entry after entry, each the child of the one before."""

    def __init__(self, transcript: Transcript) -> None:
        self.made: list[dict[str, Any]] = []
        self.parent: str | None = None
        self.time = transcript.created_at or datetime.now(UTC)
        self._space = uuid5(NAMESPACE_URL, transcript.id or transcript.format)
        self._names: dict[int, str] = {}
        """The entry of each message."""
        self._calls: dict[str, str] = {}
        """What calls are called here, where their API names the item too."""

    def all(self, transcript: Transcript, report: Report, start: int = 0) -> None:
        marks = {mark.at: mark for mark in transcript.compactions}
        left = leave_instructions(transcript.messages, report) if not start else set()
        hidden: list[Message] = []
        for at, message in enumerate(transcript.messages):
            if at < start:
                continue
            if at in left:
                hidden.append(message)
                continue
            entry = self._entry(message, at, marks.get(at), report)
            self._names[at] = entry["id"]
            self._remember(entry, message, at, report, hidden)
            hidden = []
        if hidden and self.made:
            self._keep_after(hidden)

    def _entry(
        self, message: Message, at: int, mark: Compaction | None, report: Report
    ) -> dict[str, Any]:
        if is_summary(message):
            return self._compact(message, at, mark or Compaction(at), report)
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            note = {"customType": message.name or str(message.role), "content": message.text}
            return self.add(message, at, "custom_message", {**note, "display": True})
        said = _said(message)
        for part in said["content"]:
            if part.get("type") == "toolCall" and isinstance(part.get("id"), str):
                self._calls[call_id(part["id"], None)] = part["id"]
        if said["role"] == "toolResult":
            said["toolCallId"] = self._calls.get(said["toolCallId"], said["toolCallId"])
        entry = self.add(message, at, "message", {"message": said})
        said["timestamp"] = to_millis(self.time)
        return entry

    def _compact(
        self, message: Message, at: int, mark: Compaction, report: Report
    ) -> dict[str, Any]:
        """A summary, after which all from one entry on is said again; what is not to be said
        is taken out by an edit."""
        kept = [self._names[each] for each in mark.kept if each in self._names]
        later, said_again = list(self._names.values()), set(kept)
        if kept:
            for name in later[later.index(kept[0]) :]:
                if name not in said_again:
                    self.add(message, at, "context_edit", {"targetId": name, "replacement": None})
            if mark.summary_last:
                reason = "pi puts a summary before the messages it keeps"
                report.add("moved", f"$.messages[{at}]", reason, "info", None, message.id)
        summary = {"summary": summary_text(message), "tokensBefore": 0}
        entry = self.add(message, at, "compaction", summary)
        entry["firstKeptEntryId"] = kept[0] if kept else entry["id"]
        return entry

    def _keep_after(self, hidden: list[Message]) -> None:
        """What cannot be told behind the last entry."""
        entry = next(each for each in reversed(self.made) if each["type"] != "context_edit")
        shown = shown_as(entry)
        assert shown is not None, "entries of every other kind are messages"
        entry[KEY] = {**(memo(shown, shown, (), hidden) or {}), **entry.get(KEY, {})}

    def add(self, message: Message, at: int, kind: str, members: dict[str, Any]) -> dict[str, Any]:
        self.time = max(message.created_at or self.time, self.time + _STEP)
        name = uuid5(self._space, f"{at}:{len(self.made)}:{message.digest()}").hex[:8]
        entry = {"type": kind, "id": name, "parentId": self.parent}
        entry |= {"timestamp": to_iso(self.time), **members}
        self.parent = name
        self.made.append(entry)
        return entry

    def _remember(
        self,
        entry: dict[str, Any],
        message: Message,
        at: int,
        report: Report,
        hidden: list[Message],
    ) -> None:
        shown = shown_as(entry)
        if shown is None:
            return
        if _meant(shown) != _meant(message):
            reason = "pi has no block for part of it; it is kept as extra data"
            report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
        note = memo(message, shown, hidden)
        if note is not None:
            entry[KEY] = note


def _meant(message: Message) -> tuple[Block, ...]:
    """Blocks without the spelling of arguments, which are an object here."""
    return tuple(
        replace(block, raw_arguments=None) if isinstance(block, ToolUseBlock) else block
        for block in message.content
    )


def _said(message: Message) -> dict[str, Any]:
    match message.role:
        case Role.ASSISTANT:
            return _answer(message)
        case Role.TOOL:
            return _result(message)
        case _:
            return {"role": "user", "content": write_blocks(message)}


def _answer(message: Message) -> dict[str, Any]:
    metadata = message.metadata
    said: dict[str, Any] = {"role": "assistant", "content": write_blocks(message)}
    said["api"] = _API_OF.get(metadata.protocol or "", "anthropic-messages")
    said["provider"] = metadata.provider or "unknown"
    said["model"] = bare(metadata.model) or metadata.response_model or "unknown"
    said["usage"] = _usage(metadata.usage or Usage())
    said["stopReason"] = STOP_WORDS[metadata.stop_reason] if metadata.stop_reason else "stop"
    if metadata.response_id is not None:
        said["responseId"] = metadata.response_id
    if metadata.error_message is not None:
        said["errorMessage"] = metadata.error_message
    return said


def _usage(usage: Usage) -> dict[str, Any]:
    """All counts are needed: pi adds them up at the next turn."""
    cost = {**_NO_COST, "total": float(usage.cost_usd or 0)}
    told: dict[str, Any] = {
        "input": usage.input_tokens or 0,
        "output": usage.output_tokens or 0,
        "cacheRead": usage.cached_input_tokens or 0,
        "cacheWrite": usage.cache_creation_input_tokens or 0,
        "totalTokens": usage.total_tokens or 0,
        "cost": cost,
    }
    if usage.reasoning_tokens is not None:
        told["reasoning"] = usage.reasoning_tokens
    return told


def _result(message: Message) -> dict[str, Any]:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return {"role": "toolResult", "toolCallId": "", "toolName": "", "content": []}
    content = write_blocks(Message(Role.USER, block.content))
    said = {"role": "toolResult", "toolCallId": block.tool_use_id}
    return {
        **said,
        "toolName": block.tool_name or "",
        "content": content,
        "isError": block.is_error,
    }


def _session_id(transcript: Transcript) -> str:
    try:
        return str(UUID(transcript.id or ""))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"{transcript.format}:{transcript.id}"))


def _tell_left(transcript: Transcript, report: Report) -> None:
    if len(transcript.branches) > 1:
        left = len(transcript.branches) - 1
        report.add("dropped", "$.branches", f"{left} other branches stay behind", "warning")
    if transcript.subagents:
        count = len(transcript.subagents)
        report.add("dropped", "$.subagents", f"sessions of {count} helpers stay behind", "warning")
