"""Streams, bytes in to bytes out through the public call, against a bare JSON parser that reads and
writes the same frames; what a long stream takes of memory; and what a snapshot costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import orjson

import interlingua as il
from bench import workloads
from bench.measure import Row, Timing, alone, compare, peak_growth, shown
from interlingua.model.events import MessageStart, ToolUseInputDelta, ToolUseStart
from interlingua.streams.fold import Folder

W5 = 3.2
LINEAR = 1.5
"""What a piece may cost in a stream ten times as long."""
MEMORY = 6.0
"""Times the bytes of the message itself: its text, the pieces, and the whole at the end."""
PIECES = 100_000


def converted(frames: list[bytes], source: str, target: str) -> bytes:
    return b"".join(il.stream_convert(frames, source, target))


def bare(frames: list[bytes]) -> Any:
    loads, dumps = orjson.loads, orjson.dumps
    out = []
    for frame in frames:
        head, _, data = frame.partition(b"data: ")
        out.append(head + b"data: " + (data if data[:1] == b"[" else dumps(loads(data))) + b"\n\n")
    return b"".join(out)


def rows(quick: bool) -> Iterator[Row]:
    rounds = 7 if quick else 21
    for name, source, target in (
        ("W5 Anthropic to Chat", "anthropic", "openai-chat"),
        ("W5 Chat to Anthropic", "openai-chat", "anthropic"),
    ):
        timing = alone("bench.streams:timed", source, target, rounds)
        yield Row(name, shown(timing.floor), timing.ratio, W5)
    yield _linear_row()
    yield _memory_row()
    yield _snapshot_row()


def timed(source: str, target: str, rounds: int) -> Timing:
    frames = workloads.stream() if source == "anthropic" else workloads.chat_stream()
    return compare(lambda: converted(frames, source, target), lambda: bare(frames), rounds)


def long_call(pieces: int) -> list[bytes]:
    """One call whose arguments come in pieces of ten bytes."""
    piece = b'{"type":"content_block_delta","index":0,"delta":'
    piece += b'{"type":"input_json_delta","partial_json":"abcdefghij"}}'
    frame = b"event: content_block_delta\ndata: %s\n\n" % piece
    first = frame.replace(b"abcdefghij", rb"{\"text\":\"")
    last = frame.replace(b"abcdefghij", rb"\"}")
    head, *_, end = workloads.stream(60)
    start = b'{"type":"content_block_start","index":0,"content_block":'
    start += b'{"type":"tool_use","id":"toolu_1","name":"edit_file","input":{}}}'
    opened = b"event: content_block_start\ndata: %s\n\n" % start
    closed = b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    return [head, opened, first, *[frame] * pieces, last, closed, end]


def _linear_row() -> Row:
    """Arguments of 1 MB in pieces of ten bytes: what one costs there and in a tenth of them."""
    many, some = long_call(PIECES), long_call(PIECES // 10)
    each = compare(
        lambda: converted(many, "anthropic", "openai-chat"),
        lambda: converted(some, "anthropic", "openai-chat"),
        3,
    )
    return Row("a piece of a 1 MB call, 100k / 10k", shown(each.floor), each.ratio / 10, LINEAR)


def memory(data: bytes) -> Any:
    """Convert a stream as it arrives, keeping nothing of what comes out."""
    pieces = PIECES if len(data) > 2 else 10
    frames = iter(long_call(10))
    frame = next(each for each in long_call(1) if b"abcdefghij" in each)
    opening = [next(frames), next(frames), next(frames)]

    def chunks() -> Iterator[bytes]:
        yield from opening
        for _ in range(pieces):
            yield frame
        yield from long_call(0)[3:]

    for _ in il.stream_convert(chunks(), "anthropic", "openai-chat"):
        pass


def _memory_row() -> Row:
    text = b"x" * (10 * PIECES)
    grown = peak_growth("bench.streams:memory", text) / len(text)
    return Row("memory of a 1 MB call in 100k pieces", "1.0 MB", grown, MEMORY)


def _snapshot_row() -> Row:
    """A snapshot after each piece of a call, against no snapshots at all, per piece."""

    def told(snapshots: bool) -> float:
        folder = Folder()
        folder.feed(MessageStart())
        folder.feed(ToolUseStart(0, "call_1", "edit_file"))
        folder.feed(ToolUseInputDelta(0, '{"text":"'))
        event = ToolUseInputDelta(0, "abcdefghij")
        begun = time.perf_counter()
        for _ in range(PIECES // 10):
            folder.feed(event)
            if snapshots:
                folder.message()
        return time.perf_counter() - begun

    without, having = told(snapshots=False), told(snapshots=True)
    micros = (having - without) / (PIECES // 10) * 1e6
    return Row("a snapshot of a call of 100 KB", shown(without), micros, None, "us each")
