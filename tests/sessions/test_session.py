"""Sessions with and without an event loop."""

from __future__ import annotations

import asyncio
import inspect
from typing import get_type_hints

import pytest

import interlingua as il
from interlingua.sessions import AsyncCall, AsyncSession, AsyncTurn, Call, Session, Turn, TurnError
from interlingua.store.open import open_async_store, open_store
from tests.sessions.talk import new_session, take_turn
from tests.sessions.wires import TOOLS, answer


@pytest.mark.parametrize(
    ("plain", "awaited"), [(Session, AsyncSession), (Turn, AsyncTurn), (Call, AsyncCall)]
)
def test_both_kinds_have_the_same_methods(plain: type, awaited: type) -> None:
    def methods(cls: type) -> dict[str, list[str]]:
        return {
            name: [
                str(each).replace("Async", "")
                for each in inspect.signature(call).parameters.values()
            ]
            for name, call in inspect.getmembers(cls, callable)
            if not name.startswith("_")
        }

    assert methods(plain) == methods(awaited)
    assert len(methods(plain)) >= 4
    for name in methods(plain):
        one, two = getattr(plain, name), getattr(awaited, name)
        if name != "stream" and "Base" not in one.__qualname__:
            assert inspect.iscoroutinefunction(two), name
            assert not inspect.iscoroutinefunction(one), name
        assert (one.__doc__ is None) is (two.__doc__ is None)
    properties = {n for n, v in inspect.getmembers(plain) if isinstance(v, property)}
    assert properties == {n for n, v in inspect.getmembers(awaited) if isinstance(v, property)}


def test_what_one_kind_wrote_the_other_goes_on_with(address: str) -> None:
    with open_store(address) as store:
        session = new_session(store)
        take_turn(session, "One", 1, calls=True)

    async def go_on() -> list[il.Message]:
        async with await open_async_store(address) as store:
            again = await AsyncSession.open(store, session.id, tools=TOOLS)
            turn = await again.begin("Two")
            await (await turn.call()).complete(answer("anthropic", 2))
            with pytest.raises(TurnError):
                await turn.call()
            await again.compose({"base": "Be brief."})
            await again.append(il.Message.user("Three"))
            turn = await again.resume()
            await turn.cancel()
            return await again.messages()

    messages = asyncio.run(go_on())
    assert [m.role.value for m in messages][5:] == ["user", "assistant", "system", "user"]
    assert get_type_hints(Session.messages)["return"] == list[il.Message]
