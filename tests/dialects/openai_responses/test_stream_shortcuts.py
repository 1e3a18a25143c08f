"""Pieces are read and written by shortcuts: each gives what the long way gives."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.kernel.wire import encode
from interlingua.dialects.openai_responses.stream.reader import StreamReader
from interlingua.errors import InterlinguaError
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    TextDelta,
    ThinkingDelta,
)
from interlingua.streams.frames import Frame
from tests.dialects.openai_responses.streaming import (
    added,
    begun,
    called,
    custom,
    done,
    ended,
    message,
    thoughts,
    words,
)

TEXT, REFUSAL = "response.output_text.delta", "response.refusal.delta"
SUMMARY, THOUGHT = "response.reasoning_summary_text.delta", "response.reasoning_text.delta"
ARGUMENTS = "response.function_call_arguments.delta"
INPUT = "response.custom_tool_call_input.delta"
CODE = "response.code_interpreter_call_code.delta"
MCP = "response.mcp_call_arguments.delta"
TOKEN = {"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": []}
CALL = {"id": "mcp_1", "type": "mcp_call", "name": "f", "server_label": "s", "arguments": ""}
RUN = {"id": "ci_1", "type": "code_interpreter_call", "code": "", "container_id": "c"}
PLACES: dict[str, dict[str, Any]] = {
    TEXT: {"item_id": "msg_1", "output_index": 0, "content_index": 0},
    REFUSAL: {"item_id": "msg_2", "output_index": 6, "content_index": 0},
    SUMMARY: {"item_id": "rs_1", "output_index": 1, "summary_index": 0},
    THOUGHT: {"item_id": "rs_1", "output_index": 1, "content_index": 0},
    ARGUMENTS: {"item_id": "fc_call_1", "output_index": 2},
    INPUT: {"item_id": "ctc_1", "output_index": 3},
    MCP: {"item_id": "mcp_1", "output_index": 4},
    CODE: {"item_id": "ci_1", "output_index": 5},
}
ITEMS = [
    *(message(0, words("a"))[0], thoughts(1, ("a",))[0], called(2)[0], custom(3)[0]),
    *(added(4, CALL), added(5, RUN), message(6, id="msg_2")[0]),
]
PARTS = [
    {**words("")[0], **PLACES[TEXT]},
    {"type": "response.content_part.added", **PLACES[REFUSAL], "part": {"type": "refusal"}},
    {**thoughts(1, ("",))[1], **PLACES[SUMMARY]},
]
OTHERS = [
    *ITEMS,
    *PARTS,
    *(message(0, words("abc"))[-1], called(2, '{"a":1}')[-1], thoughts(1, ("abc",))[-1]),
    done(4, {**CALL, "arguments": "{}"}),
    {"type": "response.in_progress", "response": {}},
    {"type": "error", "code": "server_error", "message": "m"},
    ended(),
]
ODD: list[dict[str, Any]] = [
    {"obfuscation": "xy"},
    {"obfuscation": None},
    {"logprobs": []},
    {"logprobs": [TOKEN]},
    {"logprobs": None},
    {"item_id": "other"},
    {"item_id": None},
    {"output_index": 1},
    {"output_index": 0.0},
    {"output_index": None},
    {"output_index": "0"},
    {"content_index": 1},
    {"content_index": None},
    {"summary_index": 1},
    {"delta": 5},
    {"delta": ""},
    {"sequence_number": 0},
    {"sequence_number": 3},
    {"sequence_number": None},
    {"sequence_number": "1"},
    {"stream_id": 1},
]
PIECES = st.tuples(
    st.sampled_from(["a", "é🙂", '"\\\n', "\ud7ff\u2028"]),
    st.just({}) | st.sampled_from(ODD),
)
RUNS = st.tuples(st.sampled_from(sorted(PLACES)), st.lists(PIECES, min_size=2, max_size=6)).map(
    lambda run: [
        {"type": run[0], **PLACES[run[0]], "delta": text, "odd": odd} for text, odd in run[1]
    ]
)
"""Pieces of one kind, so that the shortcut is taken."""
FRAMES = st.lists(RUNS | st.sampled_from(OTHERS).map(lambda wire: [wire]), max_size=8)


def numbered(wires: list[dict[str, Any]], with_numbers: bool) -> list[dict[str, Any]]:
    """The frames with their numbers, and with what is odd about them."""
    out = []
    for number, each in enumerate(wires):
        wire = {key: item for key, item in each.items() if key != "odd"}
        if with_numbers:
            wire["sequence_number"] = number
        out.append({**wire, **each.get("odd", {})})
    return out


def told(feed: Any, reader: StreamReader, frames: list[Frame]) -> list[Any]:
    """What a way of reading gives: events to the last byte, or the error with its place."""
    found: list[Any] = []
    try:
        for frame in frames:
            found.append(msgspec.json.encode(feed(frame)))
        found.append(msgspec.json.encode(reader.close()))
    except InterlinguaError as error:
        found.append(str(error))
    return found


@given(FRAMES, st.booleans(), st.sampled_from([None, TEXT, "own"]))
def test_pieces_that_are_read_at_once(runs: Any, with_numbers: bool, name: str | None) -> None:
    wires = [*begun(), *ITEMS, *PARTS, *(wire for run in runs for wire in run)]
    frames = [Frame(name, json.dumps(wire)) for wire in numbered(wires, with_numbers)]
    short, long = StreamReader(), StreamReader()
    assert told(short.feed, short, frames) == told(long._feed, long, frames)


def test_the_shortcut_is_taken() -> None:
    """Else the test above says nothing."""
    taken = 0

    class Counting(StreamReader):
        def _feed(self, frame: Frame) -> list[Event]:
            nonlocal taken
            taken += 1
            return super()._feed(frame)

    kinds = [kind for kind in PLACES if kind not in (REFUSAL, CODE)]
    pieces = [{"type": kind, **PLACES[kind], "delta": "a"} for kind in kinds for _ in range(5)]
    before = [*begun(), *ITEMS, *PARTS]
    reader = Counting()
    for wire in numbered([*before, *pieces], with_numbers=True):
        reader.feed(Frame(None, json.dumps(wire)))
    assert taken == len(before) + len(kinds)


BLOCKS = st.sampled_from(
    [
        (il.TextBlock(""), TEXT, "content_index"),
        (il.RefusalBlock(""), REFUSAL, "content_index"),
        (il.ThinkingBlock("", id='rs "1'), SUMMARY, "summary_index"),
    ]
)
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(BLOCKS, st.lists(STRINGS, min_size=1, max_size=4))
def test_pieces_that_are_written_at_once(shape: Any, texts: list[str]) -> None:
    block, kind, key = shape
    writer = il.dialect("openai-responses").stream_writer()
    events: list[Any] = [MessageStart("m", "resp_1"), BlockStart(0, block)]
    is_thinking = isinstance(block, il.ThinkingBlock)
    piece: Any = ThinkingDelta if is_thinking else TextDelta
    events += [piece(0, text) for text in texts]
    whole = block.replace(text="".join(texts))
    events += [BlockEnd(0, whole), MessageComplete(il.Response(il.Message.assistant((whole,))))]
    frames = [frame for event in events for frame in writer.feed(event)]
    at = json.loads(next(frame.data for frame in frames if ".added" in str(frame.event)))
    pieces = [frame for frame in frames if frame.event == kind]
    first = json.loads(pieces[0].data)["sequence_number"]
    for number, (frame, text) in enumerate(zip(pieces, texts, strict=True), first):
        place = {"item_id": at["item"]["id"], "output_index": 0, key: 0}
        wire = {"type": kind, **place, "delta": text, "sequence_number": number}
        tokens: dict[str, Any] = {"logprobs": []} if kind == TEXT else {}
        assert frame.data == encode({**wire, **tokens}).decode()
