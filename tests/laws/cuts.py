"""Recorded streams cut at every byte: `python -m tests.laws.cuts`.

However the bytes are cut, the frames are the same; and a stream that ends at the cut is complete
only if it says all that the whole one says: its messages, and why they stopped. Between two
messages it is complete with those before. Where Gemini has said that it stopped and yet goes on,
no reader can know; such cuts are counted as early. In frames over 4 KB some thousand places are
cut, all those near line ends and edges among them.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

from interlingua.dialects.framing import decoder, encoder
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import ReadError
from interlingua.model.events import Event, MessageComplete, StreamError
from interlingua.streams.frames import Frame
from tests.laws import corpus
from tests.laws.streams import frames_of

LARGE = 4096
"""Frames over this size are cut at some places only."""
PLACES = 2000
NEAR = 32
"""So many bytes on both sides of a line end or an edge are always cut."""

Told = tuple[tuple[Any, ...], ...]
"""The messages that were told as complete: their blocks, and why they stopped."""


class Outcome(NamedTuple):
    dialect: str
    record: str
    frames: int
    cuts: int
    ends: int
    """Cuts at which the stream was complete already."""
    early: int
    problems: list[str]


def examine(name: str, record: str, frames: Sequence[Frame], every: int = 1) -> Outcome:
    """One stream, cut at every n-th byte."""
    encode = encoder(name)
    pieces = [encode(frame) for frame in frames]
    data = b"".join(pieces)
    whole = decoder(name)
    expected = [*whole.feed(data), *whole.close()]
    problems = []
    if one_by_one(name, data) != expected:
        problems.append("fed one byte at a time it gives other frames")
    if len(expected) != len(pieces):
        return Outcome(name, record, len(frames), 0, 0, 0, ["its frames do not come back"])
    result = told_after(dialect_of(name), expected)
    cuts = ends = early = 0
    for number, piece in enumerate(pieces):
        before = pieces[number - 1] if number else b""
        for place in places(piece, every):
            cuts += 1
            if two_pieces(name, before, piece, place) != expected[max(number - 1, 0) : number + 1]:
                problems.append(f"cut at byte {place} of frame {number} it gives other frames")
            last = ended(name, before, piece, place, number)
            complete = result[number] if not last else result[number + 1]
            if last and last != [expected[number]]:
                complete = told_of(dialect_of(name), [*expected[:number], *last])
            if complete is None:
                continue
            ends += 1
            if result[-1] is None or complete != result[-1][: len(complete)]:
                if name == "gemini" and signalled(expected[: number + len(last)]):
                    early += 1
                    continue
                text = f"frame {number}, byte {place}"
                problems.append(f"it ends at {text}, and is complete with less than all")
    return Outcome(name, record, len(frames), cuts, ends, early, problems)


def signalled(frames: Sequence[Frame]) -> bool:
    """Whether Gemini has said why it stopped."""
    return any('"finishReason"' in frame.data for frame in frames)


def one_by_one(name: str, data: bytes) -> list[Frame]:
    pieces = decoder(name)
    found = [frame for at in range(len(data)) for frame in pieces.feed(data[at : at + 1])]
    return [*found, *pieces.close()]


def two_pieces(name: str, before: bytes, piece: bytes, place: int) -> list[Frame]:
    pieces = decoder(name)
    found = pieces.feed(before) if before else []
    return [*found, *pieces.feed(piece[:place]), *pieces.feed(piece[place:]), *pieces.close()]


def ended(name: str, before: bytes, piece: bytes, place: int, number: int) -> list[Frame]:
    """What the bytes of this frame up to the cut still give when the stream ends there."""
    pieces = decoder(name)
    found = [*pieces.feed(before + piece[:place]), *pieces.close()]
    return found[1:] if number else found


def places(piece: bytes, every: int = 1) -> Iterable[int]:
    """Where a frame is cut; its end is the start of the next one."""
    size = len(piece)
    if size <= LARGE:
        return range(0, size, every)
    near = {0, size}
    near.update(at for at, byte in enumerate(piece) if byte in b"\r\n")
    chosen = {at for edge in near for at in range(edge - NEAR, edge + NEAR) if 0 <= at < size}
    return sorted(chosen.union(range(0, size, max(size // PLACES, 1))))[::every]


# -- what a stream tells that ends after so many frames -------------------------------------------


def told_after(dialect: Dialect, frames: Sequence[Frame]) -> list[Told | None]:
    """By the number of whole frames: the messages of a stream that ends there, None for an error.
    The reader goes through the frames once; at each of them a copy of it is told to end."""
    reader = dialect.stream_reader()
    shared = constants()
    seen: list[Event] = []
    collected = [_told(seen, copy.deepcopy(reader, dict(shared)).close())]
    for frame in frames:
        seen += [e for e in reader.feed(frame) if isinstance(e, MessageComplete | StreamError)]
        collected.append(_told(seen, copy.deepcopy(reader, dict(shared)).close()))
    return collected


def constants() -> dict[int, Any]:
    """What the modules hold, by identity: a copy of a reader has to share it."""
    ours = [each for name, each in list(sys.modules.items()) if name.startswith("interlingua")]
    return {id(value): value for module in ours for value in vars(module).values()}


def told_of(dialect: Dialect, frames: Sequence[Frame]) -> Told | None:
    reader = dialect.stream_reader()
    try:
        seen = [event for frame in frames for event in reader.feed(frame)]
    except ReadError:
        return None
    return _told(seen, reader.close())


def _told(seen: Sequence[Event], last: Sequence[Event]) -> Told | None:
    ends = [each for each in (*seen, *last) if isinstance(each, MessageComplete | StreamError)]
    if not ends or any(isinstance(each, StreamError) for each in ends):
        return None
    return tuple(
        tuple((m.content, m.metadata.stop_reason) for m in (r.message, *r.alternatives))
        for r in [each.response for each in ends if isinstance(each, MessageComplete)]
    )


# -- the command ----------------------------------------------------------------------------------


def recorded(wanted: Sequence[str] | None = None) -> Iterator[tuple[str, str, list[Frame]]]:
    # Where it is one dialect, files of others are not read.
    for record in corpus.records(wanted[0] if wanted and len(wanted) == 1 else None):
        if record.stream and record.dialect and (not wanted or record.dialect in wanted):
            yield record.dialect, record.id, frames_of(record)


def examine_one(stream: tuple[str, str, list[Frame]]) -> Outcome:
    try:
        return examine(*stream)
    except Exception as error:  # the outermost edge of a report: name it and go on
        name, record, frames = stream
        return Outcome(
            name, record, len(frames), 0, 0, 0, [f"crashed: {type(error).__name__}: {error}"]
        )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", action="append", help="only this dialect")
    parser.add_argument("--every", type=int, default=1, help="only every n-th stream")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=5, help="problems shown per dialect")
    options = parser.parse_args(argv)
    if not corpus.corpus_folder().is_dir():
        print(f"no recorded traffic ({corpus.VARIABLE} or shared/corpus): nothing to cut")
        return 0
    chosen = list(islice(recorded(options.dialect), 0, None, options.every))
    if not chosen:
        print("the folder of recorded traffic is there, but no such stream is in it")
        return 1
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(examine_one, chosen, chunksize=4))
    return report(outcomes, options.show)


def report(outcomes: Sequence[Outcome], show: int) -> int:
    counts: dict[str, Counter[str]] = {}
    for each in outcomes:
        numbers = {
            "streams": 1,
            "frames": each.frames,
            "cuts": each.cuts,
            "ends": each.ends,
            "early": each.early,
        }
        counts.setdefault(each.dialect, Counter()).update(numbers, failed=bool(each.problems))
    words = ("streams", "frames", "cuts", "ends", "early", "failed")
    print("dialect".ljust(18) + "".join(word.rjust(12) for word in words))
    for name, count in sorted(counts.items()):
        print(name.ljust(18) + "".join(str(count[word]).rjust(12) for word in words))
    total = sum(count["cuts"] for count in counts.values())
    print(f"{total} cuts")
    for name in sorted(counts):
        failed = [each for each in outcomes if each.dialect == name and each.problems]
        for each in failed[:show]:
            print(f"{name} {each.record}: {len(each.problems)} problems: {each.problems[0][:300]}")
    return 1 if any(each.problems for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
