"""Session logic without I/O, so that it is written once for threads and for event loops.

It is a generator that yields what it wants from the store (an effect) and is sent the result. `run`
drives it with a `Store`, `run_async` with an `AsyncStore`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

from interlingua.store.base import AsyncStore, Store

T = TypeVar("T")

Question = Callable[[Store], Any]
Effects = Generator[Question, Any, T]


def ask(question: Callable[[Store], T]) -> Effects[T]:
    """One question to the store, and its answer."""
    return cast(T, (yield question))


def run(store: Store, effects: Effects[T]) -> T:
    """Perform every effect and return what the generator returns."""
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
    """The same with an `AsyncStore`. A caller that is cancelled hears of it only after the last
    effect: stopping half way would leave the session and its stored state different. The store's
    own timeouts bound that wait."""
    task = asyncio.ensure_future(_run_async(store, effects))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # seen; being cancelled is what the caller hears of
        raise


async def _run_async(store: AsyncStore, effects: Effects[T]) -> T:
    try:
        question = next(effects)
        while True:
            asked = cast(Callable[[AsyncStore], Awaitable[Any]], question)
            try:
                answer = await asked(store)
            except Exception as problem:
                question = effects.throw(problem)
            else:
                question = effects.send(answer)
    except StopIteration as done:
        return cast(T, done.value)
