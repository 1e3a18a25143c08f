"""The whole response that the last frame of a stream has, beside what the frames before it told.

What was told stands: clients have acted on it, and some values are made anew for each frame, as
encrypted content is. The last frame fills gaps only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.spelling import says_nothing
from interlingua.dialects.openai_responses.stream_frames import kind_of
from interlingua.dialects.openai_responses.stream_items import Item


class Place(NamedTuple):
    """An item of the finished output: as it was told, and as the last frame has it."""

    item: Item | None
    given: Any = None
    number: int | None = None
    """Where it stands in the last frame, if it does."""


def places(told: Sequence[Item], given: Sequence[Any]) -> list[Place]:
    """The items that were told, in their order, and then those that only the last frame has."""
    by_id: dict[str, int] = {}
    for number, wire in enumerate(given):
        if type(wire) is dict and type(wire.get("id")) is str:
            by_id.setdefault(wire["id"], number)
    found: dict[int, int] = {}
    left = set(range(len(given)))
    for place, item in enumerate(told):
        number = by_id.get(_id_of(item), -1)
        if number in left:
            found[place] = number
            left.remove(number)
    for place, item in enumerate(told):
        for number in (item.at, place):
            if place not in found and number in left and _fits(item, given[number]):
                found[place] = number
                left.remove(number)
    return [
        *(
            Place(item, given[found[place]], found[place]) if place in found else Place(item)
            for place, item in enumerate(told)
        ),
        *(Place(None, given[number], number) for number in sorted(left)),
    ]


def _id_of(item: Item) -> Any:
    id = item.id if item.done is None else item.done.get("id")
    return id if type(id) is str else None


def _fits(item: Item, given: Any) -> bool:
    """Whether an item may be the one that has another id in the last frame."""
    told = item.done if item.done is not None else item.wire
    return type(given) is dict and (not told or kind_of(told) == kind_of(given))


def filled(told: Wire, given: Wire) -> Wire:
    """An object as it was told, with what only the other says."""
    wire = dict(told)
    for key, value in given.items():
        if key not in wire or (_is_empty(wire[key]) and not _is_empty(value)):
            wire[key] = value
        else:
            wire[key] = _both(wire[key], value)
    return wire


def _both(told: Any, given: Any) -> Any:
    if type(told) is dict and type(given) is dict:
        return filled(told, given) if told.get("type") == given.get("type") else told
    if type(told) is list and type(given) is list and len(told) == len(given):
        return [_both(*pair) for pair in zip(told, given, strict=True)]
    return told


def _is_empty(value: Any) -> bool:
    return says_nothing(value) or value == ""
