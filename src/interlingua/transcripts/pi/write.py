"""Transcripts to pi's files."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec.structs import replace

from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import LineWriter, joined, session_uuid, spelled
from interlingua.transcripts.notes import KEY, note_for
from interlingua.transcripts.pi.read import (
    APIS,
    NAME,
    STOP_WORDS,
    VERSION,
    call_id,
    message_of,
    write_blocks,
)
from interlingua.transcripts.retelling import join_results, leave_instructions
from interlingua.transcripts.transcript import (
    Compaction,
    Transcript,
    bare,
    is_summary,
    summary_text,
)
from interlingua.transcripts.values import to_iso, to_millis

_API_OF = {dialect: api for api, dialect in reversed(APIS.items())}
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def write_file(transcript: Transcript, name: str) -> Draft:
    """A session of its own; pi knows all dialects, so an answer keeps what its API signed."""
    report = Report(NAME)
    entries = _Entries(transcript)
    header = {"type": "session", "version": VERSION, "id": session_uuid(transcript)}
    header |= {"timestamp": to_iso(entries.time), "cwd": transcript.folder or "/"}
    entries.all(transcript, report)
    transcript.report_left_out(report)
    data = joined((header, *entries.made))
    return Draft({name: data}, report)


def append_lines(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Entries for the messages from `start` on, behind the last one that is there."""
    entries = _Entries(transcript)
    entries.parent = msgspec.json.decode(last).get("id")
    entries.time = transcript.updated_at or entries.time
    entries.all(transcript, Report(NAME), start)
    return entries.data()


def patch_lines(transcript: Transcript, index: int, lines: list[bytes]) -> list[bytes] | None:
    """The entry of one message that was changed."""
    value = msgspec.json.decode(lines[0])
    message = transcript.messages[index]
    if value.get("type") != "message" or message.role in (Role.SYSTEM, Role.DEVELOPER):
        return None
    value["message"] = {**value["message"], **_wire_message(message)}
    return [spelled(value)]


class _Entries(LineWriter):
    """Makes entry after entry, each the child of the one before."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript.created_at)
        self.parent: str | None = None
        self._space = uuid5(NAMESPACE_URL, transcript.id or transcript.format)
        self._names: dict[int, str] = {}
        """The entry of each message."""
        self._calls: dict[str, str] = {}
        """What calls are called here, where their API names the item too."""

    def all(self, transcript: Transcript, report: Report, start: int = 0) -> None:
        marks = {mark.at: mark for mark in transcript.compactions}
        messages = transcript.messages
        left = leave_instructions(messages, report) if not start else set()
        joined = join_results(messages, report) if not start else list(messages)
        hidden: list[Message] = []
        for at in range(start, len(messages)):
            message = joined[at]
            if at in left or message is None:
                hidden.append(messages[at])
                continue
            entry = self._entry(message, at, marks.get(at), report)
            self._names[at] = entry["id"]
            shown = message_of(entry)
            if shown is not None and _meant(shown) != _meant(message):
                reason = "pi has no block for part of it; it is kept as extra data"
                report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
            note = None if shown is None else note_for(messages[at], shown, hidden)
            if note is not None:
                entry[KEY] = note
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
        wire = _wire_message(message)
        for part in wire["content"]:
            if part.get("type") == "toolCall" and isinstance(part.get("id"), str):
                self._calls[call_id(part["id"], None)] = part["id"]
        if wire["role"] == "toolResult":
            wire["toolCallId"] = self._calls.get(wire["toolCallId"], wire["toolCallId"])
        entry = self.add(message, at, "message", {"message": wire})
        wire["timestamp"] = to_millis(self.time)
        return entry

    def _compact(
        self, message: Message, at: int, mark: Compaction, report: Report
    ) -> dict[str, Any]:
        """Writes a summary; entries between that are not preserved are removed by edits."""
        preserved = [self._names[each] for each in mark.preserved if each in self._names]
        later, names = list(self._names.values()), set(preserved)
        if preserved:
            for name in later[later.index(preserved[0]) :]:
                if name not in names:
                    self.add(message, at, "context_edit", {"targetId": name, "replacement": None})
            if mark.summary_last:
                reason = "pi puts a summary before the messages it keeps"
                report.add("moved", f"$.messages[{at}]", reason, "info", None, message.id)
        summary = {"summary": summary_text(message), "tokensBefore": 0}
        entry = self.add(message, at, "compaction", summary)
        entry["firstKeptEntryId"] = preserved[0] if preserved else entry["id"]
        return entry

    def _keep_after(self, hidden: list[Message]) -> None:
        """What cannot be told behind the last entry."""
        entry = next(each for each in reversed(self.made) if each["type"] != "context_edit")
        shown = message_of(entry)
        assert shown is not None, "entries of every other kind are messages"
        entry[KEY] = {**(note_for(shown, shown, (), hidden) or {}), **entry.get(KEY, {})}

    def add(self, message: Message, at: int, kind: str, members: dict[str, Any]) -> dict[str, Any]:
        time = self.next_time(message.created_at)
        name = uuid5(self._space, f"{at}:{len(self.made)}:{message.digest()}").hex[:8]
        entry = {"type": kind, "id": name, "parentId": self.parent}
        entry |= {"timestamp": time, **members}
        self.parent = name
        self.made.append(entry)
        return entry


def _meant(message: Message) -> tuple[Block, ...]:
    """Blocks without the spelling of arguments, which are an object here."""
    return tuple(
        replace(block, raw_arguments=None) if isinstance(block, ToolUseBlock) else block
        for block in message.content
    )


def _wire_message(message: Message) -> dict[str, Any]:
    match message.role:
        case Role.ASSISTANT:
            return _answer(message)
        case Role.TOOL:
            return _result(message)
        case _:
            return {"role": "user", "content": write_blocks(message)}


def _answer(message: Message) -> dict[str, Any]:
    metadata = message.metadata
    wire: dict[str, Any] = {"role": "assistant", "content": write_blocks(message)}
    wire["api"] = _API_OF.get(metadata.protocol or "", "anthropic-messages")
    wire["provider"] = metadata.provider or "unknown"
    wire["model"] = bare(metadata.model) or metadata.response_model or "unknown"
    wire["usage"] = _usage(metadata.usage or Usage())
    wire["stopReason"] = STOP_WORDS.get(metadata.stop_reason, "stop")
    if metadata.response_id is not None:
        wire["responseId"] = metadata.response_id
    if metadata.error_message is not None:
        wire["errorMessage"] = metadata.error_message
    return wire


def _usage(usage: Usage) -> dict[str, Any]:
    """All counts are needed: pi adds them up at the next turn."""
    cost = {**_NO_COST, "total": float(usage.cost_usd or 0)}
    counts: dict[str, Any] = {
        "input": usage.input_tokens or 0,
        "output": usage.output_tokens or 0,
        "cacheRead": usage.cached_input_tokens or 0,
        "cacheWrite": usage.cache_creation_input_tokens or 0,
        "totalTokens": usage.total_tokens or 0,
        "cost": cost,
    }
    if usage.reasoning_tokens is not None:
        counts["reasoning"] = usage.reasoning_tokens
    return counts


def _result(message: Message) -> dict[str, Any]:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return {"role": "toolResult", "toolCallId": "", "toolName": "", "content": []}
    content = write_blocks(Message(Role.USER, block.content))
    wire = {"role": "toolResult", "toolCallId": block.tool_use_id}
    return {
        **wire,
        "toolName": block.tool_name or "",
        "content": content,
        "isError": block.is_error,
    }
