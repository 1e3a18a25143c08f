"""One way of writing for two ways of waiting.

What a session does is written once, as steps: a generator that hands out what is to be asked of the
store and gets the answer back. `run` asks a `Store`, `run_async` awaits an `AsyncStore`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

from interlingua.store.base import AsyncStore, Store

T = TypeVar("T")

Question = Callable[[Store], Any]
Steps = Generator[Question, Any, T]


def ask(question: Callable[[Store], T]) -> Steps[T]:
    """One question to the store, and its answer."""
    return cast(T, (yield question))


def run(store: Store, steps: Steps[T]) -> T:
    """Do all the steps, and give what they come to."""
    try:
        question = next(steps)
        while True:
            try:
                answer = question(store)
            except Exception as problem:
                question = steps.throw(problem)
            else:
                question = steps.send(answer)
    except StopIteration as done:
        return cast(T, done.value)


async def run_async(store: AsyncStore, steps: Steps[T]) -> T:
    """The same with a store whose calls are awaited. Who is cancelled meanwhile is so when the
    steps are done: given up half way, what is stored and what the session knows would differ. The
    store's own limits bound the wait."""
    task = asyncio.ensure_future(_run_async(store, steps))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # seen; being cancelled is what the caller hears of
        raise


async def _run_async(store: AsyncStore, steps: Steps[T]) -> T:
    try:
        question = next(steps)
        while True:
            asked = cast(Callable[[AsyncStore], Awaitable[Any]], question)
            try:
                answer = await asked(store)
            except Exception as problem:
                question = steps.throw(problem)
            else:
                question = steps.send(answer)
    except StopIteration as done:
        return cast(T, done.value)
