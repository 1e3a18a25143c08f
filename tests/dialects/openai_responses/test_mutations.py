"""Broken wires: an error with a place, or a value that goes home; never anything else."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from interlingua.dialects.openai_responses import DIALECT
from interlingua.errors import ReadError
from interlingua.model import codec
from interlingua.streams.frames import Frame
from tests.dialects.openai_responses.streaming import talk
from tests.dialects.openai_responses.streams import TOLD
from tests.dialects.openai_responses.test_options import TOOLS
from tests.dialects.openai_responses.wires import (
    ASIDES,
    CALLS,
    OTHERS,
    OUTPUTS,
    USAGE,
    Wire,
    answer,
    body,
    said,
    text,
    user,
    whole,
)
from tests.dialects.streaming import bare, disorder, events_of, frames_of
from tests.effort import seeds
from tests.laws import laws

JUNK: list[Any] = [
    *(None, True, 0, -1, 3.5, 10**30, "", "x", "[tool error] x", [], {}, [1], ["x"], [None]),
    *({"a": 1}, {"type": "x"}, [{"type": "output_text"}], {"type": "function"}),
]
KEYS = ("extra", "id", "type", "name", "status", "content", "role", "text", "item", "output")
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}
FILE = {"type": "input_file", "file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}
REQUESTS = [
    {"model": "gpt-5", "input": "Hi", "instructions": "Be brief.", "stream": True},
    body(user([text("a"), IMAGE, FILE]), *CALLS, *OUTPUTS, *OTHERS, *ASIDES),
    body(
        user(),
        tools=TOOLS,
        tool_choice={"type": "allowed_tools", "mode": "auto", "tools": TOOLS[:2]},
        text={"format": {"type": "json_schema", "name": "n", "schema": {}}, "verbosity": "low"},
        reasoning={"effort": "low", "summary": "auto"},
        include=["message.output_text.logprobs"],
        top_logprobs=2,
        metadata={"a": "b"},
        conversation={"id": "conv_1"},
        prompt={"id": "pmpt_1"},
    ),
]
NOTE = {"type": "url_citation", "url": "u", "title": "T", "start_index": 0, "end_index": 1}
RESPONSES = [
    whole(answer(said("a", annotations=[NOTE], logprobs=[])), *CALLS, *OUTPUTS, usage=USAGE),
    whole(status="incomplete", incomplete_details={"reason": "max_output_tokens"}, usage=USAGE),
    whole(status="failed", error={"code": "server_error", "message": "m"}),
    {"error": {"message": "m", "type": "t", "param": None, "code": "c"}, "status": 401},
    {"code": "c", "error": "m"},
]


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*place, key))


def mutated(wire: Wire, chance: random.Random) -> Wire:
    """The wire with one to three things wrong."""
    wire = copy.deepcopy(wire)
    for _ in range(chance.choice((1, 1, 2, 3))):
        *way, key = chance.choice([*places(wire)] or [("x",)])
        target: Any = wire
        for step in way:
            target = target[step]
        match chance.randrange(4):
            case 0 if key in target or isinstance(key, int):
                target[key] = copy.deepcopy(chance.choice(JUNK))
            case 1 if isinstance(target, list) or key in target:
                del target[key]
            case 2 if isinstance(target, list):
                target.insert(key, copy.deepcopy(chance.choice(JUNK)))
            case _ if isinstance(target, dict):
                target[chance.choice(KEYS)] = copy.deepcopy(chance.choice(JUNK))
    return wire


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("kind", ["request", "response"])
def test_a_broken_wire_is_refused_with_a_place_or_goes_home(kind: str, seed: int) -> None:
    chance = random.Random(f"{kind} {seed}")
    refused: list[str] = []
    for _ in range(50):
        wire = mutated(chance.choice(REQUESTS if kind == "request" else RESPONSES), chance)
        try:
            value = laws.read(DIALECT, kind, wire)
        except ReadError as error:
            refused.append(error.path)
            continue
        stored = codec.loads(codec.dumps(value), type(value), strict=True)
        assert laws.difference(wire, laws.write(DIALECT, value).wire) is None
        assert laws.difference(wire, laws.write(DIALECT, stored).wire) is None
    assert all(path.startswith("$") for path in refused)


def disturbed(wires: list[Wire], chance: random.Random) -> list[Wire]:
    """A stream of which a frame is wrong, missing, delivered twice, or out of its turn."""
    wires = list(wires)
    for _ in range(chance.choice((1, 1, 2, 3))):
        place, other = chance.randrange(len(wires)), chance.randrange(len(wires))
        match chance.randrange(6):
            case 0 if len(wires) > 1:
                del wires[place]
            case 1:
                wires.insert(other, wires[place])
            case 2:
                wires[place], wires[other] = wires[other], wires[place]
            case _:
                wires[place] = mutated(wires[place], chance)
    return wires


@pytest.mark.parametrize("seed", seeds(4))
def test_a_broken_stream_is_refused_with_a_place_or_goes_home(seed: int) -> None:
    chance = random.Random(seed)
    refused: list[str] = []
    for _ in range(150):
        wires = disturbed(talk(*chance.choice([*TOLD.values()])), chance)
        frames = [Frame("named", json.dumps(wire)) for wire in wires]
        try:
            events = events_of(DIALECT, frames, Frame)
        except ReadError as error:
            refused.append(error.path)
            continue
        assert disorder(events) == []
        written, _ = frames_of(DIALECT, events)
        assert written[: len(frames)] == frames[: len(written)]
        abroad, _ = frames_of(DIALECT, bare(events))
        assert disorder(events_of(DIALECT, abroad, Frame)) == []
    assert all(path.startswith("$") for path in refused)
