"""Whether the gateway lives, whether it may be sent requests, and its numbers. Nothing here asks a
model."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from interlingua.gateway.gateway import Gateway
from interlingua.store.base import AsyncStore

BELIEVED = 1.0
"""Seconds for which what was found of the store holds; probes may come often."""
PATIENCE = 2.0
PROBE = "ready"
"""Who writes to see whether it can be done: no capped key is served where nothing can be."""


class Health:
    """Looks at the store when it is asked, at most once a second."""

    def __init__(self, gateway: Gateway, store: AsyncStore | None) -> None:
        self._gateway = gateway
        self._store = store
        self._found: tuple[float, bool] = (0.0, True)
        self._looking: asyncio.Task[bool] | None = None

    async def ready(self) -> tuple[bool, dict[str, Any]]:
        """Whether requests may be sent, and why not."""
        if self._gateway.draining:
            return False, {"status": "draining"}
        if not await self._store_answers():
            return False, {"status": "unready", "store": "unreachable"}
        return True, {"status": "ready"}

    async def _store_answers(self) -> bool:
        until, good = self._found
        if self._store is None or time.monotonic() < until:
            return good
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> bool:
        assert self._store is not None
        try:
            await asyncio.wait_for(self._store.keys(limit=1), PATIENCE)
            await asyncio.wait_for(self._store.touch(PROBE), PATIENCE)
            good = True
        except Exception:  # whatever is wrong with it, it does not answer, or takes nothing
            good = False
        self._found = (time.monotonic() + BELIEVED, good)
        return good
