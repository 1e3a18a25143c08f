"""The formats of the commands, and their bytes."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import click

from interlingua.adapt.formats import CANONICAL, VIEW_NAMES, detect, names, read, write
from interlingua.adapt.presets import PRESETS
from interlingua.cli.main import for_commands, unknown
from interlingua.dialects.kernel.wire import encode
from interlingua.errors import DetectError, InterlinguaError, ReadError

__all__ = ["CANONICAL", "VIEW_NAMES", "guessed", "names", "read", "to_bytes", "write"]

AUTO = "auto"


def required(name: str, option: str) -> None:
    """A known format; wrong usage is reported with the list of all."""
    known = names()
    if name in known or (name, option) == (AUTO, "--from"):
        return
    if option == "--from":
        from interlingua.transcripts import formats as transcript_formats

        known += transcript_formats()
    else:
        known += PRESETS
    if name not in known:
        problem = _as_model(name) if option == "--to" else None
        raise click.BadParameter(problem or unknown("format", name, known), param_hint=option)


def _as_model(name: str) -> str | None:
    """The options to use for a model that was given as a format; None if there is no such model."""
    from interlingua.profiles.resolving import resolve
    from interlingua.providers.profiles import lookup_here

    try:
        dialect = lookup_here().dialect(resolve(name))
    except InterlinguaError:
        return None
    return f"{name!r} is a model: use --to {dialect} -m {name}"


def guessed(data: bytes, kind: str | None) -> tuple[str, str]:
    """The format and kind of some JSON; an error lists what it may be."""
    try:
        found = detect(data, kind)  # type: ignore[arg-type]  # one of the two words, by the option
    except DetectError as error:
        raise DetectError(with_option(str(error))) from None
    return found.dialect, found.kind


def with_option(problem: str) -> str:
    """A problem with the format, with the option that names it."""
    if "pass source=" in problem:
        return for_commands(problem)
    return f"{problem}; name the format with --from"


def kind_of(data: bytes, source: str) -> str:
    """Whether some JSON of a known format is a request or a response."""
    from interlingua.adapt.formats import kind_in

    try:
        return kind_in(data, source)
    except ReadError:
        return "request"  # its reader raises with the reason


class Flaw(NamedTuple):
    """An error in text that is not JSON, with its place as editors count."""

    line: int
    column: int
    problem: str


def flaw_in(data: bytes) -> Flaw | None:
    """The first syntax error of a text; None if it is valid JSON."""
    import msgspec

    from interlingua.cli.files import BOM

    data = data.removeprefix(BOM).rstrip()
    try:
        msgspec.json.decode(data)
    except RecursionError:
        return None  # its reader raises with the reason
    except UnicodeDecodeError:
        at = len(data.decode(errors="replace").partition("\ufffd")[0].encode())
        return Flaw(*_place(data, at), f"invalid UTF-8: byte {data[at]:#x}")
    except msgspec.DecodeError as error:
        message = str(error).removeprefix("JSON is malformed: ")
        byte = re.search(r" \(byte (\d+)\)$", message)
        if byte is None:
            return Flaw(*_place(data, len(data)), "invalid JSON: it ends too early")
        return Flaw(*_place(data, int(byte[1])), f"invalid JSON: {message[: byte.start()]}")
    return None


def malformed(name: str, data: bytes, line: int = 1) -> ReadError | None:
    """The same as an error, by the file's name; `line` is where the text begins in it."""
    flaw = flaw_in(data)
    if flaw is None:
        return None
    place = f"line {flaw.line + line - 1}, column {flaw.column}"
    return ReadError(name, place, problem=flaw.problem)


def _place(data: bytes, at: int) -> tuple[int, int]:
    before = data[:at]
    column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
    return before.count(b"\n") + 1, column


def to_bytes(wire: Any, pretty: bool) -> bytes:
    data = encode(wire)
    if not pretty:
        return data
    import msgspec

    return msgspec.json.format(data, indent=2)
