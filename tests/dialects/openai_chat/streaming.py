"""Small streams of Chat Completions, and the questions that most tests ask of them. OpenRouter's
tests ask the same of their own dialect."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import interlingua as il
from interlingua.dialects.openai_chat import DIALECT
from interlingua.dialects.record import Dialect
from interlingua.model.events import (
    Event,
    MessageComplete,
    Other,
    StreamError,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects.streaming import bare, check_home, events_of, frames_of
from tests.laws import streams

Json = dict[str, Any]

DONE = "[DONE]"
COUNTS = {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}


def frame(wire: Any) -> Frame:
    return Frame(None, wire if isinstance(wire, str) else json.dumps(wire))


def chunk(delta: Json | None, word: Any = None, index: int = 0, **more: Any) -> Json:
    """A chunk of one choice; without a delta, of none."""
    choice = {"index": index, "delta": delta, "finish_reason": word}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "gpt-5",
        "choices": [] if delta is None else [choice],
        **more,
    }


BEGUN = chunk({"role": "assistant", "content": ""})


def talk(*deltas: Json, word: Any = "stop", usage: Any = COUNTS) -> list[Any]:
    """A whole stream of these deltas."""
    last = [] if usage is None else [chunk(None, usage=usage)]
    return [BEGUN, *(chunk(delta) for delta in deltas), chunk({}, word), *last, DONE]


def words(*pieces: str) -> list[Json]:
    return [{"content": piece} for piece in pieces]


def call(
    arguments: str | None = None, index: int = 0, id: str | None = None, name: str | None = None
) -> Json:
    """A piece of a call; with an id, its first."""
    function: Json = {} if name is None else {"name": name}
    if arguments is not None:
        function["arguments"] = arguments
    piece: Json = {"index": index, "function": function}
    return {"tool_calls": [piece if id is None else {**piece, "id": id, "type": "function"}]}


def called(id: str, name: str = "get_weather", index: int = 0, arguments: str = "") -> Json:
    return call(arguments, index, id, name)


def read(frames: Iterable[Any], dialect: Dialect = DIALECT) -> list[Event]:
    events = events_of(dialect, frames, frame)
    assert disorder(events) == []
    return events


def write(events: Iterable[Event], dialect: Dialect = DIALECT) -> tuple[list[Any], Report]:
    """What is written, as JSON, but for the end."""
    frames, report = frames_of(dialect, events)
    return [data_of(each) for each in frames], report


def data_of(frame: Frame) -> Any:
    return frame.data if frame.data.strip() == DONE else json.loads(frame.data)


def goes_home(wires: list[Any], dialect: Dialect = DIALECT) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    return check_home(wires, read(wires, dialect), lambda events: write(events, dialect))


def abroad(events: Iterable[Event], dialect: Dialect = DIALECT) -> tuple[list[Any], Report]:
    """What is written for events that carry no marks of this wire."""
    return write(bare(events), dialect)


def fold(wires: list[Any], dialect: Dialect = DIALECT) -> il.Response:
    return il.fold(goes_home(wires, dialect))


def whole(message: Json, word: Any = "stop", **more: Any) -> il.Response:
    """The same answer in one body."""
    return DIALECT.read_response(body(message, word, **more))


def body(message: Json, word: Any = "stop", **more: Any) -> Json:
    fields = {"role": "assistant", "content": None, **message}
    return {
        **chunk(None),
        "object": "chat.completion",
        "choices": [{"index": 0, "message": fields, "finish_reason": word}],
        "usage": COUNTS,
        **more,
    }


def deltas(wires: list[Any]) -> list[Json]:
    """The deltas of the chunks, without those that are empty or only begin."""
    found = [choice["delta"] for w in wires if w != DONE for choice in w.get("choices", ())]
    return [delta for delta in found if delta not in ({}, BEGUN["choices"][0]["delta"])]


def kinds(events: Iterable[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def disorder(events: list[Event]) -> list[str]:
    """Where events break the law of their order, in a stream with one end."""
    problems = streams.disorder(events)
    if sum(isinstance(event, MessageComplete | StreamError) for event in events) != 1:
        problems.append("not one end")
    emitted = [event for event in events if not isinstance(event, Other)]
    if not emitted or not isinstance(emitted[-1], MessageComplete | StreamError):
        problems.append("something after the end")
    return problems
