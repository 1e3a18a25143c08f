"""Tool input while it is still being told."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.model.events import ToolUseEnd, ToolUseInputDelta
from interlingua.sessions.adapters.adapter import Adapter
from interlingua.streams.fold import Folder
from interlingua.streams.frames import MANY

requirement = pytest.mark.requirement

INPUT = {"path": "notes/Zürich.md", "lines": [1, 22], "all": True}
TEXT = json.dumps(INPUT, ensure_ascii=False)


def anthropic(*pieces: str) -> bytes:
    """A stream with one call whose input comes in these pieces."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    start |= {"stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    frames: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": call},
        *[
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in pieces
        ],
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {f['type']}\ndata: {json.dumps(f)}\n\n".encode() for f in frames)


def read(stream: bytes) -> list[il.Event]:
    decoder, reader = il.sse.Decoder(), il.dialect("anthropic").stream_reader()
    frames = [*decoder.feed(stream), *decoder.close()]
    return [event for frame in frames for event in reader.feed(frame)] + reader.close()


def partials(events: list[il.Event]) -> list[Any]:
    return [event.partial for event in events if isinstance(event, ToolUseInputDelta)]


@requirement("S002-112")
def test_every_piece_tells_what_can_be_read_of_the_input_so_far() -> None:
    events = list(il.with_partial_input(read(anthropic('{"path": "not', 'es.md", "n": 1', "2}"))))
    assert partials(events) == [
        {"path": "not"},
        {"path": "notes.md", "n": 1},
        {"path": "notes.md", "n": 12},
    ]


@requirement("S002-112")
def test_wherever_the_pieces_are_cut_each_is_an_object_and_the_last_is_the_input() -> None:
    stream = anthropic(*TEXT)
    found = partials(list(il.with_partial_input(read(stream))))
    assert len(found) == len(TEXT)
    for length, partial in enumerate(found, 1):
        assert partial == il.recover(TEXT[:length]).input
        assert partial.keys() <= INPUT.keys()
    assert found[-1] == INPUT


@requirement("S002-112")
def test_sessions_tell_it_as_the_stream_arrives() -> None:
    adapter = Adapter("anthropic:claude-sonnet-4-6")
    seen: list[Any] = []
    for event in adapter.stream_response([anthropic('{"path": "a', 'bc"}')]):
        if isinstance(event, ToolUseInputDelta):
            seen.append(event.partial)
        if isinstance(event, ToolUseEnd):
            assert event.input == {"path": "abc"}
    assert seen == [{"path": "a"}, {"path": "abc"}]


def test_several_calls_are_kept_apart_and_read_late() -> None:
    folder = Folder()
    texts = ((0, '{"a": '), (1, '{"b": "x'), (0, "1}"), (1, 'y"}'))
    events = [ToolUseInputDelta(index, text) for index, text in texts]
    for event in events:
        folder.feed(event)
    assert [event.partial for event in events] == [{}, {"b": "x"}, {"a": 1}, {"b": "xy"}]


def test_many_pieces_are_read_as_well() -> None:
    text = json.dumps({"text": "x" * (3 * MANY)})
    folder = Folder()
    events = [ToolUseInputDelta(0, letter) for letter in text]
    for event in events:
        folder.feed(event)
    assert events[MANY + 20].partial == {"text": "x" * (MANY + 11)}
    assert events[-1].partial == json.loads(text)


def test_it_is_no_part_of_the_event() -> None:
    seen, other = ToolUseInputDelta(0, '{"a'), ToolUseInputDelta(0, '{"a')
    Folder().feed(seen)
    assert seen == other
    assert il.dumps(seen) == il.dumps(other)
    assert il.loads(il.dumps(seen), ToolUseInputDelta).partial is None
    assert other.partial is None
