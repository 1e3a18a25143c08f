"""Sessions of other agents: reading one against decoding its lines, listing and searching many."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from bench.agents import AGENTS
from bench.measure import Row, compare, shown
from interlingua import transcripts
from interlingua.transcripts.prices import Prices
from interlingua.transcripts.sessions import Overviews, here, hits_in, overviews

READING = 3.0
"""Times `orjson.loads` of the lines, or of `msgspec` where orjson is not installed."""
TURNS = 400
LISTING, LISTING_AGAIN, SEARCHING = 10.0, 1.0, 10.0
"""Seconds of this process for a gigabyte."""
SIZE = (100_000_000, 1_000_000_000)
"""Bytes of sessions that are listed and searched, in short and in full."""
PLACES = {
    "claude-code": ".claude/projects/-home-user-bakery/{}.jsonl",
    "codex": ".codex/sessions/2026/03/01/rollout-2026-03-01T12-00-00-{}.jsonl",
}


def rows(quick: bool) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        for name in AGENTS:
            yield _reading_row(name, Path(folder), 5 if quick else 11)
        yield from _many_rows(Path(folder) / "home", SIZE[0] if quick else SIZE[1])


def _reading_row(name: str, folder: Path, rounds: int) -> Row:
    path = folder / f"{name}{transcripts.format_of(name).suffix}"
    path.write_bytes(b"".join(AGENTS[name](TURNS, 0)))
    load = _loads()

    def floor() -> None:
        with path.open("rb") as file:
            for value in file if path.suffix == ".jsonl" else [file.read()]:
                load(value)

    timing = compare(lambda: transcripts.read(path, name), floor, rounds)
    size = f"{path.stat().st_size / 1e6:.1f} MB in {shown(timing.floor)}"
    return Row(f"read a session of {name}", size, timing.ratio, READING)


def _loads() -> Callable[[bytes], object]:
    try:
        import orjson
    except ImportError:
        import msgspec

        return msgspec.json.decode
    return orjson.loads


def _many_rows(home: Path, size: int) -> Iterator[Row]:
    """Files of the two most common agents; of several with the same content, all are looked at."""
    count = _fill(home, size)
    what, more = f"{size / 1e9:g} GB in {count} files", 1e9 / size
    known = Overviews(Prices(), home / "cache")
    for label, target in (
        ("list, for the first time", LISTING),
        ("list, with what was kept", LISTING_AGAIN),
    ):
        begun = time.process_time()
        found = [reported for _, reported in overviews(here(home), known.of)]
        assert len(found) == count
        seconds = (time.process_time() - begun) * more
        yield Row(f"{label}, for 1 GB", what, seconds, target, "s")
    begun = time.process_time()
    hits = sum(1 for each in here(home) for _ in hits_in(each, f"turn {TURNS - 1}."))
    assert hits == count
    yield Row("search 1 GB", what, (time.process_time() - begun) * more, SEARCHING, "s")


def _fill(home: Path, size: int) -> int:
    data = {name: b"".join(AGENTS[name](TURNS, 0)) for name in PLACES}
    written = count = 0
    while written < size:
        for name, place in PLACES.items():
            path = home / place.format(UUID(int=count + 1))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data[name])
            os.utime(path, (1772366400 + count, 1772366400 + count))
            written += len(data[name])
            count += 1
    return count
