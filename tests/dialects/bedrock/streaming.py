"""Small streams of Converse, and the questions that most tests ask of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import botocore.loaders
import botocore.model
import botocore.validate

import interlingua as il
from interlingua.dialects.bedrock import DIALECT
from interlingua.model.events import (
    Event,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects.streaming import bare, check_home, disorder, events_of, frames_of

Json = dict[str, Any]
Named = dict[str, Json]
"""A frame as its name and its data."""


BEGUN: Named = {"messageStart": {"role": "assistant"}}
METADATA: Named = {
    "metadata": {
        "usage": {"inputTokens": 10, "outputTokens": 3, "totalTokens": 13},
        "metrics": {"latencyMs": 512},
    }
}


def start(index: int, **given: Any) -> Named:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": given}}


def delta(index: int, **given: Any) -> Named:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": given}}


def stop(index: int) -> Named:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def words(index: int, *pieces: str) -> list[Named]:
    return [*(delta(index, text=piece) for piece in pieces), stop(index)]


def thoughts(index: int, *pieces: str, signature: str | None = None) -> list[Named]:
    collected = [delta(index, reasoningContent={"text": piece}) for piece in pieces]
    if signature is not None:
        collected.append(delta(index, reasoningContent={"signature": signature}))
    return [*collected, stop(index)]


def blob(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def redacted(index: int, *pieces: str) -> list[Named]:
    collected = [
        delta(index, reasoningContent={"redactedContent": blob(piece)}) for piece in pieces
    ]
    return [*collected, stop(index)]


def called(index: int, *pieces: str, id: str = "tooluse_1", **more: Any) -> list[Named]:
    collected = [delta(index, toolUse={"input": piece}) for piece in pieces]
    return [start(index, toolUse={"toolUseId": id, "name": "add", **more}), *collected, stop(index)]


def ended(word: str | None = "end_turn", **more: Any) -> list[Named]:
    return [{"messageStop": {"stopReason": word, **more}}, METADATA]


def talk(*blocks: list[Named], **more: Any) -> list[Named]:
    """A whole stream of these blocks."""
    return [BEGUN, *(each for reported in blocks for each in reported), *ended(**more)]


def frame(named: Named) -> Frame:
    ((name, wire),) = named.items()
    return Frame(name, json.dumps(wire))


def read(frames: Iterable[Any]) -> list[Event]:
    events = events_of(DIALECT, frames, frame)
    assert disorder(events) == []
    return events


def write(events: Iterable[Event]) -> tuple[list[Named], Report]:
    """What is written, each frame as its name and its data."""
    frames, report = frames_of(DIALECT, events)
    return [{str(each.event): json.loads(each.data)} for each in frames], report


def goes_home(wires: list[Named]) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    return check_home(wires, read(wires), write)


def abroad(events: Iterable[Event]) -> tuple[list[Named], Report]:
    """What is written for events that carry no marks of this wire; blocks stand in a row, and the
    service's own model takes every frame."""
    wires, report = write(bare(events))
    assert in_a_row(wires)
    assert [problem for wire in wires for problem in misfits(wire)] == []
    return wires, report


@cache
def _shape() -> Any:
    model = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    return botocore.model.ServiceModel(model).shape_for("ConverseStreamOutput")


def misfits(named: Named) -> list[str]:
    found = botocore.validate.ParamValidator().validate(_unpacked(named), _shape())
    return list(found.generate_report().splitlines())


def _unpacked(value: Any) -> Any:
    """Blobs as the SDK has them."""
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    blobs = ("redactedContent", "bytes")
    return {
        key: base64.b64decode(item) if key in blobs else _unpacked(item)
        for key, item in value.items()
    }


def in_a_row(wires: list[Named]) -> bool:
    """Whether blocks come one after the other, numbered without gaps; only calls, results and
    images have a start."""
    current, last = None, -1
    for wire in wires:
        ((name, data),) = wire.items()
        index = data.get("contentBlockIndex")
        if name == "contentBlockStart" or (name == "contentBlockDelta" and current is None):
            if current is not None or index != last + 1:
                return False
            current = last = index
        elif index != current and not name.endswith("Exception"):
            return False
        elif name == "contentBlockStop":
            current = None
    return True


def fold(wires: list[Named]) -> il.Response:
    return il.fold(read(wires))


def whole(*content: Json, **more: Any) -> il.Response:
    """The same answer in one body."""
    output = {"message": {"role": "assistant", "content": list(content)}}
    body = {"output": output, "stopReason": "end_turn", **METADATA["metadata"]}
    return DIALECT.read_response({**body, **more})
