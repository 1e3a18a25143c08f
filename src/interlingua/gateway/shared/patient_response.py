"""A streamed answer of our own paths, to a client that may take its time, but not for ever."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

logger = logging.getLogger(__name__)


class PatientResponse(StreamingResponse):
    """Ends when the client has taken nothing for `stalled` seconds; the connection is closed."""

    def __init__(self, content: AsyncIterator[bytes], stalled: float, **more: Any) -> None:
        super().__init__(content, **more)
        self._stalled = stalled

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stuck = False

        async def timed(message: Message) -> None:
            nonlocal stuck
            try:
                async with asyncio.timeout(self._stalled):
                    await send(message)
            except TimeoutError:
                stuck = True
                raise

        try:
            await super().__call__(scope, receive, timed)
        except BaseException:
            if not stuck:
                raise
            logger.info("client_stalled", extra={"path": scope["path"]})
