"""Small streams of the Messages API, and the questions that most tests ask of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import interlingua as il
from interlingua.dialects.anthropic import DIALECT
from interlingua.model.events import (
    Event,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects.streaming import bare, check_home, disorder, events_of, frames_of

Json = dict[str, Any]


def frame(wire: Any) -> Frame:
    return Frame(wire.get("type"), json.dumps(wire))


def begun(**more: Any) -> Json:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    return {"type": "message_start", "message": {**message, **more}}


def ended(word: str | None = "end_turn", tokens: int = 3, **more: Any) -> list[Json]:
    delta = {"stop_reason": word, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": tokens}, **more},
        {"type": "message_stop"},
    ]


def block(index: int, start: Json, *deltas: Json) -> list[Json]:
    """A block from its start to its end."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def words(*pieces: str) -> list[Json]:
    return [{"type": "text_delta", "text": piece} for piece in pieces]


def thoughts(*pieces: str) -> list[Json]:
    return [{"type": "thinking_delta", "thinking": piece} for piece in pieces]


def given(*pieces: str) -> list[Json]:
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def signed(signature: str) -> Json:
    return {"type": "signature_delta", "signature": signature}


def called(name: str = "get_weather", id: str = "toolu_1", **more: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": {}, **more}


TEXT: Json = {"type": "text", "text": ""}
THINKING: Json = {"type": "thinking", "thinking": "", "signature": ""}


def talk(*blocks: list[Json], **more: Any) -> list[Json]:
    """A whole stream of these blocks."""
    return [begun(), *(each for reported in blocks for each in reported), *ended(**more)]


def read(frames: Iterable[Any]) -> list[Event]:
    events = events_of(DIALECT, frames, frame)
    assert disorder(events) == []
    return events


def write(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written, as JSON; the names are checked here."""
    frames, report = frames_of(DIALECT, events)
    wires = [json.loads(each.data) for each in frames]
    assert [each.event for each in frames] == [wire.get("type") for wire in wires]
    return wires, report


def goes_home(wires: list[Json]) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    return check_home(wires, read(wires), write)


def abroad(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written for events that carry no marks of this wire; blocks stand in a row."""
    wires, report = write(bare(events))
    assert in_a_row(wires)
    return wires, report


def in_a_row(wires: list[Json]) -> bool:
    is_open, last = False, -1
    for wire in wires:
        kind = wire["type"].removeprefix("content_block_")
        expected = {"start": (False, last + 1), "delta": (True, last), "stop": (True, last)}
        if kind in expected and (is_open, wire["index"]) != expected[kind]:
            return False
        if kind in ("message_delta", "message_stop") and is_open:
            return False
        is_open = kind == "start" if kind in ("start", "stop") else is_open
        last += kind == "start"
    return True


def fold(wires: list[Json]) -> il.Response:
    return il.fold(read(wires))


def whole(*content: Json, **more: Any) -> il.Response:
    """The same answer in one body."""
    message = begun()["message"]
    usage = {"input_tokens": 10, "output_tokens": 3}
    body = {**message, "content": list(content), "stop_reason": "end_turn", "usage": usage}
    return DIALECT.read_response({**body, **more})
