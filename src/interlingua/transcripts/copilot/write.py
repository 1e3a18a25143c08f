"""Transcripts to Copilot's events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec.structs import replace

from interlingua.model.blocks import (
    Block,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.copilot.read import (
    ENDPOINTS,
    NAME,
    STOP_WORDS,
    VERSION,
    Assets,
    Data,
    History,
    assets_of,
    attachment,
    joined,
    picture,
    read_blocks,
    write_answer,
)
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import Line, LineWriter, session_uuid
from interlingua.transcripts.notes import (
    KEY,
    RetoldMessage,
    report_unshown,
    retell_messages,
)
from interlingua.transcripts.transcript import (
    Span,
    SubAgent,
    Transcript,
    bare,
    is_summary,
    summary_text,
)
from interlingua.transcripts.values import known, to_iso

_OF_CALLS = ("assistant.message", "tool.execution_complete")
"""Events of helpers that name the call which began them."""
_THOUGHT = (ThinkingBlock, RedactedThinkingBlock)
_REASONING = ("reasoningText", "reasoningOpaque", "encryptedContent", "reasoningBlocks")
_MADE_OF_WORDS = (*_REASONING, "transformedContent", "attachments", "result", "error")
_ENDPOINT_OF = {name: endpoint for endpoint, name in reversed(ENDPOINTS.items())}


def write_file(transcript: Transcript, name: str) -> Draft:
    """A session of its own, helpers included."""
    report = Report(NAME)
    events = _Events(transcript)
    events.add("session.start", _start(transcript, events.time))
    if transcript.title is not None:
        events.add("session.title_changed", {"title": transcript.title})
        events.made[-1]["ephemeral"] = True  # asked for by the schema of 1.0.102, 2026-11-17
    _all(events, transcript, report)
    transcript.replace(subagents=()).report_left_out(report)
    return Draft({name: events.data()}, report)


def append_lines(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Events for the messages from `start` on, after the last existing one."""
    events = _Events(transcript)
    events.parent = msgspec.json.decode(last).get("id")
    events.time = transcript.updated_at or events.time
    events.number = start + 1_000_000  # apart from the names of events that were made before
    _all(events, transcript, Report(NAME), start)
    return events.data()


def patch_lines(transcript: Transcript, index: int, lines: list[bytes]) -> list[bytes] | None:
    """The event of one message that was changed; None if others would have to change with it."""
    message = transcript.messages[index]
    events = _Events(transcript)
    _message_events(events, message)
    made = [event for event in events.made if event["type"] != "session.usage_record"]
    value = msgspec.json.decode(lines[0])
    if len(lines) != 1 or len(made) != 1 or made[0]["type"] != value["type"]:
        return None
    value["data"] = _changed(value["data"], made[0]["data"])
    return [msgspec.json.encode(value)]


def _changed(old: Data, new: Data) -> Data:
    """A changed event; members that did not change keep their spelling."""
    unchanged = {key: each for key, each in old.items() if key not in _MADE_OF_WORDS}
    changed = {key: each for key, each in new.items() if key != "messageId"}
    before, after = read_blocks(old), read_blocks(new)
    if _of_kind(before, ToolUseBlock) == _of_kind(after, ToolUseBlock):
        changed |= {key: old[key] for key in ("toolRequests",) if key in old}
    about = old.get("reasoningBlocks")
    ordered = isinstance(about, dict) and "orderedBlocks" in about
    if not ordered and _of_kind(before, *_THOUGHT) == _of_kind(after, *_THOUGHT):
        changed = {key: each for key, each in changed.items() if key not in _REASONING}
        changed |= {key: old[key] for key in _REASONING if key in old}
    return {**unchanged, **changed}


def _of_kind(blocks: Sequence[Block], *kinds: type[Block]) -> list[Block]:
    return [block for block in blocks if isinstance(block, kinds)]


class _Events(LineWriter):
    """Makes event after event, each behind the one before."""

    step = timedelta(0)

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript.created_at)
        self.parent: str | None = None
        self.number = 0
        self.agent: dict[str, str] = {}
        self.call: dict[str, str] = {}
        self.assets = Assets()
        self._space = uuid5(NAMESPACE_URL, f"{NAME}:{transcript.id}")

    def add(self, kind: str, data: Data, time: datetime | None = None) -> None:
        name = self.next_name()
        self.number += 1
        if kind in _OF_CALLS:
            data = {**data, **self.call}
        event = {"type": kind, "data": data, **self.agent, "id": name}
        self.made.append({**event, "timestamp": self.next_time(time), "parentId": self.parent})
        self.parent = name

    def next_name(self) -> str:
        return str(uuid5(self._space, str(self.number)))

    def keep(self, asset: Data, time: datetime | None) -> None:
        """The bytes of an attachment, once."""
        if asset["assetId"] not in self.assets:
            self.assets.keep(asset)
            self.add("session.binary_asset", asset, time)

    def data(self) -> bytes:
        return b"".join(msgspec.json.encode(event) + b"\n" for event in self.made)


def _start(transcript: Transcript, time: datetime) -> Data:
    start = {"sessionId": session_uuid(transcript), "version": 1, "producer": "interlingua"}
    about = {"copilotVersion": VERSION, "startTime": to_iso(time)}
    return {**start, **about, "context": {"cwd": transcript.folder or "/"}}


def _all(events: _Events, transcript: Transcript, report: Report, start: int = 0) -> None:
    helpers = list(enumerate(transcript.subagents)) if not start else []
    history = History(Report(NAME), events.assets)
    _report_unseen(transcript, report)
    for retold in retell_messages(transcript.messages, "anthropic", report, start):
        before = len(events.made)
        _message_events(events, retold.message)
        shown = _add_note(events.made[before:], retold, history)
        report_unshown(retold.message, shown, retold.at, "Copilot", report)
        calls = {call.id for call in retold.message.tool_calls}
        for number, helper in [each for each in helpers if each[1].tool_use_id in calls]:
            helpers.remove((number, helper))
            _helper(events, helper, number, report)
    for number, helper in helpers:
        _helper(events, helper, number, report)


def _report_unseen(transcript: Transcript, report: Report) -> None:
    """Reports data that Copilot stores but does not send on resuming (1.0.102, 2026-11-17)."""
    if transcript.format == NAME:
        return
    preserved = transcript.compactions[-1].preserved if transcript.compactions else ()
    unseen = dict.fromkeys(preserved, "it behind the summary")
    for at, message in enumerate(transcript.messages):
        if message.role is Role.USER:
            unseen.pop(at, None)
        for block in message.content:
            if isinstance(block, ToolResultBlock) and block.is_error:
                unseen.setdefault(at, "that it failed")
            if isinstance(block, ToolResultBlock) and assets_of(block.content):
                unseen.setdefault(at, "the pictures in it")
    for at, what in sorted(unseen.items()):
        name = transcript.messages[at].id
        reason = because("not_sent", what=what)
        report.add("dropped", f"$.messages[{at}]", reason, "warning", None, name)


def _message_events(events: _Events, message: Message) -> None:
    time = message.created_at
    if is_summary(message):
        done = {"success": True, "summaryContent": summary_text(message)}
        events.add("session.compaction_complete", done, time)
    elif message.role is Role.ASSISTANT:
        _answer(events, message)
    elif message.role is Role.TOOL:
        _result(events, message)
    elif message.role is Role.USER:
        events.add("user.message", _prompt(events, message), time)
    else:
        note = {"content": message.text, "kind": {"type": "unclassified"}}
        events.add("system.notification", note, time)


def _prompt(events: _Events, message: Message) -> Data:
    data: Data = {"content": joined(message.content)}
    media = assets_of(message.content)
    for _, asset in media:
        events.keep(asset, message.created_at)
    if media:
        data["attachments"] = [attachment(block, asset) for block, asset in media]
    return data


def _answer(events: _Events, message: Message) -> None:
    metadata = message.metadata
    name = metadata.response_id
    model = bare(metadata.model) or metadata.response_model
    if metadata.usage is not None:
        usage = _usage(metadata.usage) | {"model": model or "unknown", "apiCallId": name}
        usage["modelProvider"] = metadata.provider
        usage["apiEndpoint"] = _ENDPOINT_OF.get(metadata.protocol or "")
        usage["finishReason"] = STOP_WORDS.get(metadata.stop_reason or StopReason.OTHER)
        events.add("session.usage_record", {"usage": known(usage)}, message.created_at)
    about = {"messageId": message.id or events.next_name(), "model": model, "apiCallId": name}
    events.add("assistant.message", {**known(about), **write_answer(message)}, message.created_at)


def _usage(usage: Usage) -> Data:
    return {
        "inputTokens": usage.prompt_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cached_input_tokens,
        "cacheWriteTokens": usage.cache_creation_input_tokens,
        "reasoningTokens": usage.reasoning_tokens,
    }


def _result(events: _Events, message: Message) -> None:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return
    media = assets_of(block.content)
    for _, asset in media:
        events.keep(asset, message.created_at)
    data: Data = {"toolCallId": block.tool_use_id, "success": not block.is_error}
    if block.is_error and not media:
        data["error"] = {"message": joined(block.content), "code": "failure"}
    else:
        data["result"] = {"content": joined(block.content)}
    if media:
        data["result"]["binaryResultsForLlm"] = [picture(*each) for each in media]
    events.add("tool.execution_complete", data, message.created_at)


def _add_note(made: list[dict[str, Any]], retold: RetoldMessage, history: History) -> list[Message]:
    """Adds a note with what these events alone would lose; returns the messages that they show."""
    before = len(history.entries)
    for value in made:
        history.take(Line(0, Span(0, 0), value))
    shown = [entry.message for entry in history.entries[before:]]
    note = retold.note(*shown)
    if note is not None:
        made[-1][KEY] = note
    return shown


def _helper(events: _Events, helper: SubAgent, number: int, report: Report) -> None:
    """A helper's session, between the events of the one that called it."""
    name = helper.transcript.id or f"helper-{number}"
    call = helper.tool_use_id or name
    agent = helper.transcript.title or "general-purpose"
    about = {"toolCallId": call, "agentName": "general-purpose", "agentDisplayName": agent}
    outside = events.agent, events.call
    events.agent, events.call = {"agentId": name}, {}
    events.add("subagent.started", {**about, "agentDescription": agent})
    inner = Report(NAME)
    events.call = {"parentToolCallId": call}
    _all(events, helper.transcript, inner)
    events.add("subagent.completed", about)
    events.agent, events.call = outside
    path = f"$.subagents[{number}]"
    report.entries.extend(replace(loss, path=path + loss.path[1:]) for loss in inner.entries)
