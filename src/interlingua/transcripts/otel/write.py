"""Transcripts to traces: a span for each answer. Only the last one has the whole history, the
others only their answers, so the trace does not grow quadratically."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.model.spelled_numbers import spelled
from interlingua.telemetry import provider_name
from interlingua.transcripts.format import Draft
from interlingua.transcripts.notes import KEY, note_for
from interlingua.transcripts.otel.otlp import (
    AGENT,
    ANSWERED_BY,
    CACHED,
    CALL,
    CONVERSATION,
    ENDS,
    INPUT,
    INSTRUCTIONS,
    MODEL,
    NAME,
    OPERATION,
    OUTPUT,
    OUTPUT_TOKENS,
    PROMPT_TOKENS,
    PROVIDER,
    REASONED,
    RESPONSE,
    STOP_WORDS,
    TOOL_RUN,
    TOOLS,
    WRITTEN,
    Record,
    Wire,
    any_value,
    write_message,
    write_parts,
)
from interlingua.transcripts.otel.read import Chat, Talk
from interlingua.transcripts.rows import draft, model_of, write_tools
from interlingua.transcripts.transcript import Transcript, bare

_INTERNAL, _CLIENT = 1, 3
_STEP = timedelta(milliseconds=1)
_START = datetime(1970, 1, 1, tzinfo=UTC)
_MESSAGES = (INPUT, OUTPUT, INSTRUCTIONS, TOOLS)
"""Attributes that are JSON in a text."""


def write_file(transcript: Transcript, name: str) -> Draft:
    """One trace."""
    report = Report(NAME)
    trace = _Trace(transcript)
    trace.remember(report)
    spans = [*trace.spans(), *_helpers(trace, report)]
    return draft(name, _exported(spans), transcript.replace(subagents=()), report)


def _helpers(trace: _Trace, report: Report) -> Iterator[dict[str, Any]]:
    """Helpers' requests, inside the runs of the tools that began them."""
    for number, helper in enumerate(trace.transcript.subagents):
        inner = Report(NAME)
        within = _Trace(helper.transcript, f"{trace.name}:{number}")
        within.remember(inner)
        helper.transcript.report_left_out(inner)
        path = f"$.subagents[{number}]"
        report.entries.extend(replace(loss, path=path + loss.path[1:]) for loss in inner.entries)
        about = {OPERATION: TOOL_RUN, CALL: helper.tool_use_id, CONVERSATION: trace.name}
        attributes = {key: value for key, value in about.items() if value is not None}
        first = within.chats[0].record.start
        run = trace.span(
            f"{number}:run", Record("", attributes, start=first, end=within.last), None
        )
        yield run
        yield from within.spans(trace, run["spanId"], helper.transcript.id)


def _exported(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """In the form of an exporter's request."""
    resource = {"attributes": _pairs({"service.name": "interlingua"})}
    scoped = {"scope": {"name": "interlingua"}, "spans": spans}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]}


class _Trace:
    def __init__(self, transcript: Transcript, name: str | None = None) -> None:
        self.transcript = transcript
        self.name = name or transcript.id or "conversation"
        self.messages = transcript.messages
        self._time = transcript.created_at or datetime.now(UTC)
        self.entries = [write_message(each) for each in self._turns()]
        self.chats = self._chats()

    def _turns(self) -> tuple[Message, ...]:
        """All but the instructions in front, which have an attribute of their own."""
        first = self.messages[0] if self.messages else None
        apart = first is not None and first.role is Role.SYSTEM and write_parts(first.content)
        self.apart = write_parts(first.content) if first is not None and apart else []
        return self.messages[1:] if apart else self.messages

    def _chats(self) -> list[Chat]:
        turns = self.messages[len(self.messages) - len(self.entries) :]
        chats = [
            self._chat(message, [], [entry])
            for message, entry in zip(turns, self.entries, strict=True)
            if message.role is Role.ASSISTANT
        ]
        if turns and turns[-1].role is Role.ASSISTANT:
            chats[-1].history = self.entries[:-1]
        else:
            chats.append(self._chat(None, self.entries, []))
        chats[-1].instructions = self.apart
        return chats

    def _chat(self, message: Message | None, history: list[Wire], made: list[Wire]) -> Chat:
        created_at = message.created_at if message is not None else None
        self._time = max(created_at or self._time, self._time + _STEP)
        metadata = message.metadata if message is not None else MessageMetadata()
        attributes = _attributes(metadata, model_of(self.transcript))
        attributes[CONVERSATION] = self.name
        for entry in made:
            entry["finish_reason"] = STOP_WORDS.get(
                metadata.stop_reason or StopReason.OTHER, "stop"
            )
            attributes[ENDS] = [entry["finish_reason"]]
        time = (self._time - _START) // timedelta(microseconds=1) * 1000
        return Chat(Record("", attributes, start=time, end=time), [], history, made)

    def remember(self, report: Report) -> None:
        """Adds a note with what these entries alone would lose."""
        talk = Talk(self.name)
        talk.chats = self.chats
        shown = [each.message for each in talk.shown(Report(NAME))]
        holders = [*self.apart[:1], *self.entries]
        for at, (message, each) in enumerate(zip(self.messages, shown, strict=False)):
            if each.content != message.content:
                reason = because("kept_as_extra_part")
                report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
            note = note_for(message, each)
            if note is not None:
                holders[at][KEY] = note

    @property
    def last(self) -> int:
        return self.chats[-1].record.end

    def spans(
        self, outer: _Trace | None = None, parent: str | None = None, agent: str | None = None
    ) -> list[dict[str, Any]]:
        """The requests; those of a helper lie in the trace of another."""
        if self.transcript.tools:
            tools = write_tools(self.transcript, "openai-responses")
            self.chats[-1].record.attributes[TOOLS] = tools
        for chat in self.chats:
            messages = {INSTRUCTIONS: chat.instructions, INPUT: chat.history, OUTPUT: chat.made}
            chat.record.attributes |= {key: value for key, value in messages.items() if value}
            if outer is not None:
                chat.record.attributes[CONVERSATION] = outer.name
            if agent is not None:
                chat.record.attributes[AGENT] = agent
        of = outer or self
        return [
            of.span(f"{self.name}:{number}", chat.record, parent)
            for number, chat in enumerate(self.chats)
        ]

    def span(self, own: str, record: Record, parent: str | None) -> dict[str, Any]:
        name = sha256(f"{NAME}:{self.name}".encode()).hexdigest()
        kind = _CLIENT if record.attributes[OPERATION] != TOOL_RUN else _INTERNAL
        span = {"traceId": name[:32], "spanId": sha256(f"{name}:{own}".encode()).hexdigest()[:16]}
        if parent is not None:
            span["parentSpanId"] = parent
        return {
            **span,
            "name": f"{record.attributes[OPERATION]} {record.attributes.get(MODEL, '')}".rstrip(),
            "kind": kind,
            "startTimeUnixNano": str(record.start),
            "endTimeUnixNano": str(record.end),
            "attributes": _pairs(record.attributes),
            "status": {},
        }


def _attributes(metadata: MessageMetadata, model: str | None) -> dict[str, Any]:
    provider = metadata.provider or "unknown"
    known = {
        OPERATION: "chat",
        PROVIDER: provider_name(provider),
        MODEL: bare(metadata.model) or metadata.response_model or model,
        ANSWERED_BY: metadata.response_model,
        RESPONSE: metadata.response_id,
        **_usage(metadata.usage or Usage()),
    }
    return {key: value for key, value in known.items() if value is not None}


def _usage(usage: Usage) -> dict[str, int | None]:
    return {
        PROMPT_TOKENS: usage.prompt_tokens,
        OUTPUT_TOKENS: usage.output_tokens,
        CACHED: usage.cached_input_tokens,
        WRITTEN: usage.cache_creation_input_tokens,
        REASONED: usage.reasoning_tokens,
    }


def _pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    plain = {
        key: msgspec.json.encode(value, enc_hook=spelled).decode() if key in _MESSAGES else value
        for key, value in attributes.items()
    }
    return [{"key": key, "value": any_value(value)} for key, value in plain.items()]
