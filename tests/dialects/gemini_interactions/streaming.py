"""Streams of the Interactions API, made up."""

from __future__ import annotations

import json
from typing import Any

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from interlingua.model.events import Event
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects import streaming
from tests.dialects.gemini_interactions.wires import USAGE, Wire

DONE = Frame("done", "[DONE]")


def frame(wire: Any) -> Frame:
    return wire if isinstance(wire, Frame) else Frame(wire.get("event_type"), json.dumps(wire))


def created(**more: Any) -> Wire:
    collected = {
        "id": "v1_a",
        "status": "in_progress",
        "object": "interaction",
        "model": "m",
        **more,
    }
    return {"event_type": "interaction.created", "interaction": collected}


def completed(status: str = "completed", **more: Any) -> Wire:
    collected = {"id": "v1_a", "status": status, "model": "m", "usage": USAGE, **more}
    return {"event_type": "interaction.completed", "interaction": collected}


def start(index: int, kind: str, **more: Any) -> Wire:
    return {"event_type": "step.start", "index": index, "step": {"type": kind, **more}}


def delta(index: int, kind: str, **more: Any) -> Wire:
    return {"event_type": "step.delta", "index": index, "delta": {"type": kind, **more}}


def stop(index: int, **more: Any) -> Wire:
    return {"event_type": "step.stop", "index": index, **more}


def words(index: int, *pieces: str) -> list[Wire]:
    collected = [delta(index, "text", text=piece) for piece in pieces]
    return [start(index, "model_output"), *collected, stop(index)]


def thoughts(index: int, *pieces: str, signature: str | None = "c2ln") -> list[Wire]:
    content = [{"type": "text", "text": piece} for piece in pieces]
    collected = [delta(index, "thought_summary", content=each) for each in content]
    signed = [] if signature is None else [delta(index, "thought_signature", signature=signature)]
    return [start(index, "thought"), *collected, *signed, stop(index)]


def called(index: int, *pieces: str) -> list[Wire]:
    collected = [delta(index, "arguments_delta", arguments=piece) for piece in pieces]
    call = {"id": f"fc_{index}", "name": "add", "arguments": {}}
    return [start(index, "function_call", **call), *collected, stop(index)]


def talk(*steps: list[Wire], status: str = "completed") -> list[Any]:
    return [created(), *[each for step in steps for each in step], completed(status), DONE]


def read(wires: list[Any]) -> list[Event]:
    """The events of a stream, once its frames are known to go home byte for byte."""
    frames = [frame(wire) for wire in wires]
    events = streaming.events_of(DIALECT, frames, frame)
    written, report = streaming.frames_of(DIALECT, events)
    assert written == frames
    assert list(report.entries) == []
    assert streaming.disorder(events) == []
    return events


def write(events: list[Event]) -> tuple[list[Any], Report]:
    """What is written for events of others."""
    frames, report = streaming.frames_of(DIALECT, streaming.bare(events))
    return [json.loads(f.data) if f.data != "[DONE]" else DONE for f in frames], report


def fold(wires: list[Any]) -> il.Response:
    return il.fold(read(wires))
