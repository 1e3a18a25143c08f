"""Transcripts to OpenCode's exports, which `opencode import` takes."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus, Usage
from interlingua.transcripts.format import Draft
from interlingua.transcripts.memo import KEY, memo
from interlingua.transcripts.opencode.parts import write_call, write_part
from interlingua.transcripts.opencode.read import NAME, read_message
from interlingua.transcripts.opencode.tables import STOP_WORDS
from interlingua.transcripts.summary import is_summary, summary_text
from interlingua.transcripts.times import to_millis
from interlingua.transcripts.totals import bare
from interlingua.transcripts.transcript import Transcript

VERSION = "1.18.33"
"""Which OpenCode the export is made for."""
_STEP = timedelta(milliseconds=1)
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


def write(transcript: Transcript, name: str) -> Draft:
    """One export; OpenCode speaks many dialects, so an answer keeps what its provider signed."""
    report = Report(NAME)
    export = _Export(transcript)
    export.all(transcript, report)
    if len(transcript.branches) > 1:
        left = len(transcript.branches) - 1
        report.add("dropped", "$.branches", f"{left} other branches stay behind", "warning")
    if transcript.subagents:
        count = len(transcript.subagents)
        report.add("dropped", "$.subagents", f"sessions of {count} helpers stay behind", "warning")
    data = msgspec.json.format(msgspec.json.encode(export.session()), indent=2)
    return Draft({name: data + b"\n"}, report)


class _Export:
    def __init__(self, transcript: Transcript) -> None:
        self.id = session_id(transcript)
        self.transcript = transcript
        self.time = transcript.created_at or datetime.now(UTC)
        self.made: list[dict[str, Any]] = []
        self._asked: str | None = None
        self._count = 0

    def session(self) -> dict[str, Any]:
        folder = self.transcript.folder or "/"
        created = to_millis(self.transcript.created_at or self.time)
        info: dict[str, Any] = {"id": self.id, "slug": "imported", "projectID": "global"}
        info |= {"directory": folder, "title": self.transcript.title or "Imported session"}
        info |= {"version": VERSION, "time": {"created": created, "updated": to_millis(self.time)}}
        return {"info": info, "messages": self.made}

    def all(self, transcript: Transcript, report: Report) -> None:
        messages = transcript.messages
        hidden: list[Message] = []
        at = 0
        while at < len(messages):
            message = messages[at]
            if message.role in _INSTRUCTIONS and not is_summary(message):
                reason = "OpenCode brings instructions of its own"
                report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
                hidden.append(message)
                at += 1
                continue
            results = _results(messages, at)
            self._add(message, results, hidden)
            hidden = []
            at += 1 + len(results)
        if hidden and self.made:
            self._keep_after(hidden)

    def _add(self, message: Message, results: list[Message], hidden: list[Message]) -> None:
        self.time = max(message.created_at or self.time, self.time + _STEP)
        info = self._info(message)
        parts = [self._part(part, info["id"]) for part in _parts(message, results)]
        each = {"info": info, "parts": parts}
        own: dict[str | None, Message] = {_answered(result): result for result in results}
        own[None] = message
        notes = {}
        for at, shown in enumerate(read_message(each)):
            note = memo(own.get(_answered(shown)), shown, () if at else hidden)
            if note is not None:
                notes[str(at)] = note
        if notes:
            info[KEY] = notes
        self.made.append(each)

    def _keep_after(self, hidden: list[Message]) -> None:
        each = self.made[-1]
        *_, shown = read_message(each)
        notes = each["info"].setdefault(KEY, {})
        at = str(len(list(read_message(each))) - 1)
        notes[at] = {**notes.get(at, {}), **(memo(None, shown, (), hidden) or {})}
        if "is" in notes[at]:
            notes[at].pop("added", None)

    def _info(self, message: Message) -> dict[str, Any]:
        name = self._name("msg")
        time = {"created": to_millis(self.time)}
        if message.role is not Role.ASSISTANT and not is_summary(message):
            self._asked = name
            model = {"providerID": "anthropic", "modelID": "unknown"}
            return {
                "role": "user",
                "time": time,
                "agent": "build",
                "model": model,
                **self._ids(name),
            }
        about = message.metadata
        info: dict[str, Any] = {"role": "assistant", "parentID": self._asked or name}
        info |= {"mode": "build", "agent": "build", **_usage(about.usage or Usage())}
        info["path"] = {"cwd": self.transcript.folder or "/", "root": "/"}
        info["modelID"] = bare(about.model) or about.response_model or "unknown"
        info["providerID"] = about.provider or "unknown"
        info["time"] = {**time, "completed": time["created"]}
        if about.stop_reason is not None:
            info["finish"] = STOP_WORDS.get(about.stop_reason, "other")
        if about.status is not MessageStatus.COMPLETE:
            info["error"] = {"name": "UnknownError", "data": {"message": about.error_message or ""}}
        if is_summary(message):
            info |= {"summary": True, "mode": "compaction", "agent": "compaction"}
        return {**info, **self._ids(name)}

    def _ids(self, name: str) -> dict[str, str]:
        return {"id": name, "sessionID": self.id}

    def _part(self, part: dict[str, Any], message: str) -> dict[str, Any]:
        return {**part, "id": self._name("prt"), "sessionID": self.id, "messageID": message}

    def _name(self, kind: str) -> str:
        """Ids ascend with time, as OpenCode sorts by them."""
        self._count += 1
        time = (to_millis(self.time) << 12) + (self._count & 0xFFF)
        return f"{kind}_{time & 0xFFFFFFFFFFFF:012x}{_random(f'{self.id}:{self._count}')}"


def _parts(message: Message, results: list[Message]) -> list[dict[str, Any]]:
    if is_summary(message):
        return [{"type": "text", "text": summary_text(message)}]
    provider = message.metadata.provider or "anthropic"
    by_call = {block.tool_use_id: block for each in results for block in _result_blocks(each)}
    parts = []
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            parts.append(write_call(block, by_call.get(block.id)))
        else:
            part = write_part(block, provider)
            parts += [part] if part is not None else []
    return parts


def _results(messages: tuple[Message, ...], at: int) -> list[Message]:
    """The results that follow a message with calls, in the order of the calls."""
    calls = [block.id for block in messages[at].content if isinstance(block, ToolUseBlock)]
    found: dict[str, Message] = {}
    for message in messages[at + 1 :]:
        blocks = _result_blocks(message)
        if not blocks or blocks[0].tool_use_id not in calls or blocks[0].tool_use_id in found:
            break
        found[blocks[0].tool_use_id] = message
    return [found[name] for name in calls if name in found]


def _answered(message: Message) -> str | None:
    """The call that a message has the result of."""
    blocks = _result_blocks(message)
    return blocks[0].tool_use_id if blocks else None


def _result_blocks(message: Message) -> list[ToolResultBlock]:
    return [block for block in message.content if isinstance(block, ToolResultBlock)]


def _usage(usage: Usage) -> dict[str, Any]:
    reasoning = usage.reasoning_tokens or 0
    cache = {
        "read": usage.cached_input_tokens or 0,
        "write": usage.cache_creation_input_tokens or 0,
    }
    output = max((usage.output_tokens or 0) - reasoning, 0)
    tokens = {"input": usage.input_tokens or 0, "output": output, "reasoning": reasoning}
    return {"cost": float(usage.cost_usd or 0), "tokens": {**tokens, "cache": cache}}


def session_id(transcript: Transcript) -> str:
    name = transcript.id or ""
    if name.startswith("ses_") and name[4:].isalnum():
        return name
    return f"ses_{hashlib.sha256(name.encode()).hexdigest()[:12]}{_random(name)}"


def _random(seed: str) -> str:
    """Fourteen letters that are the same for the same seed."""
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16])
    letters = []
    for _ in range(14):
        number, rest = divmod(number, 62)
        letters.append(_LETTERS[rest])
    return "".join(letters)
