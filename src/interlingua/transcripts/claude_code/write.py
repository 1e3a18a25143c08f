"""Transcripts to Claude Code's files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec
from msgspec.structs import replace

from interlingua.dialects.registry import dialect
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.transcripts.claude_code.read import NAME, shown_as
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import LineWriter, spelled
from interlingua.transcripts.notes import (
    KEY,
    RetoldMessage,
    report_losses,
    report_unshown,
    retell_messages,
)
from interlingua.transcripts.transcript import SubAgent, Transcript, bare, summary_text

VERSION = "2.1.325"
"""The version of Claude Code that the lines are written for."""
_AGENT = re.compile("agent-[0-9A-Za-z_-]{1,64}")
"""The ids of helpers that can be names of files."""


def write_file(transcript: Transcript, name: str) -> Draft:
    """A new session: data of other tools is restored when it is read again."""
    report = Report(NAME)
    session = _uuid_or(name.partition(".")[0], transcript.id, transcript)
    files = {name: _file(transcript, session, report)}
    agents: set[str] = set()
    for number, helper in enumerate(transcript.subagents):
        agent = _agent(helper, session, number, agents)
        agents.add(agent)
        files |= _helper_files(helper, session, name.partition(".")[0], agent, number, report)
    if len(transcript.branches) > 1:
        left = len(transcript.branches) - 1
        report.add("dropped", "$.branches", because("branches_left", count=left))
    return Draft(files, report)


def append_lines(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Lines for the messages from `start` on, after the last existing line."""
    above = msgspec.json.decode(last)
    lines = _Lines(above["sessionId"], transcript, above["uuid"])
    lines.number = start + 1_000_000  # apart from the names of lines that were made before
    lines.time = transcript.updated_at or lines.time
    _all(lines, transcript, Report(NAME), start)
    return lines.data()


class _Lines(LineWriter):
    """Makes line after line, each the child of the one before."""

    def __init__(self, session: str, transcript: Transcript, parent: str | None = None) -> None:
        super().__init__(transcript.created_at)
        self.session = session
        self.parent = parent
        self.folder = transcript.folder or "/"
        self.number = 0
        self.side: dict[str, Any] = {}

    def add(
        self, kind: str, message: Message, members: dict[str, Any], **more: Any
    ) -> dict[str, Any]:
        self.number += 1
        line: dict[str, Any] = {
            "parentUuid": self.parent,
            "isSidechain": bool(self.side),
            **self.side,
            "type": kind,
            **members,
            **more,
            "uuid": str(uuid5(UUID(self.session), str(self.number))),
            "timestamp": self.next_time(message.created_at),
            "userType": "external",
            "cwd": self.folder,
            "sessionId": self.session,
            "version": VERSION,
        }
        self.parent = line["uuid"]
        self.made.append(line)
        return line


def _file(transcript: Transcript, session: str, report: Report, side: str | None = None) -> bytes:
    lines = _Lines(session, transcript)
    if side is not None:
        lines.side = {"agentId": side}
    _all(lines, transcript, report)
    return lines.data()


def _all(lines: _Lines, transcript: Transcript, report: Report, start: int = 0) -> None:
    compacted = {each.at: each for each in transcript.compactions}
    uuids: dict[int, list[str]] = {}
    for item in retell_messages(transcript.messages, "anthropic", report, start):
        before = len(lines.made)
        if item.original is not None and item.at in compacted:
            preserved = [uuid for at in compacted[item.at].preserved for uuid in uuids.get(at, ())]
            _summary(lines, item.message, preserved)
        else:
            _message_lines(lines, item, report)
        if len(lines.made) > before:
            shown = _add_note(lines.made[before:], item)
            if item.message.role not in (Role.USER, Role.TOOL):  # `_message_lines` reports those
                report_unshown(item.message, shown, item.at, "Claude Code", report)
            if item.original is not None:
                uuids[item.at] = [line["uuid"] for line in lines.made[before:]]


def _message_lines(lines: _Lines, item: RetoldMessage, report: Report) -> None:
    message = item.message
    if message.role is Role.ASSISTANT:
        _answer(lines, message)
        return
    if message.role in (Role.USER, Role.TOOL):
        report_losses(item, dialect("anthropic").write_request(Request((message,))).report, report)
    for turn in _turns(message):
        extra = {"isMeta": True} if message.role in (Role.SYSTEM, Role.DEVELOPER) else {}
        lines.add("user", message, {"message": {"role": "user", "content": turn}}, **extra)


def _turns(message: Message) -> Iterator[Any]:
    if message.role in (Role.SYSTEM, Role.DEVELOPER):
        yield message.text
        return
    for turn in dialect("anthropic").write_request(Request((message,))).wire["messages"]:
        # A turn of an unknown kind is written as it was read.
        yield turn.get("content", "") if isinstance(turn, dict) else str(turn)


def _answer(lines: _Lines, message: Message) -> None:
    """One line per block, all with the same id."""
    wire = dialect("anthropic").write_response(Response(message)).wire
    wire["id"] = message.metadata.response_id or f"msg_{message.digest()[:24]}"
    wire["model"] = bare(message.metadata.model) or message.metadata.response_model or "unknown"
    for block in wire["content"] or [{"type": "text", "text": ""}]:
        lines.add("assistant", message, {"message": {**wire, "content": [block]}})


def _summary(lines: _Lines, message: Message, uuids: Sequence[str]) -> None:
    above, lines.parent = lines.parent, None
    about: dict[str, Any] = {"trigger": "manual"}
    boundary = {"subtype": "compact_boundary", "content": "Conversation compacted"}
    lines.add("system", message, {"logicalParentUuid": above, **boundary}, compactMetadata=about)
    members = {"message": {"role": "user", "content": summary_text(message)}}
    line = lines.add(
        "user", message, members, isVisibleInTranscriptOnly=True, isCompactSummary=True
    )
    if uuids:
        about |= _preserved(uuids, line["uuid"])


def _preserved(uuids: Sequence[str], anchor: str) -> dict[str, Any]:
    """Lines that are repeated behind the summary, which is their anchor."""
    segment = {"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[-1]}
    lines = {"anchorUuid": anchor, "uuids": list(uuids), "allUuids": list(uuids)}
    return {"preservedSegment": segment, "preservedMessages": lines}


def _add_note(made: list[dict[str, Any]], item: RetoldMessage) -> list[Message]:
    """Adds a note with what these lines alone would lose; returns the message that they show."""
    shown = shown_as(made)
    note = None if shown is None else item.note(shown)
    if note is not None:
        made[-1 if made[0]["type"] == "system" else 0][KEY] = note
    return [] if shown is None else [shown]


def _agent(helper: SubAgent, session: str, number: int, taken: set[str]) -> str:
    """A helper's id, if it can be a file's name and no other helper has it."""
    name = helper.transcript.id or ""
    if _AGENT.fullmatch(name) and name not in taken:
        return name
    return f"agent-{uuid5(UUID(session), str(number)).hex[:17]}"


def _helper_files(
    helper: SubAgent, session: str, stem: str, agent: str, number: int, report: Report
) -> dict[str, bytes]:
    inner = Report(NAME)
    data = _file(helper.transcript, session, inner, agent.removeprefix("agent-"))
    path = f"$.subagents[{number}]"
    report.entries.extend(replace(loss, path=path + loss.path[1:]) for loss in inner.entries)
    about = {"agentType": "general-purpose", "toolUseId": helper.tool_use_id}
    where = f"{stem}/subagents/{agent}"
    return {f"{where}.jsonl": data, f"{where}.meta.json": msgspec.json.encode(about)}


def patch_lines(transcript: Transcript, index: int, lines: list[bytes]) -> list[bytes] | None:
    """The lines of one message that was changed; None if it no longer has as many blocks."""
    message = transcript.messages[index]
    values = [msgspec.json.decode(line) for line in lines]
    new = _Lines(str(UUID(int=0)), transcript)
    _message_lines(new, RetoldMessage(message, message, index), Report(NAME))
    if len(new.made) != len(values) or message.role in (Role.SYSTEM, Role.DEVELOPER):
        return None
    for value, made in zip(values, new.made, strict=True):
        value["message"] = {**value["message"], **made["message"]}
    return [spelled(value) for value in values]


def _uuid_or(name: str, known: str | None, transcript: Transcript) -> str:
    """The session's id: the file's name or the known one if it is one, else one made of them."""
    for each in (name, known):
        try:
            return str(UUID(each or ""))
        except ValueError:
            continue
    digests = "".join(message.digest() for message in transcript.messages[:8])
    return str(uuid5(NAMESPACE_URL, f"{transcript.format}:{known}:{digests}"))
