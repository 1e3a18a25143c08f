"""Transcripts to Gemini CLI's logs."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from interlingua.dialects.registry import dialect
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.model.reasons import because
from interlingua.transcripts.format import Draft
from interlingua.transcripts.gemini_cli.read import AGAIN, COMPACTED, DIALECT, NAME, read_record
from interlingua.transcripts.lines import LineWriter, joined, session_uuid
from interlingua.transcripts.notes import (
    KEY,
    RetoldMessage,
    report_losses,
    report_unshown,
    retell_messages,
)
from interlingua.transcripts.transcript import (
    Compaction,
    Transcript,
    bare,
    is_summary,
    summary_text,
)
from interlingua.transcripts.values import to_iso

_COMMANDS = ("/", "?", "<session_context>", "<hook_context>")


def write_file(transcript: Transcript, name: str) -> Draft:
    """A new session. Results are only stored with their calls, because the client sends them
    once."""
    report = Report(NAME)
    log = _LogWriter(transcript)
    folder = transcript.folder or "/"
    about = {
        "sessionId": session_uuid(transcript),
        "projectHash": sha256(folder.encode()).hexdigest(),
    }
    changed = max(transcript.updated_at or log.time, log.time)
    about |= {"startTime": to_iso(log.time), "lastUpdated": to_iso(changed), "kind": "main"}
    log.all(transcript, report)
    for what, count in (
        ("branches", len(transcript.branches) - 1),
        ("subagents", len(transcript.subagents)),
    ):
        if count > 0:
            report.add("dropped", f"$.{what}", because("left_behind", count=count))
    return Draft({name: joined((about, *log.made))}, report)


def append_lines(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Records for the messages from `start` on, after the last existing line."""
    log = _LogWriter(transcript)
    log.time = transcript.updated_at or log.time
    log.all(transcript, Report(NAME), start)
    return log.data()


class _LogWriter(LineWriter):
    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript.created_at)
        self._record_of: dict[int, dict[str, Any]] = {}
        """The record of each message."""
        self._first: str | None = None
        """The first record that the client still sends."""
        self._space = uuid5(NAMESPACE_URL, transcript.id or transcript.format)

    def all(self, transcript: Transcript, report: Report, start: int = 0) -> None:
        retold = retell_messages(transcript.messages, DIALECT, report, start)
        marks = {mark.at: mark for mark in transcript.compactions}
        at = 0
        while at < len(retold):
            results = _results(retold, at)
            mark = marks.get(retold[at].at) if retold[at].original is not None else None
            if mark is not None:
                self._compact(retold[at], mark)
            else:
                shown = self._add(retold[at], results)
                if retold[at].message.role not in (Role.USER, Role.TOOL):  # reported below
                    report_unshown(
                        retold[at].message, shown[:1], retold[at].at, "Gemini CLI", report
                    )
            for each in (retold[at], *results):
                if each.message.role in (Role.USER, Role.TOOL):
                    written = dialect(DIALECT).write_request(Request((each.message,)))
                    report_losses(each, written.report, report)
            at += 1 + len(results)
        _report_signatures(retold, report)

    def _compact(self, retold: RetoldMessage, mark: Compaction) -> None:
        """Rewinds to the start, writes the summary as a prompt, and repeats the messages that it
        keeps."""
        if self._first is not None:
            self.made.append({"$rewindTo": self._first, KEY: {COMPACTED: True}})
            self._first = None
        records = {
            id(self._record_of[at]): self._record_of[at]
            for at in mark.preserved
            if at in self._record_of
        }
        if not mark.summary_last:
            self._add(retold, [])
        for record in records.values():
            plain = {key: value for key, value in record.items() if key != KEY}
            self._put({**plain, KEY: {AGAIN: True}})
        if mark.summary_last:
            self._add(retold, [])

    def _put(self, record: dict[str, Any]) -> None:
        self._first = self._first or record["id"]
        self.made.append(record)

    def _add(self, retold: RetoldMessage, results: list[RetoldMessage]) -> list[Message]:
        """Adds one record for an answer and its results; returns the messages that it shows."""
        message = retold.message
        time = self.next_time(message.created_at)
        name = message.id or str(uuid5(self._space, f"{retold.at}:{len(self.made)}"))
        record = {"id": name, "timestamp": time, **_record(message, results)}
        notes = {}
        messages = list(read_record(record))
        for at, (shown, each) in enumerate(zip(messages, [retold, *results], strict=False)):
            note = each.note(shown)
            if note is not None:
                notes[str(at)] = note
        if notes:
            record[KEY] = notes
        self._put(record)
        self._record_of |= {
            each.at: record for each in (retold, *results) if each.original is not None
        }
        return messages


def _results(retold: list[RetoldMessage], at: int) -> list[RetoldMessage]:
    """The results that follow a message with calls."""
    if retold[at].message.role is not Role.ASSISTANT:
        return []
    calls = {block.id for block in retold[at].message.content if isinstance(block, ToolUseBlock)}
    found = []
    for each in retold[at + 1 :]:
        block = each.message.content[0] if each.message.content else None
        if not isinstance(block, ToolResultBlock) or block.tool_use_id not in calls:
            break
        found.append(each)
    order = [block.id for block in retold[at].message.content if isinstance(block, ToolUseBlock)]
    names = [each.message.content[0].tool_use_id for each in found]  # type: ignore[union-attr]  # all are results
    if names == [name for name in order if name in names]:
        return found
    return sorted(found, key=lambda each: order.index(each.message.content[0].tool_use_id))  # type: ignore[union-attr]  # all are results


def _record(message: Message, results: list[RetoldMessage]) -> dict[str, Any]:
    if is_summary(message):
        return {"type": "user", "content": _meant([{"text": summary_text(message)}])}
    if message.role is not Role.ASSISTANT:
        return {"type": "user", "content": _meant(_parts(message))}
    texts = [block.text for block in message.content if isinstance(block, TextBlock)]
    content: Any = message.text if len(texts) < 2 else [{"text": text} for text in texts]
    record: dict[str, Any] = {"type": "gemini", "content": content}
    thoughts = [block for block in message.content if isinstance(block, ThinkingBlock)]
    record["thoughts"] = [{"subject": "", "description": block.text} for block in thoughts]
    record["tokens"] = _tokens(message.metadata.usage or Usage())
    record["model"] = bare(message.metadata.model) or message.metadata.response_model or "unknown"
    calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
    if calls:
        by_call = {each.message.content[0].tool_use_id: each.message for each in results}  # type: ignore[union-attr]  # all are results
        record["toolCalls"] = [_call(call, by_call.get(call.id)) for call in calls]
    return record


def _meant(parts: list[Any]) -> list[Any]:
    """A user's message, also one that looks like a command: the client leaves such texts out
    when it resumes, but not parts with a flag for thoughts (0.61.0)."""
    text = "".join(part.get("text") or "" for part in parts)
    if not text.lstrip().startswith(_COMMANDS):
        return parts
    return [{**part, "thought": False} if "text" in part else part for part in parts]


def _parts(message: Message) -> list[Any]:
    if message.role in (Role.SYSTEM, Role.DEVELOPER):
        return [{"text": block.text} for block in message.content if isinstance(block, TextBlock)]
    contents = dialect(DIALECT).write_request(Request((message,))).wire["contents"]
    return [_unnamed(part) for content in contents for part in content["parts"]]


def _unnamed(part: dict[str, Any]) -> dict[str, Any]:
    """Pictures without names: the client's SDK refuses those (0.61.0, seen 2026-11-17)."""
    for key in ("inlineData", "fileData"):
        if key in part:
            named = {name: value for name, value in part[key].items() if name != "displayName"}
            part = {**part, key: named}
    return part


def _call(call: ToolUseBlock, result: Message | None) -> dict[str, Any]:
    name = f"{call.name}__{call.id}"
    about: dict[str, Any] = {"id": name, "name": call.name, "args": call.input}
    if result is None:
        return {**about, "result": None, "status": "cancelled"}
    parts = [each for part in _parts(result) for each in _beside(part, name, call.name)]
    failed = any(isinstance(each, ToolResultBlock) and each.is_error for each in result.content)
    return {**about, "result": parts, "status": "error" if failed else "success"}


def _beside(part: Any, id: str, name: str) -> Iterator[dict[str, Any]]:
    """A result, and its pictures beside it: the client leaves out those inside of it."""
    if "functionResponse" not in part:
        yield part
        return
    inside = {**part["functionResponse"], "id": id, "name": name}
    pictures = inside.pop("parts", ())
    yield {**part, "functionResponse": inside}
    yield from (_unnamed(picture) for picture in pictures)


def _tokens(usage: Usage) -> dict[str, int]:
    thoughts = usage.reasoning_tokens or 0
    return {
        "input": usage.prompt_tokens or 0,
        "output": max((usage.output_tokens or 0) - thoughts, 0),
        "cached": usage.cached_input_tokens or 0,
        "thoughts": thoughts,
        "tool": 0,
        "total": usage.total_tokens or 0,
    }


def _report_signatures(retold: list[RetoldMessage], report: Report) -> None:
    """This file has no place for signatures; they are stored beside, for the way back."""
    for each in retold:
        original = each.original.content if each.original is not None else ()
        signed = {getattr(block, "signature", None) for block in original}
        for at, block in enumerate(each.message.content):
            if getattr(block, "signature", None) in signed - {None}:
                path = f"$.messages[{each.at}].content[{at}].signature"
                report.add("dropped", path, because("signatures_not_stored"))
