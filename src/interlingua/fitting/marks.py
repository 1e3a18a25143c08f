"""Cache marks: where they are taken, and as many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from interlingua.fitting.fitter import Fitter
from interlingua.model.message import Message, Role

_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})


class _Mark(NamedTuple):
    """One mark: what carries it, and in which part of the prompt."""

    value: Any
    place: str


def fit_marks(fitter: Fitter) -> None:
    most, places = fitter.profile.limits.cache_marks, fitter.profile.cache.places
    if most is None and places is None:
        return
    marks = list(_marks(fitter))
    automatic = fitter.now("cache") is not None
    if not marks and not automatic:
        return
    gone: dict[int, str] = {}
    if places is not None and most != 0:
        gone = {id(each.value): "cache.places" for each in marks if each.place not in places}
    left = [each for each in marks if id(each.value) not in gone]
    if most is not None:
        if automatic and most == 0:
            fitter.drop("cache", "limits.cache_marks", "takes no cache marks", "info")
        kept = _chosen(left, most - automatic)
        gone |= {id(each.value): "limits.cache_marks" for each in left if each not in kept}
    if gone:
        _take_off(fitter, gone)


def _chosen(marks: list[_Mark], most: int) -> list[_Mark]:
    """The first, behind which as a rule everything stays the same, and the last ones."""
    if len(marks) <= most:
        return marks
    return [marks[0], *marks[len(marks) - most + 1 :]] if most > 0 else []


def _marks(fitter: Fitter) -> Iterator[_Mark]:
    """All of them, in the order in which a prompt is read."""
    for tool in fitter.tools:
        if tool.cache is not None:
            yield _Mark(tool, "tools")
    for leading in (True, False):
        for message in fitter.messages:
            if (message.role in _INSTRUCTS) is leading:
                place = "system" if leading else "messages"
                for block in message.content:
                    if block.cache is not None:
                        yield _Mark(block, place)
                    for part in getattr(block, "content", None) or ():
                        if getattr(part, "cache", None) is not None:
                            yield _Mark(part, place)


def _take_off(fitter: Fitter, gone: dict[int, str]) -> None:
    fitter.tools = tuple([_bare(fitter, tool, gone) for tool in fitter.tools])
    fitter.messages = tuple([_message(fitter, message, gone) for message in fitter.messages])


def _message(fitter: Fitter, message: Message, gone: dict[int, str]) -> Message:
    content = [_bare(fitter, block, gone) for block in message.content]
    if all(new is old for new, old in zip(content, message.content, strict=True)):
        return message
    return fitter.stands_for(message.replace(content=tuple(content)), message)  # type: ignore[no-any-return]  # a message


def _bare(fitter: Fitter, value: Any, gone: dict[int, str]) -> Any:
    """A block or tool without its mark, and without those of its parts."""
    new = value
    inner = getattr(value, "content", None)
    if inner and any(id(part) in gone for part in inner):
        new = value.replace(content=tuple([_bare(fitter, part, gone) for part in inner]))
    field = gone.get(id(value))
    if field is not None:
        reason = (
            "takes no cache mark here" if field == "cache.places" else "takes fewer cache marks"
        )
        fitter.lost_at(value, "cache", field, reason, "dropped", "info")
        new = new.replace(cache=None)
    return new if new is value else fitter.stands_for(new, value)
