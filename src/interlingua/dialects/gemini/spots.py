"""Where in an answer a citation points: the wire counts bytes, blocks count code points.

A place is counted over all visible text of the candidate, or in one part if the part is named."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects.gemini.tables import SIGNATURE


class Spot(NamedTuple):
    """A visible text: the index of its part, and where it begins in all text, in bytes."""

    part: int
    begin: int
    text: str


class Place(NamedTuple):
    """A stretch of one text, in code points."""

    spot: Spot
    start: int | None
    end: int | None


def spots_of(parts: list[Any]) -> list[Spot]:
    spots: list[Spot] = []
    begin = 0
    for index, part in enumerate(parts):
        text = part.get("text", "" if part.keys() <= SIGNATURE else None)
        if type(text) is str and part.get("thought") is not True:
            spots.append(Spot(index, begin, text))
            begin += len(text) if text.isascii() else len(text.encode())
    return spots


def locate(spots: list[Spot], start: int | None, end: int | None, part: int | None) -> Place | None:
    """Where bytes `start` to `end` are; None where no single text has them."""
    if part is not None:
        spot = next((spot for spot in spots if spot.part == part), None)
        return None if spot is None else _within(spot, start, end, 0)
    if start is None and end is None:
        return Place(spots[0], None, None)
    for spot in spots:
        if (place := _within(spot, start, end, spot.begin)) is not None:
            return place
    return None


def _within(spot: Spot, start: int | None, end: int | None, begin: int) -> Place | None:
    if start is None and end is None:
        return Place(spot, None, None)
    first = _points(spot.text, (start or 0) - begin)
    last = None if end is None else _points(spot.text, end - begin)
    if first is None or (end is not None and (last is None or last < first)):
        return None
    return Place(spot, first, last)


def _points(text: str, at: int) -> int | None:
    """A place in bytes as one in code points; None where it is no place between two of them."""
    if text.isascii():
        return at if 0 <= at <= len(text) else None
    data = text.encode()
    try:
        return len(data[:at].decode()) if 0 <= at <= len(data) else None
    except UnicodeDecodeError:
        return None


def in_bytes(spot: Spot, at: int | None) -> int | None:
    """A place in code points as one in bytes; None where the text has no such place."""
    if at is None or not 0 <= at <= len(spot.text):
        return None
    return at if spot.text.isascii() else len(spot.text[:at].encode())
