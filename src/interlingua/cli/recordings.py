"""Recorded streams: whose they are, their bytes as that dialect frames them, and the answer that
they tell."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import click

from interlingua.cli.inputs import BLANK, Input
from interlingua.dialects.registry import dialect, dialects, traits_of
from interlingua.errors import DetectError
from interlingua.streams.detect import detect_stream
from interlingua.streams.framing import decoder

if TYPE_CHECKING:
    from interlingua.model.events import Event
    from interlingua.streams.frames import Frame


class Recording(NamedTuple):
    """A stream: the dialect it is in, and its bytes in pieces."""

    source: str
    chunks: Iterator[bytes]


def recording(given: Input, source: str) -> Recording:
    """A stream of a dialect that is named or, with `auto`, told by its first frames."""
    if source not in dialects() and source != "auto":
        raise click.BadParameter(f"{source} has no streams", param_hint="--from")
    if not given.head(1):
        raise DetectError(f"{given.name} is empty")
    chunks = given.chunks()
    if source == "auto":
        source, chunks = _recognized(given.name, chunks)
    as_lines = given.head(1).lstrip(BLANK)[:1] == b"{" and traits_of(source).framing != "ndjson"
    return Recording(source, _as_events(chunks) if as_lines else chunks)


def _recognized(name: str, chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The dialect that the first frame tells, and all chunks again."""
    seen = b""
    for chunk in chunks:
        seen += chunk
        found = detect_stream(seen)
        if found is not None:
            return found, chain((seen,), chunks)
    problem = "it ended before its dialect could be told"
    raise DetectError(f"{name} is no stream that we know: {problem}; say which with --from")


def _as_events(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines that are events, as server-sent events."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not line.isspace():
                yield b"data: " + line + b"\n\n"
    if rest.strip():
        yield b"data: " + rest + b"\n\n"


def frames_of(recorded: Recording) -> Iterator[Frame]:
    opened = decoder(recorded.source)
    for chunk in recorded.chunks:
        yield from opened.feed(chunk)
    yield from opened.close()


def events_of(source: str, frames: Iterator[Frame]) -> Iterator[Event]:
    """What the frames tell; a stream that was cut ends with an error."""
    reader = dialect(source).stream_reader()
    for frame in frames:
        yield from reader.feed(frame)
    yield from reader.close()
