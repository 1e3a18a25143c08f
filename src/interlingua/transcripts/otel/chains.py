"""Requests of one conversation in the order in which they were made.

Most of them say all of the history again, so that a request which begins with what another one
ended with goes on from it. Some programs record what is new alone, and some shorten the history:
such a request goes on from the one before it, if both name the same conversation. One that begins
as another did and goes elsewhere is a way of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from interlingua.model.losses import Report
from interlingua.transcripts.otel.otlp import (
    CHOICE,
    COMPLETIONS,
    INFERENCE,
    INPUT,
    INSTRUCTIONS,
    OPERATION,
    OUTPUT,
    PROMPTS,
    ROLES_OF_EVENTS,
    TOOL_RUN,
    Event,
    Record,
)
from interlingua.transcripts.values import NOT_JSON

Wire = dict[str, Any]


def messages_in(events: list[Event]) -> tuple[list[Wire], list[Wire]]:
    """What went in and what came out, in the order of the events."""
    history: list[Wire] = []
    made: list[Wire] = []
    for event in events:
        body = _content(event.body)
        if event.name in ROLES_OF_EVENTS:
            history.append(_message(body, ROLES_OF_EVENTS[event.name]))
        elif event.name == CHOICE:
            made.append(_choice(body))
        elif event.name == PROMPTS[0]:
            history.extend(_listed(body.get(PROMPTS[1]), "user"))
        elif event.name == COMPLETIONS[0]:
            made.extend(_listed(body.get(COMPLETIONS[1]), "assistant"))
    return history, made


def in_attribute(value: Any) -> list[Event]:
    """Events that a library keeps as JSON in one attribute of the span (pydantic-ai before 1.0)."""
    found = as_json(value)
    return (
        [Event(str(each.get("event.name")), each) for each in found if isinstance(each, dict)]
        if isinstance(found, list)
        else []
    )


def as_json(value: Any) -> Any:
    """The value of a text that is JSON; any other value is itself."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except NOT_JSON:
        return value


def _content(body: Any) -> Wire:
    """An event of a span has its body as JSON in an attribute."""
    if isinstance(body, dict) and "gen_ai.event.content" in body:
        body = as_json(body["gen_ai.event.content"])
    return body if isinstance(body, dict) else {"content": body}


def _choice(body: Wire) -> Wire:
    """The calls stand in the message, or beside it."""
    message = as_json(body.get("message"))
    inner = message if isinstance(message, dict) else {"content": message}
    if body.get("tool_calls") and "tool_calls" not in inner:
        inner = {**inner, "tool_calls": body["tool_calls"]}
    message_read = _message(inner, "assistant")
    end = body.get("finish_reason")
    return {**message_read, "finish_reason": end} if isinstance(end, str) else message_read


def _message(body: Wire, role: str) -> Wire:
    own_role = body.get("role")
    content = body.get("content")
    if isinstance(content, str) and content.startswith("[{"):
        content = as_json(content)
    if role == "tool":
        answer = {"type": "tool_call_response", "id": body.get("id"), "response": content}
        return {"role": "tool", "parts": [answer]}
    calls = as_json(body.get("tool_calls"))
    parts = [*_parts(content), *_calls(calls)]
    return {"role": own_role if isinstance(own_role, str) else role, "parts": parts}


def _parts(content: Any) -> Iterator[Wire]:
    for each in content if isinstance(content, list) else [content]:
        match each:
            case None | "":
                continue
            case str(text):
                yield {"type": "text", "content": text}
            case {"type": "text", "text": str(text)} | {"text": str(text)}:
                yield {"type": "text", "content": text}
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                yield {"type": "uri", "modality": "image", "uri": url}
            case {"type": str()}:
                yield each
            case _:
                yield {"type": "text", "content": msgspec.json.encode(each).decode()}


def _calls(calls: Any) -> Iterator[Wire]:
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"function": {"name": str(name), **function}}:
                arguments = function.get("arguments")
                yield {
                    "type": "tool_call",
                    "id": call.get("id"),
                    "name": name,
                    "arguments": arguments,
                }
            case {"type": str()}:
                yield call


def _listed(value: Any, role: str) -> Iterator[Wire]:
    """All messages in one attribute: a list of them, or a text."""
    found = as_json(value)
    for each in found if isinstance(found, list) else [found]:
        if isinstance(each, dict):
            yield _message(each, str(each.get("role") or role))
        elif each is not None:
            yield {"role": role, "parts": [{"type": "text", "content": str(each)}]}


_KEYS = {"text": "content", "tool_call": "name", "tool_call_response": "id", "uri": "uri"}
"""What a message is recognised by when it is said again; thinking may be left out by then."""


class Chat(msgspec.Struct, eq=False):
    """One request and its answer, as entries `{role, parts}`."""

    record: Record
    instructions: list[Wire]
    history: list[Wire]
    made: list[Wire]

    @property
    def has_messages(self) -> bool:
        return bool(self.history or self.made)


class Chain(msgspec.Struct, eq=False):
    """Requests that go on from one another, in runs that say their history again."""

    runs: list[list[Chat]]

    @property
    def last(self) -> Chat:
        return self.runs[-1][-1]

    @property
    def entries(self) -> list[Wire]:
        """All that was said: of each run the last history, and its answer."""
        return [entry for run in self.runs for entry in (*run[-1].history, *run[-1].made[:1])]

    @property
    def makers(self) -> dict[int, Chat]:
        """By place among the entries: the request that an answer was given to."""
        found: dict[int, Chat] = {}
        start = 0
        for run in self.runs:
            found |= {start + len(chat.history): chat for chat in run if chat.made}
            start += len(run[-1].history) + len(run[-1].made[:1])
        return found


def chats_of(records: Iterable[Record], report: Report) -> list[Chat]:
    """The requests to models; where none of them says anything, those to agents."""
    every = [_chat(record, report) for record in records]
    # Older traces, and events without their span, do not name the operation.
    asked = [
        each
        for each in every
        if _operation(each) in INFERENCE or (_operation(each) is None and each.has_messages)
    ]
    if any(each.has_messages for each in asked):
        return asked
    agents = [each for each in every if each.has_messages and _operation(each) != TOOL_RUN]
    return agents or asked


def _operation(chat: Chat) -> Any:
    return chat.record.attributes.get(OPERATION)


def _chat(record: Record, report: Report) -> Chat:
    attributes = record.attributes
    history, made = _entries(record, INPUT, report), _entries(record, OUTPUT, report)
    if not history and not made:
        events = record.events or in_attribute(attributes.get("events"))
        history, made = messages_in(events)
    return Chat(record, _entries(record, INSTRUCTIONS, report), history, made)


def _entries(record: Record, name: str, report: Report) -> list[Wire]:
    """A list of objects: as JSON in a text, or as values of their own."""
    value = as_json(record.attributes.get(name))
    if value is not None and not isinstance(value, list):
        report.add("dropped", f"{record.where}, {name}", "it is no list of messages", "error")
        return []
    return [each for each in value or () if isinstance(each, dict)]


def chains_of(chats: Iterable[Chat], named: bool) -> tuple[list[Chain], list[Chat]]:
    """All branches, and answers without requests; `named`: requests name their conversation."""
    ways = _Ways(named)
    alone: list[Chat] = []
    for chat in sorted(chats, key=lambda each: (each.record.start, each.record.end)):
        if chat.history:
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
        steps = _steps(chat.history)
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
    facts = []
    for part in parts if isinstance(parts, list) else ():
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind in _KEYS:
            facts.append((kind, str(part.get(_KEYS[kind]))))
    return (entry.get("role") == "assistant", tuple(facts))
