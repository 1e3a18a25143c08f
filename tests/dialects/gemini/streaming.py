"""Small streams of `streamGenerateContent`, and the questions that most tests ask of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import interlingua as il
from interlingua.dialects.gemini import DIALECT
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    StreamError,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects.streaming import bare, check_home, events_of, frames_of

Json = dict[str, Any]


ABOUT: Json = {"modelVersion": "gemini-3-flash", "responseId": "r1"}


def counts(prompt: int = 4, candidates: int | None = 2, **more: Any) -> Json:
    collected = {"promptTokenCount": prompt, "totalTokenCount": prompt + (candidates or 0)}
    if candidates is not None:
        collected["candidatesTokenCount"] = candidates
    return {**collected, **more}


def frame(wire: Any, event: str | None = None) -> Frame:
    return Frame(event, wire if isinstance(wire, str) else json.dumps(wire))


def chunk(*parts: Json, usage: Json | None = None, **more: Any) -> Json:
    """A frame of one candidate; `more` goes into the candidate."""
    content = {"role": "model", "parts": list(parts)}
    wire = {"candidates": [{"content": content, "index": 0, **more}], **ABOUT}
    return wire if usage is None else {**wire, "usageMetadata": usage}


def talk(*frames: Json | list[Json], word: Any = "STOP") -> list[Json]:
    """A whole stream of frames of these parts; the last says why it ends."""
    wires = [chunk(*(each if isinstance(each, list) else [each])) for each in frames]
    wires[-1]["candidates"][0]["finishReason"] = word
    return wires


def thought(words: str, **more: Any) -> Json:
    return {"text": words, "thought": True, **more}


def late(signature: str, **more: Any) -> Json:
    """A signature by itself."""
    return {"text": "", "thoughtSignature": signature, **more}


def whole(*parts: Json, **more: Any) -> il.Response:
    """The same answer in one body."""
    return DIALECT.read_response(chunk(*parts, finishReason="STOP", **more))


def read(frames: Iterable[Any]) -> list[Event]:
    events = events_of(DIALECT, frames, frame)
    assert disorder(events) == []
    return events


def write(events: Iterable[Event]) -> tuple[list[Any], Report]:
    """What is written, as JSON; frames have no names here."""
    frames, report = frames_of(DIALECT, events)
    assert all(each.event is None for each in frames)
    return [json.loads(each.data) for each in frames], report


def goes_home(wires: list[Any]) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    return check_home(wires, read(wires), write)


def abroad(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written for events that carry no marks of this wire."""
    return write(bare(events))


def fold(wires: list[Any]) -> il.Response:
    return il.fold(read(wires))


def disorder(events: list[Event]) -> list[str]:
    """Where events break the law of their order."""
    problems: list[str] = []
    opened: set[tuple[int, int]] = set()
    seen: set[tuple[int, int]] = set()
    choices: set[int] = set()
    for number, event in enumerate(events):
        if isinstance(event, MessageComplete | StreamError):
            if not all(isinstance(each, Other) for each in events[number + 1 :]):
                problems.append("something after the end")
            if isinstance(event, MessageComplete) and opened:
                problems.append("a block that nothing closed")
            continue
        if isinstance(event, MessageStart):
            if event.choice in choices:
                problems.append("a message twice")
            choices.add(event.choice)
        elif not isinstance(event, Other) and event.choice not in choices:
            problems.append(f"{type(event).__name__} outside a message")
        index: int | None = getattr(event, "index", None)
        if index is None:
            continue
        place = (event.choice, index)
        if isinstance(event, BlockStart | ToolUseStart):
            if place in seen:
                problems.append("an index twice")
            opened.add(place)
            seen.add(place)
        elif place not in opened:
            problems.append(f"{type(event).__name__} outside a block")
        if isinstance(event, BlockEnd | ToolUseEnd):
            opened.discard(place)
    if not any(isinstance(event, MessageComplete | StreamError) for event in events):
        problems.append("no end")
    return problems
