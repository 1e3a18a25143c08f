"""Session logic without I/O, so that it is written once for threads and for event loops.

The logic is a generator that yields a call of the store (`row: SessionRow = yield lambda store:
store.session(id)`) and is sent the result. `run` drives it with a `Store`, `run_async` with an
`AsyncStore`. A `Method` is one that both kinds of an object have.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import wraps
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from interlingua.errors import InterlinguaError
from interlingua.store.base import AsyncStore, Store

P = ParamSpec("P")
T = TypeVar("T")

Question = Callable[[Store], Any]
Effects = Generator[Question, Any, T]


def require_store(store: object) -> None:
    """Raise TypeError for a path in place of a store."""
    if isinstance(store, (str, os.PathLike)):
        raise TypeError(
            f"expected a store, as il.open_store(path) returns, found {os.fspath(store)!r}"
        )


def run(store: Store, effects: Effects[T]) -> T:
    """Performs every effect and returns the result of the generator."""
    try:
        question = next(effects)
        while True:
            try:
                answer = question(store)
            except Exception as problem:
                question = effects.throw(problem)
            else:
                question = effects.send(answer)
    except StopIteration as done:
        return cast(T, done.value)


async def run_async(store: AsyncStore, effects: Effects[T]) -> T:
    """The same with an `AsyncStore`. Cancellation takes effect only after the last effect:
    stopping half way would leave the session and its stored state different. The store's own
    timeouts bound that wait."""
    task = asyncio.ensure_future(_run_async(store, effects))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieved; the caller gets the cancellation
        raise


async def _run_async(store: AsyncStore, effects: Effects[T]) -> T:
    try:
        question = next(effects)
        while True:
            awaitable_question = cast(Callable[[AsyncStore], Awaitable[Any]], question)
            try:
                answer = await awaitable_question(store)
            except Exception as problem:
                question = effects.throw(problem)
            else:
                question = effects.send(answer)
    except StopIteration as done:
        return cast(T, done.value)


class Method(Generic[P, T]):
    """A method whose effects are written once, in the common base of both kinds of an object: in a
    `Blocking` class it returns the result, in an `Awaited` one a coroutine."""

    def __init__(self, effects: Callable[Concatenate[Any, P], Effects[T]]) -> None:
        self.effects = effects

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: Blocking, owner: object = None) -> Callable[P, T]: ...
        @overload
        def __get__(
            self, instance: Awaited, owner: object = None
        ) -> Callable[P, Coroutine[Any, Any, T]]: ...
        @overload
        def __get__(self, instance: None, owner: object = None) -> Callable[..., Any]: ...
        def __get__(self, instance: Any, owner: object = None) -> Any: ...


class Blocking:
    """Runs its methods with a `Store`."""

    _store: Store

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)

        def blocking(effects: Callable[..., Effects[Any]]) -> Callable[..., Any]:
            def method(self: Blocking, *args: Any, **kwargs: Any) -> Any:
                return run(self._store, effects(self, *args, **kwargs))

            return method

        _bind(cls, blocking)


class Awaited:
    """Runs its methods with an `AsyncStore`."""

    _store: AsyncStore

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)

        def awaited(effects: Callable[..., Effects[Any]]) -> Callable[..., Any]:
            async def method(self: Awaited, *args: Any, **kwargs: Any) -> Any:
                return await run_async(self._store, effects(self, *args, **kwargs))

            return method

        _bind(cls, awaited)


def _bind(cls: type, make: Callable[[Callable[..., Effects[Any]]], Callable[..., Any]]) -> None:
    """Give a class its own functions in place of the methods of its base."""
    for name in dir(cls):
        found = getattr_static(cls, name)
        if isinstance(found, Method):
            method = wraps(found.effects)(make(found.effects))
            method.__qualname__ = f"{cls.__qualname__}.{name}"
            returned = method.__annotations__["return"].removeprefix("Effects[")[:-1]
            method.__annotations__ = {**method.__annotations__, "return": returned}
            setattr(cls, name, method)


class SessionError(InterlinguaError):
    """Something that this session cannot take; nothing was stored."""


class TurnError(SessionError):
    """A turn or a call was started at the wrong moment."""
