"""Small streams of the Responses API, and the questions that most tests ask of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import interlingua as il
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.events import (
    Event,
    Other,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects.streaming import bare, check_home, disorder, events_of, frames_of

Json = dict[str, Any]


USAGE: Json = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 4,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 13,
}


def response(*items: Json, **more: Any) -> Json:
    """A whole response of these items."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": "gpt-5",
        "output": list(items),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "metadata": {},
        "usage": USAGE,
        **more,
    }


def begun(**more: Any) -> list[Json]:
    wire = response(status="in_progress", usage=None, **more)
    return [
        {"type": "response.created", "response": wire},
        {"type": "response.in_progress", "response": wire},
    ]


def ended(*items: Json, kind: str = "completed", **more: Any) -> Json:
    return {"type": f"response.{kind}", "response": response(*items, status=kind, **more)}


def numbered(wires: Iterable[Json]) -> list[Json]:
    return [{**wire, "sequence_number": number} for number, wire in enumerate(wires)]


def talk(*told: list[Json], **more: Any) -> list[Json]:
    """A whole stream: the frames of each item, whose last one has the item."""
    return numbered(
        [*begun(), *(each for item in told for each in item), ended(*items(told), **more)]
    )


def items(told: Iterable[list[Json]]) -> Iterator[Json]:
    for frames in told:
        yield frames[-1]["item"]


def added(at: int, item: Json) -> Json:
    return {"type": "response.output_item.added", "output_index": at, "item": item}


def done(at: int, item: Json) -> Json:
    return {"type": "response.output_item.done", "output_index": at, "item": item}


def message(at: int, *parts: list[Json], id: str = "msg_1", **more: Any) -> list[Json]:
    """A message from its beginning to its end; a part is a list of frames, the last has it."""
    item = {"id": id, "type": "message", "role": "assistant", **more}
    place = {"item_id": id, "output_index": at}
    frames = [{**each, **place} for part in parts for each in part]
    content = [part[-1]["part"] for part in parts]
    return [
        added(at, {**item, "status": "in_progress", "content": []}),
        *frames,
        done(at, {**item, "status": "completed", "content": content}),
    ]


def words(*pieces: str, number: int = 0, notes: Iterable[Json] = (), **more: Any) -> list[Json]:
    """A part of text, in pieces."""
    place = {"content_index": number}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": [], **more}
    whole = {**part, "text": "".join(pieces), "annotations": list(notes)}
    return [
        {"type": "response.content_part.added", **place, "part": part},
        *(
            {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
            for piece in pieces
        ),
        *(
            {
                "type": "response.output_text.annotation.added",
                **place,
                "annotation_index": index,
                "annotation": note,
            }
            for index, note in enumerate(notes)
        ),
        {"type": "response.output_text.done", **place, "text": whole["text"], "logprobs": []},
        {"type": "response.content_part.done", **place, "part": whole},
    ]


def refused(*pieces: str) -> list[Json]:
    place, whole = {"content_index": 0}, "".join(pieces)
    part = {"type": "refusal", "refusal": ""}
    return [
        {"type": "response.content_part.added", **place, "part": part},
        *({"type": "response.refusal.delta", **place, "delta": piece} for piece in pieces),
        {"type": "response.refusal.done", **place, "refusal": whole},
        {"type": "response.content_part.done", **place, "part": {**part, "refusal": whole}},
    ]


def thoughts(at: int, *parts: tuple[str, ...], id: str = "rs_1", **more: Any) -> list[Json]:
    """A reasoning item; each of its summaries in pieces. `more` is known at its end only."""
    item: Json = {"id": id, "type": "reasoning", "summary": []}
    frames: list[Json] = []
    for number, pieces in enumerate(parts):
        place = {"item_id": id, "output_index": at, "summary_index": number}
        whole = "".join(pieces)
        name = "response.reasoning_summary"
        part = {"type": "summary_text", "text": ""}
        frames += [
            {"type": f"{name}_part.added", **place, "part": part},
            *({"type": f"{name}_text.delta", **place, "delta": piece} for piece in pieces),
            {"type": f"{name}_text.done", **place, "text": whole},
            {"type": f"{name}_part.done", **place, "part": {**part, "text": whole}},
        ]
    summary = [{"type": "summary_text", "text": "".join(pieces)} for pieces in parts]
    return [added(at, item), *frames, done(at, {**item, "summary": summary, **more})]


def called(at: int, *pieces: str, name: str = "add", id: str = "call_1", **more: Any) -> list[Json]:
    """A call of a function, its arguments in pieces."""
    item = {"id": f"fc_{id}", "type": "function_call", "call_id": id, "name": name, **more}
    return _called(at, item, "arguments", "response.function_call_arguments", pieces)


def custom(at: int, *pieces: str) -> list[Json]:
    item = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "patch"}
    return _called(at, item, "input", "response.custom_tool_call_input", pieces)


def _called(at: int, item: Json, key: str, name: str, pieces: tuple[str, ...]) -> list[Json]:
    place = {"item_id": item["id"], "output_index": at}
    whole = "".join(pieces)
    return [
        added(at, {**item, key: "", "status": "in_progress"}),
        *({"type": f"{name}.delta", **place, "delta": piece} for piece in pieces),
        {"type": f"{name}.done", **place, key: whole},
        done(at, {**item, key: whole, "status": "completed"}),
    ]


def progress(at: int, item: Json, *stages: str, first: Json | None = None) -> list[Json]:
    """An item of a hosted tool, with frames that say how far it is."""
    place = {"output_index": at, "item_id": item["id"]}
    return [
        added(at, {**item, "status": "in_progress", **(first or {})}),
        *({"type": f"response.{item['type']}.{stage}", **place} for stage in stages),
        done(at, {**item, "status": "completed"}),
    ]


# -- questions ------------------------------------------------------------------------------------


def frame(wire: Any) -> Frame:
    if isinstance(wire, str):
        return Frame(None, wire)
    return Frame(wire.get("type"), json.dumps(wire))


def unnamed(wires: Iterable[Any]) -> list[Frame]:
    return [Frame(None, frame(wire).data) for wire in wires]


def read(frames: Iterable[Any]) -> list[Event]:
    events = events_of(DIALECT, frames, frame)
    assert disorder(events) == []
    return events


def write(events: Iterable[Event]) -> tuple[list[Any], Report]:
    """What is written, as JSON; the names are checked here: all frames have theirs, or none has."""
    frames, report = frames_of(DIALECT, events)
    wires = [each.data if each.data == "[DONE]" else json.loads(each.data) for each in frames]
    names = [wire.get("type") if isinstance(wire, dict) else None for wire in wires]
    assert [each.event for each in frames] in (names, [None] * len(frames))
    return wires, report


def goes_home(wires: list[Any], named: bool = True) -> list[Event]:
    """The events, once the frames are known to go home, by way of a store too."""
    return check_home(wires, read(wires if named else unnamed(wires)), write)


def fold(wires: list[Any]) -> il.Response:
    return il.fold(read(wires))


def abroad(events: Iterable[Event]) -> tuple[list[Json], Report]:
    """What is written for events that carry no marks of this wire."""
    wires, report = write(bare(events))
    assert [wire["sequence_number"] for wire in wires] == list(range(len(wires)))
    return wires, report


def plain(events: Iterable[Event]) -> list[Event]:
    """Without marks, and without frames that say nothing."""
    return [event.replace(frame=None) for event in events if not isinstance(event, Other)]
