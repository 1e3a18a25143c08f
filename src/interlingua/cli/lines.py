"""The lines of a file that places in its JSON are on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import msgspec
from msgspec.structs import replace

from interlingua.adapt.places import Source, steps
from interlingua.cli.documents import Body
from interlingua.model.losses import Loss, Report
from interlingua.model.rules import Violation

MOST_BYTES = 8 * 1024 * 1024
"""Larger bodies are not searched for lines."""
MOST_VIOLATIONS = 100
"""Of one conversation that are searched for; more have their canonical places."""
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
        """Of the next item of a list."""


def lines_of(data: bytes, places: Sequence[Place]) -> list[int | None]:
    """The line of each place, counted from one; of a place that is missing, the line of what
    should hold it. None where the JSON is too large."""
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
    """Places as `request.json:4 $.seed`; a record of many has the line that it is on."""
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
        out.append(f"{where}: odd: {each.rule}: {each.problem}" if at else f"odd: {each}")
    return out


def _upwards(path: str) -> list[str]:
    """A path, its block and its message: what a message cannot be without has no own place."""
    found = _BLOCK.match(path)
    return [path] if found is None else [path, found[0], found[1]]


def changed_line(what: str, difference: str, name: str, body: Body, is_alone: bool) -> str:
    """A difference, which begins with a JSON pointer, with its line in the source. `is_alone`: the
    source is the list that the first step of the pointer leads to."""
    pointer = difference.partition(": ")[0].split("/")[2 if is_alone else 1 :]
    place = [each.replace("~1", "/").replace("~0", "~") for each in pointer]
    line = body.line or lines_of(body.data, [place])[0]
    return f"{name}:{line}: {what}: {difference}" if line else f"{what}: {difference}"
