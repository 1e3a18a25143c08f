"""What is in an input: one conversation, one a line, or a stream; and in which format it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import click

from interlingua.adapt.stream_convert import detect_stream
from interlingua.cli import formats
from interlingua.cli.files import BLANK, Input, Shape
from interlingua.dialects.framing import decoder
from interlingua.dialects.registry import dialect, dialects, traits_of
from interlingua.errors import DetectError, ReadError

if TYPE_CHECKING:
    from interlingua.model.events import Event
    from interlingua.streams.frames import Frame


class Body(NamedTuple):
    """The JSON of one conversation, and its line where there are several."""

    data: bytes
    line: int | None = None


def shape_of(input: Input, lines: bool = False) -> Shape:
    """The shape of an input; `lines`: the user says that each line is a value."""
    shape = input.shape()
    if shape == "empty":
        raise DetectError(f"{input.name} is empty")
    if lines and shape != "stream":
        return "lines"
    if shape == "text":
        beginning = input.first_line()[:40].decode(errors="replace")
        raise DetectError(
            f"{input.name} is neither JSON nor a stream: it begins with {beginning.strip()!r}"
        )
    return shape


def bodies(input: Input, lines: bool) -> Iterator[Body]:
    """The JSON of each conversation."""
    if not lines:
        yield Body(input.read())
        return
    for number, line in enumerate(input.file(), 1):
        if not line.isspace():
            yield Body(line, number)


def known(input: Input, body: Body, source: str, kind: str | None) -> tuple[str, str]:
    """The format and kind of a body, detected unless they are named."""
    if source != formats.AUTO:
        return source, kind or formats.kind_of(body.data, source)
    try:
        return formats.guessed(body.data, kind)
    except DetectError as error:
        place = input.name if body.line is None else f"{input.name}, line {body.line}"
        raise DetectError(f"{place}: {error}") from None


@contextmanager
def named(input: Input, body: Body) -> Iterator[None]:
    """Reports malformed JSON with its place in the file."""
    try:
        yield
    except DetectError as unknown:
        if (format := _transcript_in(input)) is None:
            raise
        problem = f"{input.name} is a transcript of {format}"
        raise DetectError(f"{problem}: interlingua transcripts show {input.name}") from unknown
    except ReadError:
        error = formats.malformed(input.name, body.data, body.line or 1)
        if error is not None:
            raise error from None
        raise


def _transcript_in(input: Input) -> str | None:
    from interlingua.cli.convert_many import format_in

    return format_in(input)


class Recording(NamedTuple):
    """A stream: the dialect it is in, and its bytes in pieces."""

    source: str
    chunks: Iterator[bytes]


def recording(input: Input, source: str) -> Recording:
    """A stream of a dialect that is named or, with `auto`, detected by its first frames."""
    if source not in dialects() and source != "auto":
        raise click.BadParameter(f"{source} has no streams", param_hint="--from")
    if not input.head(1):
        raise DetectError(f"{input.name} is empty")
    chunks = input.chunks()
    if source == "auto":
        source, chunks = _recognized(input.name, chunks)
    as_lines = input.head(1).lstrip(BLANK)[:1] == b"{" and traits_of(source).framing != "ndjson"
    return Recording(source, _as_events(chunks) if as_lines else chunks)


def _recognized(name: str, chunks: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """The dialect of the first frame, and all chunks again."""
    seen = b""
    for chunk in chunks:
        seen += chunk
        found = detect_stream(seen)
        if found is not None:
            return found, chain((seen,), chunks)
    problem = "it ended before its format could be detected"
    raise DetectError(f"{name} is not a known stream: {problem}; name the format with --from")


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
    """The answer of the frames; a stream that was cut ends with an error."""
    reader = dialect(source).stream_reader()
    for frame in frames:
        yield from reader.feed(frame)
    yield from reader.close()
