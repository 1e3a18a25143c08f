"""Small streams of Ollama's chat, and the questions that most tests ask of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

import interlingua as il
from interlingua.dialects.ollama import DIALECT
from interlingua.losses import Report
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
from interlingua.streams.frames import Frame
from tests.dialects.ollama import judge
from tests.laws import laws

Json = dict[str, Any]
TIME = "2026-11-15T12:00:00.{}Z"

_decode = msgspec.json.Decoder(list[Event]).decode


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
    told: list[Json] = []
    for each in lines:
        told += each if isinstance(each, list) else [each]
    return [*told, ended(**more)]


def frame(wire: Any) -> Frame:
    return Frame(None, json.dumps(wire))


def read(frames: Iterable[Any]) -> list[Event]:
    reader = DIALECT.stream_reader()
    events: list[Event] = []
    for each in frames:
        events += reader.feed(each if isinstance(each, Frame) else frame(each))
    events += reader.close()
    assert disorder(events) == []
    return events


def write(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written, as JSON; a line has no name."""
    writer = DIALECT.stream_writer()
    frames: list[Frame] = []
    for event in events:
        frames += writer.feed(event)
    frames += writer.close()
    assert {each.event for each in frames} <= {None}
    return [json.loads(each.data) for each in frames], writer.report


def goes_home(wires: list[Json]) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    events = read(wires)
    for told in (events, _decode(msgspec.json.encode(events))):
        written, report = write(told)
        assert laws.difference(wires, written) is None
        assert list(report) == []
    return events


def abroad(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written for events that carry no marks of this wire; the server's types take it."""
    wires, report = write([event.replace(frame=None) for event in events])
    for wire in wires:
        assert "error" in wire or judge.response_problems(wire) == []
    return wires, report


def fold(wires: list[Json]) -> il.Response:
    return il.fold(read(wires))


def whole(text: str = "", **more: Any) -> il.Response:
    """The same answer in one body."""
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    return DIALECT.read_response({**ended(), "message": message, **more})


def disorder(events: list[Event]) -> list[str]:
    """Where events break the law of their order."""
    problems: list[str] = []
    opened: set[int] = set()
    under_way, seen = False, set()
    for event in events:
        if isinstance(event, MessageStart):
            if under_way:
                problems.append("a message inside another")
            under_way, opened, seen = True, set(), set()
        elif isinstance(event, StreamError):
            under_way = False
        elif not isinstance(event, Other) and not under_way:
            problems.append(f"{type(event).__name__} outside a message")
        if isinstance(event, BlockStart | ToolUseStart):
            if event.index in seen:
                problems.append("an index twice")
            opened.add(event.index)
            seen.add(event.index)
        elif hasattr(event, "index") and event.index not in opened:
            problems.append(f"{type(event).__name__} outside a block")
        if isinstance(event, BlockEnd | ToolUseEnd):
            opened.discard(event.index)
        if isinstance(event, MessageComplete):
            under_way = False
            if opened:
                problems.append("a block that nothing closed")
    if not isinstance(events[-1], MessageComplete | StreamError):
        problems.append("no end")
    return problems
