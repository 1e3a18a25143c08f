"""A client's WebSocket, as uvicorn has it over `websockets`, with what it lacks: limits for clients
that take nothing, and an end that lets a response under way finish.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from interlingua.gateway.server.client_connection import StallLimit
from interlingua.gateway.shared.fronts import DRAIN


class WebSocketConnection(StallLimit, WebSocketsSansIOProtocol):
    """The application closes the socket once it is told to, after the response under way."""

    def handle_connect(self, event: Any) -> None:
        self.drain = asyncio.Event()
        super().handle_connect(event)

    async def run_asgi(self) -> None:
        scope: Any = self.scope
        scope[DRAIN] = self.drain
        await super().run_asgi()

    def shutdown(self) -> None:
        if self.handshake_complete and not self.close_sent:
            self.drain.set()
        else:
            super().shutdown()

    def cut(self, last_words: str) -> None:
        """Ends the socket at once, with a last message to the client."""
        if self.close_sent or self.transport.is_closing() or not self.handshake_complete:
            return
        self.conn.send_text(last_words.encode())
        super().shutdown()
