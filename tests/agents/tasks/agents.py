"""Agents and their models, for tests."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.agents.tasks import AsyncAgent
from tests.agents.tasks.talk import MODEL


async def opened(address: str, cwd: str = "/w", **more: Any) -> AsyncAgent:
    store = await il.open_async_store(address)
    return await AsyncAgent.create(store, cwd, model=MODEL, **more)
