"""Recognises inputs: one conversation, one a line, or a stream; their format, and the lines of the
file that JSON paths are on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec
from msgspec.structs import replace

from interlingua.adapt.places import Source, steps
from interlingua.adapt.stream_convert import detect_stream
from interlingua.cli import formats
from interlingua.cli.files import BLANK, Input, Shape
from interlingua.dialects.framing import decoder
from interlingua.dialects.registry import dialect, dialects, traits_of
from interlingua.errors import DetectError, ReadError
from interlingua.model.losses import Loss, Report
from interlingua.model.rules import Violation

if TYPE_CHECKING:
    from interlingua.model.events import Event
    from interlingua.streams.frames import Frame


class Body(NamedTuple):
    """The JSON of one conversation, and its line where there are several."""

    data: bytes
    line: int | None = None


def shape_of(input: Input, lines: bool = False) -> Shape:
    """The shape of an input; with `lines`, each line is a value."""
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


MOST_BYTES = 8 * 1024 * 1024
"""Larger bodies are not searched for lines."""
MOST_VIOLATIONS = 100
"""The most violations of one conversation that are located in the file; others have canonical
paths."""
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:\n]|[^\s{}\[\],:"]++', re.DOTALL)
_BLOCK = re.compile(r"(\$(?:\.\w+)?(?:\[\d+\])?)\.content\[\d+\]")

Place = Sequence[str | int]


class _Branch:
    """A place that is searched for, or one on the way to it."""

    def __init__(self) -> None:
        self.line: int | None = None
        self.below: dict[str, _Branch] = {}


class _Open:
    """An object or a list whose end has not come yet."""

    def __init__(self, branch: _Branch | None, is_list: bool) -> None:
        self.branch = branch
        self.number = 0 if is_list else None
        """The number of the next item of a list."""


def lines_of(data: bytes, places: Sequence[Place]) -> list[int | None]:
    """The line of each place, counted from one; for a missing place, the line of its parent. None
    if the JSON is too large."""
    if len(data) > MOST_BYTES:
        return [None] * len(places)
    root = _Branch()
    ends = []
    for place in places:
        ends.append([branch := root])
        for each in place:
            branch = branch.below.setdefault(str(each), _Branch())
            ends[-1].append(branch)
    _find(data, root)
    return [next((each.line for each in reversed(way) if each.line), None) for way in ends]


def _find(data: bytes, root: _Branch) -> None:
    """Notes the lines of the branches, in one pass over the tokens."""
    line, is_start = 1, True  # of a key or an item
    inside = [_Open(None, False)]
    here: _Branch | None = root
    root.line = 1
    for match in _TOKEN.finditer(data):
        token = match[0]
        if token == b"\n":
            line += 1
            continue
        around = inside[-1]
        if token in b"}]":
            if len(inside) > 1:
                inside.pop()
            is_start = False
            continue
        if token == b",":
            is_start = True
            if around.number is not None:
                around.number += 1
            continue
        if is_start and around.branch is not None:
            here = around.branch.below.get(_step(token, around.number))
            if here is not None:
                here.line = line
        elif is_start and len(inside) > 1:
            here = None
        is_start = token in b"{["
        if is_start:
            inside.append(_Open(here, token == b"["))


def _step(token: bytes, number: int | None) -> str:
    if number is not None:
        return str(number)
    try:
        return msgspec.json.decode(token, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def with_lines(places: Sequence[str], name: str, body: Body) -> tuple[str, ...]:
    """Places as `request.json:4 $.seed`; for JSON Lines, with the line of the record."""
    found: Sequence[int | None] = [body.line] * len(places)
    if body.line is None:
        found = lines_of(body.data, [steps(place) for place in places])
    pairs = zip(places, found, strict=True)
    return tuple([f"{name}:{line} {at}" if line else f"{name} {at}" for at, line in pairs])


def report_with_lines(report: Report, name: str, body: Body) -> Report:
    """A report for people: its places have the file and the line."""
    entries = report.located()
    places = iter(with_lines([at for entry in entries for at in entry.at], name, body))
    named = [replace(entry, at=tuple(islice(places, len(entry.at)))) for entry in entries]
    return Report(report.target, named)


def odd_lines(violations: Sequence[Violation], name: str, body: Body, source: Source) -> list[str]:
    """Broken rules for people, with their places in the source first."""
    around = [_upwards(each.path) for each in violations[:MOST_VIOLATIONS]]
    places = iter(source.places([Loss("dropped", path, "") for all in around for path in all]))
    out = []
    for number, each in enumerate(violations):
        candidates = list(islice(places, len(around[number]) if number < len(around) else 0))
        at = next(filter(None, candidates), ())
        where = ", ".join(with_lines(at, name, body))
        out.append(f"{where}: {each.problem} (rule {each.rule})" if at else str(each))
    return out


def _upwards(path: str) -> list[str]:
    """A path, its block and its message: a missing field has no place of its own."""
    found = _BLOCK.match(path)
    return [path] if found is None else [path, found[0], found[1]]


def changed_line(what: str, difference: str, name: str, body: Body, is_alone: bool) -> str:
    """A difference, which begins with a JSON pointer, with its line in the source. `is_alone`: the
    source is the list that the first step of the pointer leads to."""
    pointer = difference.partition(": ")[0].split("/")[2 if is_alone else 1 :]
    place = [each.replace("~1", "/").replace("~0", "~") for each in pointer]
    line = body.line or lines_of(body.data, [place])[0]
    return f"{name}:{line}: {what}: {difference}" if line else f"{what}: {difference}"
