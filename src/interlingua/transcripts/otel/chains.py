"""Requests of one conversation in the order in which they were made.

Most of them say all of the history again, so that a request which begins with what another one
ended with goes on from it. Some programs record what is new alone, and some shorten the history:
such a request goes on from the one before it, if both name the same conversation. One that begins
as another did and goes elsewhere is a way of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.transcripts.otel.events import Wire, as_json, in_attribute, said_in
from interlingua.transcripts.otel.otlp import Record
from interlingua.transcripts.otel.tables import (
    INFERENCE,
    INPUT,
    INSTRUCTIONS,
    OPERATION,
    OUTPUT,
    TOOL_RUN,
)

_TOLD = {"text": "content", "tool_call": "name", "tool_call_response": "id", "uri": "uri"}
"""What a message is recognised by when it is said again; thinking may be left out by then."""


class Chat(msgspec.Struct, eq=False):
    """One request and its answer, as entries `{role, parts}`."""

    record: Record
    instructions: list[Wire]
    given: list[Wire]
    made: list[Wire]

    @property
    def said(self) -> bool:
        return bool(self.given or self.made)


class Chain(msgspec.Struct, eq=False):
    """Requests that go on from one another, in runs that say their history again."""

    runs: list[list[Chat]]

    @property
    def last(self) -> Chat:
        return self.runs[-1][-1]

    @property
    def entries(self) -> list[Wire]:
        """All that was said: of each run the last history, and its answer."""
        return [entry for run in self.runs for entry in (*run[-1].given, *run[-1].made[:1])]

    @property
    def makers(self) -> dict[int, Chat]:
        """By place among the entries: the request that an answer was given to."""
        found: dict[int, Chat] = {}
        start = 0
        for run in self.runs:
            found |= {start + len(chat.given): chat for chat in run if chat.made}
            start += len(run[-1].given) + len(run[-1].made[:1])
        return found


def chats_of(records: Iterable[Record], report: Report) -> list[Chat]:
    """The requests to models; where none of them says anything, those to agents."""
    every = [_chat(record, report) for record in records]
    asked = [each for each in every if _operation(each) in INFERENCE or _is_plain(each)]
    if any(each.said for each in asked):
        return asked
    agents = [each for each in every if each.said and _operation(each) != TOOL_RUN]
    return agents or asked


def _operation(chat: Chat) -> Any:
    return chat.record.attributes.get(OPERATION)


def _is_plain(chat: Chat) -> bool:
    """Older traces, and events without their span, do not name the operation."""
    return _operation(chat) is None and chat.said


def _chat(record: Record, report: Report) -> Chat:
    attributes = record.attributes
    given, made = _entries(record, INPUT, report), _entries(record, OUTPUT, report)
    if not given and not made:
        events = record.events or in_attribute(attributes.get("events"))
        given, made = said_in(events)
    return Chat(record, _entries(record, INSTRUCTIONS, report), given, made)


def _entries(record: Record, name: str, report: Report) -> list[Wire]:
    """A list of objects: as JSON in a text, or as values of their own."""
    value = as_json(record.attributes.get(name))
    if value is not None and not isinstance(value, list):
        report.add("dropped", f"{record.where}, {name}", "it is no list of messages", "error")
        return []
    return [each for each in value or () if isinstance(each, dict)]


def chains_of(chats: Iterable[Chat], named: bool) -> tuple[list[Chain], list[Chat]]:
    """All ways, and answers whose requests were not recorded. `named`: the requests say of which
    conversation they are."""
    ways = _Ways(named)
    alone: list[Chat] = []
    for chat in sorted(chats, key=lambda each: (each.record.start, each.record.end)):
        if chat.given:
            ways.take(chat)
        else:
            alone.append(chat)
    return ways.chains, alone


class _Ways:
    def __init__(self, named: bool) -> None:
        self.chains: list[Chain] = []
        self._named = named
        self._tips: dict[int, tuple[Chain, list[Chat]]] = {}
        self._begun: set[int] = set()
        self._latest: Chain | None = None

    def take(self, chat: Chat) -> None:
        steps = _steps(chat.given)
        known = next((each for step in reversed(steps) if (each := self._tip(step))), None)
        if known is not None:
            chain, run = known
            run.append(chat)
        else:
            chain, run = self._begin(chat, steps[1])
        self._latest = chain
        self._tips[_steps(chat.made[:1], steps[-1])[-1]] = chain, run

    def _tip(self, step: int) -> tuple[Chain, list[Chat]] | None:
        """A way that ends here, and no longer does so."""
        known = self._tips.pop(step, None)
        return known if known is not None and known[0].runs[-1] is known[1] else None

    def _begin(self, chat: Chat, first: int) -> tuple[Chain, list[Chat]]:
        run = [chat]
        if self._latest is not None and self._named and first not in self._begun:
            self._latest.runs.append(run)
            return self._latest, run
        self._begun.add(first)
        self.chains.append(Chain([run]))
        return self.chains[-1], run


def _steps(entries: list[Wire], start: int = 0) -> list[int]:
    """A number for each beginning of a list of messages."""
    steps = [start]
    for entry in entries:
        steps.append(hash((steps[-1], key_of(entry))))
    return steps


def key_of(entry: Wire) -> tuple[Any, ...]:
    """What an entry is recognised by."""
    parts = entry.get("parts")
    told = []
    for part in parts if isinstance(parts, list) else ():
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind in _TOLD:
            told.append((kind, str(part.get(_TOLD[kind]))))
    return (entry.get("role") == "assistant", tuple(told))
