"""Streams: what is read of them, that they go home, and how those of others are told."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from interlingua.model.events import (
    BlockStart,
    MessageStart,
    StreamError,
    TextDelta,
)
from interlingua.streams.frames import Frame
from tests.dialects import streaming
from tests.dialects.gemini_interactions.streaming import (
    DONE,
    called,
    completed,
    created,
    delta,
    fold,
    frame,
    read,
    start,
    stop,
    talk,
    thoughts,
    words,
    write,
)
from tests.dialects.gemini_interactions.wires import IMAGE, SEARCH, USAGE, answer, text

NOTE = {"type": "url_citation", "url": "https://x", "start_index": 0, "end_index": 3}


@pytest.mark.parametrize("last", [[DONE], []], ids=["done", "data only"])
def test_a_stream_folds_to_the_whole_answer(last: list[Any]) -> None:
    status = {"event_type": "interaction.status_update", "status": "in_progress"}
    search = {key: item for key, item in SEARCH[0].items() if key in ("type", "id")}
    wires = [
        created(),
        status,
        *thoughts(0, "Hm. ", "So."),
        {"event_type": "step.start", "index": 1, "step": search},
        {"event_type": "step.delta", "index": 1, "delta": _without(SEARCH[0], "id")},
        stop(1),
        start(2, SEARCH[1]["type"], call_id="s1"),
        {"event_type": "step.delta", "index": 2, "delta": _without(SEARCH[1], "call_id")},
        stop(2),
        *words(3, "Grü", "ße"),
        start(4, "model_output"),
        {"event_type": "step.delta", "index": 4, "delta": IMAGE},
        delta(4, "text", text="see"),
        delta(4, "text_annotation_delta", annotations=[NOTE]),
        stop(4, usage=USAGE),
        *called(5, '{"a":1}'),
        completed("requires_action"),
        *last,
    ]
    whole = answer(
        {"type": "thought", "summary": [text("Hm. So.")], "signature": "c2ln"},
        *SEARCH,
        {"type": "model_output", "content": [text("Grüße")]},
        {"type": "model_output", "content": [IMAGE, text("see", annotations=[NOTE])]},
        {"type": "function_call", "id": "fc_5", "name": "add", "arguments": {"a": 1}},
        status="requires_action",
        usage=USAGE,
    )
    response = fold(wires)
    assert response == DIALECT.read_response(whole)
    assert DIALECT.write_response(response).wire["steps"] == whole["steps"]


def _without(wire: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: item for name, item in wire.items() if name != key}


@pytest.mark.parametrize(
    "wires",
    [
        talk(words(0)),
        talk(words(0, "")),
        talk(thoughts(0, signature=None)),
        talk(called(0)),
        talk([start(0, "daydream", x=1), delta(0, "daydream", y=2), stop(0)]),
        talk([start(0, "model_output", content=[text("at once")]), stop(0)]),
        talk([start(0, "model_output"), delta(0, "smell", x=1), stop(0), stop(0)]),
        talk([delta(0, "text", text="no start"), delta(7, "thought_signature", signature="s")]),
        talk([*words(0, "a"), {"event_type": "step.sung", "index": 0}]),
        [created(), *words(0, "never stopped")[:-1], completed(), DONE],
        [created(), completed(steps=[{"type": "model_output", "content": [text("all")]}]), DONE],
        [*words(0, "no beginning"), completed()],
    ],
    ids=range(12),
)
def test_odd_streams_go_home(wires: list[Any]) -> None:
    read(wires)


def test_a_stream_without_its_end_is_an_error() -> None:
    wires = [created(), *words(0, "Half")]
    *_, last = streaming.events_of(DIALECT, wires, frame)
    assert isinstance(last, StreamError)
    assert last.partial is not None
    assert last.partial.text == "Half"


def test_an_error_ends_the_stream() -> None:
    error = {"event_type": "error", "error": {"code": "resource_exhausted", "message": "slow"}}
    events = read([created(), *words(0, "Half")[:2], error])
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.error.kind is il.ErrorKind.RATE_LIMIT
    assert last.partial is not None
    assert last.partial.text == "Half"


@pytest.mark.parametrize(
    ("wire", "place"),
    [
        ({"event_type": "step.start", "index": "0", "step": {}}, "$.index"),
        ({"event_type": "step.start", "index": 0}, "$.step"),
        (start(0, "function_call", id="a"), "$.step.name"),
        ({"event_type": "interaction.created", "interaction": {"id": 1}}, "$.interaction.id"),
    ],
)
def test_a_frame_of_the_wrong_shape_is_named_with_its_place(wire: Any, place: str) -> None:
    with pytest.raises(il.ReadError) as error:
        DIALECT.stream_reader().feed(frame(wire))
    assert error.value.path == place


# -- those of others ------------------------------------------------------------------------------


def test_an_edited_stream_is_written_anew_from_there_on() -> None:
    events = read(talk(words(0, "Hel", "lo")))
    edited = [
        event.replace(text="p!") if isinstance(event, TextDelta) and event.text == "lo" else event
        for event in events
    ]
    frames, _ = streaming.frames_of(DIALECT, edited)
    texts = [json.loads(f.data)["delta"]["text"] for f in frames if f.event == "step.delta"]
    assert "".join(texts) == "Help!"
    assert isinstance(frames[-1], Frame)
    assert frames[-1] == DONE


def test_a_stream_that_fails_elsewhere_ends_with_an_error() -> None:
    partial = il.Message.assistant("Half")
    error = il.ProviderError(il.ErrorKind.SERVER_ERROR, "oops")
    events = [
        MessageStart("m", "v1_a"),
        BlockStart(0, il.TextBlock("")),
        TextDelta(0, "Half"),
        StreamError(error, partial),
    ]
    wires, report = write(events)
    assert wires[-1] == {"event_type": "error", "error": {"code": "internal", "message": "oops"}}
    assert list(report.entries) == []
