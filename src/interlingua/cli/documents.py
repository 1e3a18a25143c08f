"""What is in an input: one conversation, one a line, or a stream; and in which format it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from interlingua.cli import formats
from interlingua.cli.inputs import Input, Shape
from interlingua.errors import DetectError, ReadError


class Body(NamedTuple):
    """The JSON of one conversation, and its line where there are several."""

    data: bytes
    line: int | None = None


def shape_of(given: Input, lines: bool = False) -> Shape:
    """The shape of an input that may be read; `lines` is what somebody says about it."""
    shape = given.shape()
    if shape == "empty":
        raise DetectError(f"{given.name} is empty")
    if lines and shape != "stream":
        return "lines"
    if shape == "text":
        beginning = given.first_line()[:40].decode(errors="replace")
        raise DetectError(
            f"{given.name} is no JSON and no stream: it begins with {beginning.strip()!r}"
        )
    return shape


def bodies(given: Input, lines: bool) -> Iterator[Body]:
    """The JSON of each conversation."""
    if not lines:
        yield Body(given.read())
        return
    for number, line in enumerate(given.file(), 1):
        if not line.isspace():
            yield Body(line, number)


def known(given: Input, body: Body, source: str, kind: str | None) -> tuple[str, str]:
    """The format and kind of a body, as far as nobody said them."""
    if source != formats.AUTO:
        return source, kind or formats.kind_of(body.data, source)
    try:
        return formats.guessed(body.data, kind)
    except DetectError as error:
        raise DetectError(f"{_place(given, body)}: {error}") from None


@contextmanager
def named(given: Input, body: Body) -> Iterator[None]:
    """What is no JSON is told by its place in the file."""
    try:
        yield
    except DetectError as unknown:
        if (format := _transcript_in(given)) is None:
            raise
        problem = f"{given.name} is a transcript of {format}"
        raise DetectError(f"{problem}: interlingua transcripts show {given.name}") from unknown
    except ReadError:
        error = formats.malformed(given.name, body.data, body.line or 1)
        if error is not None:
            raise error from None
        raise


def _transcript_in(given: Input) -> str | None:
    from interlingua.cli.convert_transcripts import format_in

    return format_in(given)


def _place(given: Input, body: Body) -> str:
    return given.name if body.line is None else f"{given.name}, line {body.line}"
