"""Small streams of Ollama's chat, and the questions that most tests ask of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import interlingua as il
from interlingua.dialects.ollama import DIALECT
from interlingua.model.events import (
    Event,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects.ollama import judge
from tests.dialects.streaming import bare, check_home, disorder, events_of, frames_of

Json = dict[str, Any]
TIME = "2026-11-15T12:00:00.{}Z"


def line(text: str = "", number: int = 5, **message: Any) -> Json:
    return {
        "model": "qwen3:8b",
        "created_at": TIME.format(number),
        "message": {"role": "assistant", "content": text, **message},
        "done": False,
    }


def words(*pieces: str) -> list[Json]:
    return [line(piece, number) for number, piece in enumerate(pieces)]


def thoughts(*pieces: str) -> list[Json]:
    return [line("", number, thinking=piece) for number, piece in enumerate(pieces)]


def called(name: str = "add", id: str | None = "call_1", **arguments: Any) -> Json:
    call: Json = {"function": {"name": name, "arguments": arguments}}
    return call if id is None else {"id": id, **call}


def calls(*listed: Json) -> Json:
    return line(tool_calls=list(listed))


def ended(word: str | None = "stop", **more: Any) -> Json:
    return {
        **line(),
        "done": True,
        "done_reason": word,
        "total_duration": 5,
        "prompt_eval_count": 10,
        "eval_count": 3,
        **more,
    }


def talk(*lines: Json | list[Json], **more: Any) -> list[Json]:
    """A whole stream of these lines."""
    collected: list[Json] = []
    for each in lines:
        collected += each if isinstance(each, list) else [each]
    return [*collected, ended(**more)]


def frame(wire: Any) -> Frame:
    return Frame(None, json.dumps(wire))


def read(frames: Iterable[Any]) -> list[Event]:
    events = events_of(DIALECT, frames, frame)
    assert disorder(events) == []
    return events


def write(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written, as JSON; a line has no name."""
    frames, report = frames_of(DIALECT, events)
    assert {each.event for each in frames} <= {None}
    return [json.loads(each.data) for each in frames], report


def goes_home(wires: list[Json]) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    return check_home(wires, read(wires), write)


def abroad(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written for events that carry no marks of this wire; the server's types take it."""
    wires, report = write(bare(events))
    for wire in wires:
        assert "error" in wire or judge.response_problems(wire) == []
    return wires, report


def fold(wires: list[Json]) -> il.Response:
    return il.fold(read(wires))


def whole(text: str = "", **more: Any) -> il.Response:
    """The same answer in one body."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    return DIALECT.read_response({**ended(), "message": message, **more})
