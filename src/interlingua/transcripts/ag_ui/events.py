"""Events to the messages that they build up, as a client of the protocol keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from interlingua.transcripts.notes import KEY
from interlingua.transcripts.transcript import Span
from interlingua.transcripts.values import from_millis, objects

Part = dict[str, Any]
NOTE = "$note"
RUN = "$run"
END = "$end"
"""Roles of entries that are not messages: our note on the message before, a run's start and end."""


class Entry(msgspec.Struct, eq=False):
    """A message that is being built; its text comes in pieces."""

    message: Part
    time: datetime | None = None
    pieces: list[str] = []
    run: int = 0
    at: int = 0
    """Its place among the entries."""
    span: Span | None = None
    """The line that it begins in."""

    @property
    def role(self) -> str:
        return str(self.message.get("role"))


class Call(msgspec.Struct, eq=False):
    """A call in the making, inside the message of an assistant."""

    wire: Part
    pieces: list[str] = []


class Thread:
    """One agent's conversation: events in, entries out; `ways` are abandoned branches."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.entries: list[Entry] = []
        self.ways: list[list[Entry]] = []
        self.helpers: dict[str, Thread] = {}
        self.started: Part = {}
        """The event that began a helper."""
        self.inputs: list[Part] = []
        self.beside: int = 0
        """How many events say nothing of messages."""
        self._named: dict[str, Entry] = {}
        self._calls: dict[str, Call] = {}
        self._ends: dict[str, int] = {}
        """How many entries there were when a run was over."""
        self.running: str | None = None
        """The run that has begun and not ended."""
        self._run = 0
        self._time: datetime | None = None
        self._span: Span | None = None
        self._open: dict[str, Entry] = {}
        """The text and the thought that events without an id go on with."""
        self._asked: str | None = None
        """The call that they go on with."""

    def feed(self, event: Part, span: Span | None = None) -> None:
        self._time, self._span = from_millis(event.get("timestamp")), span
        kind = event.get("type")
        if isinstance(kind, str) and not kind.isupper():
            event = {**event, "type": (kind := kind.upper())}  # some SDKs write `messages_snapshot`
        helper = event.get("subagentRunId")
        if isinstance(helper, str):
            self._helper(helper, event)
            return
        if kind is None and isinstance(event.get("messages"), list):
            self._input(event)
            return
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            self.beside += 1
            return
        handler(self, event)

    def close(self) -> None:
        """Put the pieces together; a run that goes on is cut here."""
        if self.running is not None:
            self._add({"role": END, "partial": True})
        for entries in (self.entries, *self.ways):
            for entry in entries:
                if entry.pieces:
                    entry.message["content"] = "".join(entry.pieces)
                    entry.pieces = []
        for call in self._calls.values():
            if call.pieces:
                call.wire.setdefault("function", {})["arguments"] = "".join(call.pieces)
                call.pieces = []
        for helper in self.helpers.values():
            helper.close()

    # -- runs --------------------------------------------------------------------------------------

    def _started(self, event: Part) -> None:
        self._run += 1
        self.running = str(event.get("runId"))
        self._join(event.get("threadId"))
        parent = event.get("parentRunId")
        if isinstance(parent, str) and parent in self._ends:
            self._cut(self._ends[parent])
        if self.entries and self.entries[-1].role != RUN:
            self._add({"role": RUN})
        run_input = event.get("input")
        if isinstance(run_input, dict):
            self._input(run_input)

    def _join(self, name: Any) -> None:
        if self.id is None and isinstance(name, str):
            self.id = name

    def _finished(self, event: Part) -> None:
        outcome = event.get("outcome")
        cancelled = isinstance(outcome, dict) and outcome.get("type") == "cancelled"
        self._end({"usage": event.get("usage"), "cancelled": cancelled})
        if isinstance(event.get("runId"), str):
            self._ends[event["runId"]] = len(self.entries)

    def _failed(self, event: Part) -> None:
        self._end({"usage": event.get("usage"), "error": str(event.get("message") or "")})

    def _end(self, outcome: Part) -> None:
        self.running = None
        if any(outcome.values()) or "error" in outcome:
            self._add({"role": END, **outcome})

    def _cut(self, end: int) -> None:
        """Go on from here; what is said behind it is a way that was left."""
        while end < len(self.entries) and not _speaks(self.entries[end]):
            end += 1
        if end < len(self.entries):
            self.ways.append(self.entries)
            self.entries = self.entries[:end]

    def _input(self, run_input: Part) -> None:
        """Adds the messages of a run's input, behind the last message that it repeats."""
        self.inputs.append(run_input)
        self._join(run_input.get("threadId"))
        listed = objects(run_input.get("messages"))
        places = [self._place(message) for message in listed]
        last = max((place for place in places if place is not None), default=None)
        if last is not None:
            self._cut(last + 1)
        for message, place in zip(listed, places, strict=True):
            if place is None:
                self._message(message)

    def _place(self, message: Part) -> int | None:
        """Where this message stands already."""
        entry = self._named.get(str(message.get("id")))
        if entry is None or entry.at >= len(self.entries) or self.entries[entry.at] is not entry:
            return None
        return entry.at

    def _snapshot(self, event: Part) -> None:
        """All messages as they are now. Reasoning that it does not repeat stays where it was."""
        listed = objects(event.get("messages"))
        before, self.entries = self.entries, []
        thoughts = {} if any(m.get("role") == "reasoning" for m in listed) else _thoughts(before)
        times = {str(entry.message.get("id")): entry.time for entry in before}
        for message in listed:
            for entry in thoughts.pop(str(message.get("id")), []):
                self._append(entry)
            self._time = times.get(str(message.get("id")))
            self._message(message)

    def _message(self, message: Part) -> None:
        helper = message.get("subagentRunId")
        if isinstance(helper, str):
            rest = {key: each for key, each in message.items() if key != "subagentRunId"}
            self._thread(helper)._message(rest)
        elif message.get("role") == "activity":
            self.beside += 1
        else:
            self._add(dict(message))

    def _add(self, message: Part) -> Entry:
        entry = Entry(message, self._time, [], self._run, span=self._span)
        self._append(entry)
        if isinstance(message.get("id"), str):
            self._named[message["id"]] = entry
        for wire in objects(message.get("toolCalls")):
            if isinstance(wire.get("id"), str):
                self._calls[wire["id"]] = Call(wire)
        return entry

    def _append(self, entry: Entry) -> None:
        entry.at = len(self.entries)
        self.entries.append(entry)

    # -- helpers -----------------------------------------------------------------------------------

    def _thread(self, name: str) -> Thread:
        return self.helpers.setdefault(name, Thread())

    def _helper(self, name: str, event: Part) -> None:
        helper = self._thread(name)
        rest = {key: each for key, each in event.items() if key != "subagentRunId"}
        if rest.get("type") == "SUBAGENT_STARTED":
            helper.started = rest
        elif rest.get("type") == "SUBAGENT_ERROR":
            helper.feed({**rest, "type": "RUN_ERROR"}, self._span)
        else:
            helper.feed(rest, self._span)

    # -- what is said ------------------------------------------------------------------------------

    def _text(self, event: Part) -> None:
        role = event.get("role")
        self._say(event, "text", role if isinstance(role, str) else "assistant")

    def _reasoning(self, event: Part) -> None:
        self._say(event, "thought", "reasoning")

    def _thinking(self, event: Part) -> None:
        """The older words have no ids: each beginning is a thought of its own."""
        if str(event.get("type")).endswith("_START"):
            self._open.pop("thought", None)
        else:
            self._reasoning(event)

    def _say(self, event: Part, kind: str, role: str) -> None:
        """A text begins, if it has not begun yet: shorthand has neither beginning nor end."""
        name = event.get("messageId")
        entry = self._named.get(name) if isinstance(name, str) else self._open.get(kind)
        if entry is None or str(event.get("type")).endswith("_START"):
            named = {"id": name} if isinstance(name, str) else {}
            entry = self._add({**named, "role": role, "content": ""})
            for member in ("name", "metadata"):
                if event.get(member) is not None:
                    entry.message[member] = event[member]
        self._open[kind] = entry
        if isinstance(event.get("delta"), str):
            entry.pieces.append(event["delta"])

    def _seal(self, event: Part) -> None:
        name, value = str(event.get("entityId")), event.get("encryptedValue")
        if event.get("subtype") == "tool-call" and name in self._calls:
            self._calls[name].wire["encryptedValue"] = value
        elif name in self._named:
            self._named[name].message["encryptedValue"] = value
        else:
            self._add({"id": name, "role": "reasoning", "content": "", "encryptedValue": value})

    def _call(self, event: Part) -> None:
        call_id = event.get("toolCallId")
        name = call_id if isinstance(call_id, str) else self._asked
        if name is None:
            return
        tool = event.get("toolCallName")
        if isinstance(tool, str) and (
            name not in self._calls or event["type"] == "TOOL_CALL_START"
        ):
            wire = {"id": name, "type": "function", "function": {"name": tool, "arguments": ""}}
            if event.get("metadata") is not None:
                wire["metadata"] = event["metadata"]
            self._calls[name] = Call(wire, [])
            asking = self._asking(event.get("parentMessageId"), name)
            asking.setdefault("toolCalls", []).append(wire)
        self._asked = name
        if isinstance(event.get("delta"), str) and name in self._calls:
            self._calls[name].pieces.append(event["delta"])

    def _asking(self, parent: Any, call: str) -> Part:
        """The assistant's message of a call: the named one, else the last, else a new one."""
        named = self._named.get(parent) if isinstance(parent, str) else None
        if named is not None and named.role == "assistant":
            return named.message
        unnamed = named is not None or not isinstance(parent, str)
        last = self.entries[-1] if self.entries and unnamed else None
        if last is not None and last.role == "assistant" and last.run == self._run:
            return last.message
        name = parent if isinstance(parent, str) and parent not in self._named else call
        return self._add({"id": name, "role": "assistant"}).message

    def _result(self, event: Part) -> None:
        keys = ("toolCallId", "content", "error", "metadata")
        message = {key: event[key] for key in keys if key in event}
        self._add({"id": event.get("messageId"), "role": "tool", **message})

    def _custom(self, event: Part) -> None:
        if event.get("name") == KEY:
            self._add({"role": NOTE, "value": event.get("value")})
        else:
            self.beside += 1

    def _nothing(self, event: Part) -> None:
        """Beginnings and ends without content of their own."""


def _speaks(entry: Entry) -> bool:
    return not entry.role.startswith("$")


def _thoughts(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Reasoning by the message that it stands before."""
    found: dict[str, list[Entry]] = {}
    waiting: list[Entry] = []
    for entry in entries:
        if entry.role == "reasoning":
            waiting.append(entry)
        elif _speaks(entry):
            if waiting:
                found[str(entry.message.get("id"))] = waiting
            waiting = []
    return found


_HANDLERS = {
    "RUN_STARTED": Thread._started,
    "RUN_FINISHED": Thread._finished,
    "RUN_ERROR": Thread._failed,
    "MESSAGES_SNAPSHOT": Thread._snapshot,
    **{f"TEXT_MESSAGE_{step}": Thread._text for step in ("START", "CONTENT", "CHUNK")},
    **{f"REASONING_MESSAGE_{step}": Thread._reasoning for step in ("START", "CONTENT", "CHUNK")},
    "REASONING_ENCRYPTED_VALUE": Thread._seal,
    **{f"THINKING_{step}": Thread._thinking for step in ("START", "CONTENT")},
    **{f"THINKING_TEXT_MESSAGE_{step}": Thread._thinking for step in ("START", "CONTENT")},
    **{f"TOOL_CALL_{step}": Thread._call for step in ("START", "ARGS", "CHUNK")},
    "TOOL_CALL_RESULT": Thread._result,
    "CUSTOM": Thread._custom,
    **dict.fromkeys(("REASONING_START", "REASONING_END", "THINKING_END"), Thread._nothing),
    **dict.fromkeys(("TEXT_MESSAGE_END", "REASONING_MESSAGE_END"), Thread._nothing),
    **dict.fromkeys(("THINKING_TEXT_MESSAGE_END", "TOOL_CALL_END"), Thread._nothing),
}
EVENTS = frozenset(_HANDLERS) | {
    *("STEP_STARTED", "STEP_FINISHED", "STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT"),
    *("ACTIVITY_DELTA", "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR", "RAW"),
}


def folded(events: Iterable[Part]) -> Thread:
    """What all these events build up."""
    thread = Thread()
    for event in events:
        thread.feed(event)
    thread.close()
    return thread
