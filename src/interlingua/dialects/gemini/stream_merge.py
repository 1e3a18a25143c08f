"""What frames say of a candidate beside its content, put together as a whole response has it."""

from __future__ import annotations

from collections.abc import Callable

from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.spelling import SNAKE


def merge(known: Wire, told: Wire, apart: frozenset[str]) -> None:
    """Later values stand, but a null does not undo what was said before."""
    for key, value in told.items():
        if key in apart:
            continue
        if key in _JOINS and type(value) is dict:
            before = known.get(key)
            known[key] = _JOINS[key](before if type(before) is dict else {}, value)
        elif value is not None or key not in known:
            known[key] = value


def _fill(before: Wire, told: Wire) -> Wire:
    """Empty values say nothing: a search announces itself by an empty object in every frame."""
    return {**before, **{key: item for key, item in told.items() if item or key not in before}}


def _lengthen(before: Wire, told: Wire) -> Wire:
    """Lists go on, unless they are told again from their start. The lists of `before` are ours."""
    joined = {**before, **told}
    for key, item in told.items():
        known = before.get(key)
        if type(item) is not list:
            continue
        if type(known) is list and item[: len(known)] != known:
            known.extend(item)
            joined[key] = known
        else:
            joined[key] = item.copy()
    return joined


_JOINS: dict[str, Callable[[Wire, Wire], Wire]] = {
    key: join
    for name, join in (
        ("groundingMetadata", _fill),
        ("urlContextMetadata", _fill),
        ("citationMetadata", _lengthen),
        ("logprobsResult", _lengthen),
    )
    for key in (name, SNAKE[name])
}
