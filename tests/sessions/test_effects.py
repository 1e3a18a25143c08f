"""Methods that are written once serve programs with and without an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any, get_type_hints

import pytest

from interlingua.sessions.effects import Awaited, Blocking, Effects, Method


class _Base:
    def __init__(self, store: Any) -> None:
        self._store = store

    @Method
    def double(self, number: int, *, again: bool = False) -> Effects[int]:
        """Twice the number."""
        try:
            twice: int = yield lambda store: store.double(number)
            if again:
                twice = yield lambda store: store.double(twice)
        except ValueError:
            return -1
        return twice


class _Plain(_Base, Blocking):
    pass


class _Later(_Base, Awaited):
    pass


class _Store:
    def double(self, number: int) -> int:
        if number > 100:
            raise ValueError
        return 2 * number


class _AsyncStore:
    async def double(self, number: int) -> int:
        return _Store().double(number)


async def _each(*numbers: int) -> AsyncIterator[int]:
    later = _Later(_AsyncStore())
    for number in numbers:
        yield await later.double(number, again=True)


def test_a_method_returns_its_result_or_a_coroutine_of_it() -> None:
    plain = _Plain(_Store())

    async def awaited() -> list[int]:
        return [number async for number in _each(3, 60)]

    assert [plain.double(3, again=True), plain.double(60, again=True)] == [12, -1]
    assert asyncio.run(awaited()) == [12, -1], "what the store raises is raised inside"


@pytest.mark.parametrize(("kind", "is_awaited"), [(_Plain, False), (_Later, True)])
def test_a_method_has_the_name_the_words_and_the_parameters_of_its_effects(
    kind: type, is_awaited: bool
) -> None:
    method = kind.__dict__["double"]
    assert inspect.iscoroutinefunction(method) is is_awaited
    assert method.__qualname__ == f"{kind.__name__}.double"
    assert method.__doc__ == "Twice the number."
    assert get_type_hints(method)["return"] is int
    assert list(inspect.signature(method).parameters) == ["self", "number", "again"]
