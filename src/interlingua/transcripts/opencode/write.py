"""Transcripts to OpenCode's exports, which `opencode import` takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.format import Draft
from interlingua.transcripts.notes import (
    KEY,
    join_results,
    leave_instructions,
    note_for,
    report_unshown,
)
from interlingua.transcripts.opencode.read import (
    AGAIN,
    NAME,
    PROVIDERS,
    STOP_WORDS,
    read_message,
    write_call,
    write_part,
)
from interlingua.transcripts.transcript import (
    Compaction,
    Transcript,
    bare,
    is_summary,
    summary_text,
)
from interlingua.transcripts.values import to_millis

VERSION = "1.18.33"
"""The version of OpenCode that the export is written for."""
_STEP = timedelta(milliseconds=1)
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)


def write_file(transcript: Transcript, name: str) -> Draft:
    """One export; OpenCode has many dialects, so an answer keeps its provider's signatures."""
    report = Report(NAME)
    export = _Export(transcript)
    export.all(transcript, report)
    transcript.report_left_out(report)
    data = msgspec.json.format(msgspec.json.encode(export.session()), indent=2)
    return Draft({name: data + b"\n"}, report)


class _Export:
    def __init__(self, transcript: Transcript) -> None:
        self.id = session_id(transcript)
        self.transcript = transcript
        self.time = transcript.created_at or datetime.now(UTC)
        self.made: list[dict[str, Any]] = []
        self._prompt_id: str | None = None
        self._model = ("anthropic", "unknown")
        self._places: dict[int, int] = {}
        """For each message of the session, the index of the written message that contains it."""
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
        marks = {mark.at: mark for mark in transcript.compactions}
        left = leave_instructions(messages, report)
        joined = join_results(messages, report)
        hidden: list[Message] = []
        at = 0
        while at < len(messages):
            message = joined[at]
            if at in left or message is None:
                hidden.append(messages[at])
                at += 1
                continue
            results = _results(joined, at)
            if is_summary(message):
                self._ask_for_summary(marks.get(at))
            self._model = _next_model(messages, at) or self._model
            own = [messages[place] for place in (at, *results)]
            shown = self._add(message, list(results.values()), own, hidden)
            for place, each in {at: message, **results}.items():
                report_unshown(each, shown.get(_answered(each), ()), place, "OpenCode", report)
            self._places |= dict.fromkeys((at, *results), len(self.made) - 1)
            if is_summary(message):
                self._keep(marks.get(at), at, report)
            end = max(results, default=at) + 1
            hidden = [messages[each] for each in range(at + 1, end) if each not in results]
            at = end
        if hidden and self.made:
            self._keep_after(hidden)

    def _ask_for_summary(self, mark: Compaction | None) -> None:
        """The request before a summary; it names the first message that is repeated behind it."""
        self.time += _STEP
        info = self._prompt(self._name("msg"))
        tail: dict[str, Any] = {}
        if mark is not None and _is_tail(mark) and mark.preserved[0] in self._places:
            tail["tail_start_id"] = self.made[self._places[mark.preserved[0]]]["info"]["id"]
        part = self._part({"type": "compaction", "auto": False, **tail}, info["id"])
        self.made.append({"info": info, "parts": [part]})

    def _keep(self, mark: Compaction | None, at: int, report: Report) -> None:
        """OpenCode repeats everything from one message on; selected messages are written once
        more."""
        if mark is None or not mark.preserved:
            return
        if mark.summary_last:
            reason = because("summary_moved")
            report.add("moved", f"$.messages[{at}]", reason, "info", None, None)
        if not _is_tail(mark):
            for place in dict.fromkeys(
                self._places[at] for at in mark.preserved if at in self._places
            ):
                self._again(self.made[place])

    def _again(self, each: dict[str, Any]) -> None:
        self.time += _STEP
        name = self._name("msg")
        now = to_millis(self.time)  # messages are sorted by their times
        info = {**each["info"], "id": name, "time": dict.fromkeys(each["info"]["time"], now)}
        info[KEY] = {AGAIN: each["info"]["id"]}
        parts = [self._part(part, name) for part in each["parts"]]
        self.made.append({"info": info, "parts": parts})

    def _add(
        self, message: Message, results: list[Message], own: list[Message], hidden: list[Message]
    ) -> dict[str | None, list[Message]]:
        """Writes an answer with its results; returns the messages that it shows, by call."""
        self.time = max(message.created_at or self.time, self.time + _STEP)
        info = self._info(message)
        parts = [self._part(part, info["id"]) for part in self._parts(message, results, info)]
        each = {"info": info, "parts": parts}
        by_call = {_answered(result): result for result in own[1:]} | {None: own[0]}
        notes = {}
        seen: dict[str | None, list[Message]] = {}
        for at, shown in enumerate(read_message(each)):
            seen.setdefault(_answered(shown), []).append(shown)
            note = note_for(by_call.get(_answered(shown)), shown, () if at else hidden)
            if note is not None:
                notes[str(at)] = note
        if notes:
            info[KEY] = notes
        self.made.append(each)
        return seen

    def _keep_after(self, hidden: list[Message]) -> None:
        each = self.made[-1]
        *_, shown = read_message(each)
        notes = each["info"].setdefault(KEY, {})
        at = str(len(list(read_message(each))) - 1)
        notes[at] = {**notes.get(at, {}), **(note_for(None, shown, (), hidden) or {})}
        if "is" in notes[at]:
            notes[at].pop("added", None)

    def _info(self, message: Message) -> dict[str, Any]:
        name = self._name("msg")
        if message.role is not Role.ASSISTANT and not is_summary(message):
            return self._prompt(name)
        time = {"created": to_millis(self.time)}
        about = message.metadata
        info: dict[str, Any] = {"role": "assistant", "parentID": self._prompt_id or name}
        info |= {"mode": "build", "agent": "build", **_usage(about.usage or Usage())}
        info["path"] = {"cwd": self.transcript.folder or "/", "root": "/"}
        info["providerID"], info["modelID"] = _model_of(message) or self._model
        info["time"] = {**time, "completed": time["created"]}
        if about.stop_reason is not None:
            info["finish"] = STOP_WORDS.get(about.stop_reason, "other")
        if about.status is not MessageStatus.COMPLETE:
            info["error"] = {"name": "UnknownError", "data": {"message": about.error_message or ""}}
        if is_summary(message):
            info |= {"summary": True, "mode": "compaction", "agent": "compaction"}
            info["finish"] = "stop"  # a summary counts once it came to its end (1.18.33)
        return {**info, **self._ids(name)}

    def _prompt(self, name: str) -> dict[str, Any]:
        """The fields of a user message; the tool continues with the model that the last one
        names."""
        self._prompt_id = name
        provider, model = self._model
        return {
            "role": "user",
            "time": {"created": to_millis(self.time)},
            "agent": "build",
            "model": {"providerID": provider, "modelID": model},
            **self._ids(name),
        }

    def _parts(
        self, message: Message, results: list[Message], info: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """The parts of an answer, between the marks of its step."""
        time = {"start": to_millis(self.time), "end": to_millis(self.time)}
        if info["role"] == "user":
            yield from _message_parts(message, results, time)
            return
        yield {"type": "step-start"}
        yield from _message_parts(message, results, time)
        end = {"reason": info.get("finish", "other"), "type": "step-finish"}
        yield {**end, "tokens": info["tokens"], "cost": info["cost"]}

    def _ids(self, name: str) -> dict[str, str]:
        return {"id": name, "sessionID": self.id}

    def _part(self, part: dict[str, Any], message: str) -> dict[str, Any]:
        named = {**part, "id": self._name("prt"), "sessionID": self.id, "messageID": message}
        state = named.get("state")
        if isinstance(state, dict) and "attachments" in state:
            files = [self._part(file, message) for file in state["attachments"]]
            named["state"] = {**state, "attachments": files}
        return named

    def _name(self, kind: str) -> str:
        """Ids ascend with time, as OpenCode sorts by them."""
        self._count += 1
        time = (to_millis(self.time) << 12) + (self._count & 0xFFF)
        return f"{kind}_{time & 0xFFFFFFFFFFFF:012x}{_random(f'{self.id}:{self._count}')}"


def _is_tail(mark: Compaction) -> bool:
    """Whether all messages from one on are preserved."""
    return bool(mark.preserved) and mark.preserved == tuple(range(mark.preserved[0], mark.at))


def _message_parts(
    message: Message, results: list[Message], time: dict[str, int]
) -> Iterator[dict[str, Any]]:
    if is_summary(message):
        yield {"type": "text", "text": summary_text(message), "time": time}
        return
    if message.role in _INSTRUCTIONS:
        yield {"type": "text", "text": message.text, "synthetic": True, "time": time}
        return
    provider, _ = _model_of(message) or ("anthropic", "")
    by_call = {block.tool_use_id: block for each in results for block in _result_blocks(each)}
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            yield write_call(block, by_call.get(block.id), time)
        elif (part := write_part(block, provider, time)) is not None:
            yield part


def _model_of(message: Message) -> tuple[str, str] | None:
    """Provider and model as OpenCode names them."""
    about = message.metadata
    model = bare(about.model) or about.response_model
    if model is None or about.provider is None:
        return None
    return PROVIDERS.get(about.provider, about.provider), model


def _next_model(messages: tuple[Message, ...], at: int) -> tuple[str, str] | None:
    """The model that answers this message."""
    for message in messages[at:]:
        if message.role is Role.ASSISTANT and not is_summary(message):
            return _model_of(message)
    return None


def _results(messages: list[Message | None], at: int) -> dict[int, Message]:
    """The results that follow a message with calls, by their places, in the order of the calls."""
    asking = messages[at]
    content = asking.content if asking is not None else ()
    calls = [block.id for block in content if isinstance(block, ToolUseBlock)]
    found: dict[str, tuple[int, Message]] = {}
    for place, message in enumerate(messages[at + 1 :], at + 1):
        if message is None:
            continue
        name = _answered(message)
        if name is None or name not in calls or name in found:
            break
        found[name] = place, message
    return dict(found[name] for name in calls if name in found)


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
    tokens = {"total": usage.total_tokens or 0, "input": usage.input_tokens or 0}
    tokens |= {"output": output, "reasoning": reasoning}
    return {"cost": float(usage.cost_usd or 0), "tokens": {**tokens, "cache": cache}}


def session_id(transcript: Transcript) -> str:
    name = transcript.id or ""
    if name.startswith("ses_") and name[4:].isalnum() and name.isascii() and len(name) < 100:
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
