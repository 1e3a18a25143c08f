"""Pieces that are spelled like the one before take a shortcut; it changes nothing but the time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.adapt.stream_convert import StreamConverter
from tests.effort import examples

START = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
USAGE = {"input_tokens": 1, "output_tokens": 1}


def anthropic(texts: list[str]) -> list[bytes]:
    def frame(kind: str, **more: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()

    def piece(index: int, text: str) -> bytes:
        delta = {"type": "text_delta", "text": text}
        return frame("content_block_delta", index=index, delta=delta)

    blocks = []
    for index in (0, 1):
        blank = {"type": "text", "text": ""}
        blocks.append(frame("content_block_start", index=index, content_block=blank))
        blocks += [piece(index, text) for text in texts]
        blocks.append(frame("content_block_stop", index=index))
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        frame("message_start", message={**START, "usage": USAGE}),
        *blocks,
        frame("message_delta", delta=ending, usage={"output_tokens": 9}),
        frame("message_stop"),
    ]


def chat(texts: list[str]) -> list[bytes]:
    def frame(delta: Any, reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return f"data: {json.dumps({**body, 'choices': [choice]})}\n\n".encode()

    pieces = [frame({"content": text}) for text in texts]
    begin = frame({"role": "assistant", "content": ""})
    return [begin, *pieces, frame({}, "stop"), b"data: [DONE]\n\n"]


FRAMES = {"anthropic": anthropic, "openai-chat": chat}
TARGETS = ["anthropic", "openai-chat", "openai-responses", "gemini"]
PAIRS = [(source, target) for source in FRAMES for target in TARGETS if source != target]


def spelled(frame: bytes, how: str) -> bytes:
    """The same frame in another spelling."""
    match how:
        case "crlf":
            return frame.replace(b"\n", b"\r\n")
        case "blanks":
            return frame.replace(b": ", b":   ").replace(b"event:   ", b"event: ")
        case "comment":
            return b": still here\n\n" + frame
        case "two lines":
            return frame.replace(b", ", b",\ndata: ", 1)
    return frame


def converted(chunks: list[bytes], source: str, target: str) -> tuple[bytes, Any, int]:
    converter = StreamConverter(source, target)
    used, out = 0, []
    for chunk in chunks:
        before = converter._shortcut
        out.append(converter.feed(chunk))
        used += before is not None and converter._shortcut is before
    return b"".join([*out, converter.close()]), converter.report.entries, used


@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(max_examples=examples(60))
@given(st.data())
def test_the_shortcut_says_what_the_long_way_says(source: str, target: str, data: Any) -> None:
    texts = data.draw(st.lists(st.text(max_size=4), max_size=8))
    ways = st.sampled_from(["", "", "", "crlf", "blanks", "comment", "two lines"])
    frames = [spelled(frame, data.draw(ways)) for frame in FRAMES[source](texts)]
    chunks: list[bytes] = []
    while frames:
        size = data.draw(st.integers(1, 3))
        chunks.append(b"".join(frames[:size]))
        frames = frames[size:]
    long_way = [bytes([byte]) for chunk in chunks for byte in chunk]
    short, losses, _ = converted(chunks, source, target)
    assert (short, losses) == converted(long_way, source, target)[:2]


@pytest.mark.parametrize(
    ("source", "target"), [("anthropic", "openai-chat"), ("openai-chat", "anthropic")]
)
def test_nearly_all_pieces_take_it_also_where_several_come_at_once(
    source: str, target: str
) -> None:
    frames = FRAMES[source](["a", "b\n", "ç", '"', "\u2028", "x" * 9] * 40)
    whole, losses, used = converted(frames, source, target)
    assert used > len(frames) - 20
    pairs = [b"".join(frames[at : at + 2]) for at in range(0, len(frames), 2)]
    assert converted(pairs, source, target)[:2] == (whole, losses)
    assert converted(pairs, source, target)[2] > len(pairs) - 20
    assert converted([bytes([byte]) for byte in b"".join(frames)], source, target)[2] == 0


def test_a_stream_in_which_no_piece_is_like_the_last_stops_looking_for_it() -> None:
    frames = [
        frame.replace(b'"id": "c"', f'"id": "c{number}"'.encode())
        for number, frame in enumerate(chat(["text"] * 2000))
    ]
    converter = StreamConverter("openai-chat", "anthropic")
    for frame in frames:
        converter.feed(frame)
    assert converter._shortcut is None
