"""Transcripts to AG-UI: events as lines or as a stream, or the input that a run goes on with.

Events are written run by run, as the protocol's own way of storing them has it: a run begins with
the new messages of its input. Data without an equivalent is stored beside: in an event of ours
behind a message, or in the `metadata` of a message in an input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.ag_ui.messages import NAME, NAMES, Part, folded, write_message
from interlingua.transcripts.ag_ui.read import read_entries
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import spelled, stream_variant
from interlingua.transcripts.notes import KEY, note_for, session_note
from interlingua.transcripts.rows import write_tools
from interlingua.transcripts.transcript import Transcript, bare, total
from interlingua.transcripts.values import to_millis

_SPEAKING = (Role.ASSISTANT, Role.TOOL)


def variant_of(name: str) -> str:
    """Lines, a stream (`.sse`), or one JSON value (`.json`)."""
    return "messages" if name.endswith(".json") else stream_variant(name)


def write_file(transcript: Transcript, name: str) -> Draft:
    """Events; where the file's name ends with `.json`, the input of a run with all messages."""
    report = Report(NAME)
    thread = _Thread(transcript, report)
    if variant_of(name) == "messages":
        data = msgspec.json.format(msgspec.json.encode(thread.input()), indent=2) + b"\n"
    else:
        data = _lines(thread.events(0), variant_of(name) == "stream")
    beside = transcript.details.get("beside") if transcript.format == NAME else None
    if beside:
        reason = because("events_left_out", count=beside)
        report.add("dropped", "$.details.beside", reason)
    transcript.report_left_out(report)
    return Draft({name: data}, report)


def append_lines(transcript: Transcript, count: int, last: bytes) -> bytes:
    """Events for new messages, in runs of their own."""
    thread = _Thread(transcript, Report(NAME))
    return _lines(thread.events(count), last.startswith(b"data:"))


def _lines(events: list[Part], streamed: bool) -> bytes:
    lines = map(spelled, events)
    if streamed:
        return b"".join(b"data: " + line + b"\n\n" for line in lines)
    return b"".join(line + b"\n" for line in lines)


class _ShownMessage(msgspec.Struct, eq=False):
    """A message at its index, as AG-UI messages; `events` is the number of events up to its end."""

    at: int
    message: Message
    wires: list[Part]
    events: int | None = None


class _Thread:
    def __init__(self, transcript: Transcript, report: Report) -> None:
        self.transcript = transcript
        self.report = report
        self.id = transcript.id or "thread-1"

    def input(self) -> Part:
        """All messages as the input of a run."""
        shown = list(self._shown(0))
        run_input = self._input("run-1", shown)
        self._keep(shown, [run_input], 0)
        return run_input

    def events(self, first: int) -> list[Part]:
        """The runs of all messages from `first` on."""
        shown = list(self._shown(first))
        events: list[Part] = []
        runs = _runs(shown)
        for number, run in enumerate(runs, first + 1):
            events += self._run(run, f"run-{number}", len(events))
        notes = self._keep(shown, events, first)
        return list(_with_notes(events, notes))

    def _shown(self, first: int) -> Iterator[_ShownMessage]:
        used = {message.id for message in self.transcript.messages[:first]}
        for at, message in enumerate(self.transcript.messages[first:], first):
            fresh = message if message.id not in used else replace(message, id=None)
            used.add(message.id)
            wires = write_message(fresh, f"il-{at + 1}")
            if wires:
                yield _ShownMessage(at, message, wires)

    def _input(self, run: str, shown: Sequence[_ShownMessage]) -> Part:
        messages = [wire for each in shown for wire in each.wires]
        run_input: Part = {"threadId": self.id, "runId": run, "state": {}, "messages": messages}
        session = session_note(self.transcript) if shown and shown[0].at == 0 else {}
        props = {KEY: session} if session and self.transcript.format != NAME else {}
        tools = _tools(self.transcript)
        return {**run_input, "tools": tools, "context": [], "forwardedProps": props}

    def _run(self, run: list[_ShownMessage], name: str, before: int) -> list[Part]:
        prompts = [each for each in run if each.message.role not in _SPEAKING]
        answers = [each for each in run if each.message.role in _SPEAKING]
        time = _time(run[0].message)
        about = {"threadId": self.id, "runId": name}
        run_input = {"input": self._input(name, prompts)} if prompts else {}
        events: list[Part] = [{"type": "RUN_STARTED", **time, **about, **run_input}]
        for each in answers:
            events += _events_of(each)
            each.events = before + len(events)
        return [*events, _ended([each.message for each in answers], about, time)]

    def _keep(self, shown: list[_ShownMessage], events: list[Part], first: int) -> dict[int, Any]:
        """Notes on what the events alone would be read as, by the number of events before them."""
        read = read_entries(folded(events).entries, Report(NAME))
        notes: dict[int, Any] = {}
        around = _around(self.transcript.messages, shown, first)
        for each, read_back, (before, after) in zip(shown, read, around, strict=True):
            if read_back.message.content != each.message.content:
                _report_dropped(self.report, each.at, each.message, "a part of it")
            note = note_for(each.message, read_back.message, before, after)
            if note is None:
                continue
            if each.events is not None:
                notes[each.events] = note
            else:
                main = each.wires[-1]
                main["metadata"] = {**main.get("metadata", {}), KEY: note}
        self._report_hidden(shown, first)
        return notes

    def _report_hidden(self, shown: list[_ShownMessage], first: int) -> None:
        places = {each.at for each in shown}
        for at, message in enumerate(self.transcript.messages[first:], first):
            if at not in places:
                _report_dropped(self.report, at, message, "it")


def _around(
    messages: Sequence[Message], shown: list[_ShownMessage], done: int
) -> Iterator[tuple[list[Message], list[Message]]]:
    """The hidden messages before each shown one, and behind the last."""
    for each in shown:
        before = list(messages[done : each.at])
        done = each.at + 1
        yield before, list(messages[done:]) if each is shown[-1] else []


def _report_dropped(report: Report, at: int, message: Message, what: str) -> None:
    reason = because("kept_as_extra", what=what)
    report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)


def _with_notes(events: list[Part], notes: dict[int, Any]) -> Iterator[Part]:
    for number, event in enumerate(events, 1):
        yield event
        if number in notes:
            yield {"type": "CUSTOM", "name": KEY, "value": notes[number]}


def _runs(shown: list[_ShownMessage]) -> list[list[_ShownMessage]]:
    """A run is a request, and all messages until the next one."""
    runs: list[list[_ShownMessage]] = []
    speaking = True
    for each in shown:
        speaks = each.message.role in _SPEAKING
        if not runs or (speaking and not speaks):
            runs.append([])
        runs[-1].append(each)
        speaking = speaks
    return runs


def _tools(transcript: Transcript) -> list[Part]:
    if not transcript.tools:
        return []
    functions = [each.get("function") for each in write_tools(transcript, "openai-chat")]
    return [{"description": "", **each} for each in functions if isinstance(each, dict)]


def _time(message: Message) -> Part:
    return {} if message.created_at is None else {"timestamp": to_millis(message.created_at)}


def _events_of(each: _ShownMessage) -> Iterator[Part]:
    time = _time(each.message)
    for wire in each.wires:
        if wire["role"] == "reasoning":
            yield from _thought(wire, time)
        elif wire["role"] == "tool":
            yield {"type": "TOOL_CALL_RESULT", **time, "messageId": wire["id"], **_result(wire)}
            yield from _sealed(wire, "message", time)
        else:
            yield from _answer(wire, time)


def _result(wire: Part) -> Part:
    return {key: wire[key] for key in ("toolCallId", "content", "role", "metadata") if key in wire}


def _thought(wire: Part, time: Part) -> Iterator[Part]:
    about = {**time, "messageId": wire["id"]}
    yield {"type": "REASONING_START", **about}
    yield {"type": "REASONING_MESSAGE_START", **about, "role": "reasoning"}
    if wire["content"]:
        yield {"type": "REASONING_MESSAGE_CONTENT", **about, "delta": wire["content"]}
    yield {"type": "REASONING_MESSAGE_END", **about}
    yield from _sealed(wire, "message", time)
    yield {"type": "REASONING_END", **about}


def _answer(wire: Part, time: Part) -> Iterator[Part]:
    about = {**time, "messageId": wire["id"]}
    calls = wire.get("toolCalls") or []
    if wire["content"] or not calls or "name" in wire or "metadata" in wire:
        named: Part = {key: wire[key] for key in ("role", "name", "metadata") if key in wire}
        yield {"type": "TEXT_MESSAGE_START", **about, **named}
        if wire["content"]:
            yield {"type": "TEXT_MESSAGE_CONTENT", **about, "delta": wire["content"]}
        yield {"type": "TEXT_MESSAGE_END", **about}
    for call in calls:
        yield from _call(call, wire["id"], time)
    yield from _sealed(wire, "message", time)


def _call(call: Part, parent: str, time: Part) -> Iterator[Part]:
    function = call["function"]
    about = {**time, "toolCallId": call["id"]}
    start = {"toolCallName": function["name"], "parentMessageId": parent}
    beside = {"metadata": call["metadata"]} if "metadata" in call else {}
    yield {"type": "TOOL_CALL_START", **about, **start, **beside}
    yield {"type": "TOOL_CALL_ARGS", **about, "delta": function["arguments"]}
    yield {"type": "TOOL_CALL_END", **about}
    yield from _sealed(call, "tool-call", time)


def _sealed(wire: Part, kind: str, time: Part) -> Iterator[Part]:
    value = wire.get("encryptedValue")
    if value is not None:
        about = {"subtype": kind, "entityId": wire["id"], "encryptedValue": value}
        yield {"type": "REASONING_ENCRYPTED_VALUE", **time, **about}


def _ended(messages: list[Message], about: Part, time: Part) -> Part:
    """The end of a run, with the usage of its answers."""
    last = messages[-1].metadata if messages else None
    time = _time(messages[-1]) if messages else time
    usage = _usages(messages)
    extra = {"usage": usage} if usage else {}
    if last is not None and last.status is MessageStatus.ERROR:
        text = last.error_message or "the run failed"
        return {"type": "RUN_ERROR", **time, "message": text, **extra}
    if last is not None and last.status is MessageStatus.CANCELLED:
        extra["outcome"] = {"type": "cancelled"}  # type: ignore[assignment]
    return {"type": "RUN_FINISHED", **time, **about, **extra}


def _usages(messages: list[Message]) -> list[Part]:
    """One for each provider and model."""
    found: dict[tuple[str | None, str | None], list[Usage]] = {}
    for message in messages:
        about = message.metadata
        if about.usage is not None:
            model = about.response_model or bare(about.model)
            provider = NAMES.get(about.provider or "", about.provider)
            found.setdefault((provider, model), []).append(about.usage)
    return [_counted(*whose, total(usages)) for whose, usages in found.items()]


def _counted(provider: str | None, model: str | None, usage: Usage) -> Part:
    counts = {
        "provider": provider,
        "model": model,
        "inputTokens": usage.prompt_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
        "reasoningTokens": usage.reasoning_tokens,
        "cachedInputTokens": usage.cached_input_tokens,
        "cacheWriteInputTokens": usage.cache_creation_input_tokens,
    }
    return {key: value for key, value in counts.items() if value is not None}
