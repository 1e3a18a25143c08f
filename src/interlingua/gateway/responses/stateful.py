"""Steps before a Responses request takes its usual way: background runs, items of its conversation,
compaction."""

from __future__ import annotations

from typing import Any

from interlingua.gateway.compaction.compactor import MARK, Compactor
from interlingua.gateway.compaction.forms import FORMS
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.memory.responses import keeps
from interlingua.gateway.relay.inbound import Inbound
from interlingua.gateway.responses.background import Background
from interlingua.gateway.responses.conversations import Conversations, may_store
from interlingua.gateway.shared.fronts import RESPONSES
from interlingua.gateway.shared.state import Exchange, Principal

_MEMBERS = frozenset({"background", "compaction", "context_management", "conversation"})
_FALSE = frozenset({b"false", b"null"})


class Preparation:
    def __init__(
        self,
        gateway: Gateway,
        compactor: Compactor,
        conversations: Conversations,
        background: Background,
    ) -> None:
        self._gateway = gateway
        self._compactor = compactor
        self._conversations = conversations
        self._background = background

    def concerns(self, inbound: Inbound) -> bool:
        """Whether there may be something to do."""
        if not _MEMBERS.isdisjoint(inbound.envelope.members):
            return True
        return inbound.front.dialect in FORMS and inbound.body.rfind(MARK) >= 0  # a fast search

    async def with_conversation(self, body: bytes, principal: Principal) -> bytes:
        """The body of a request with the items of its conversation."""
        found = await self._conversations.expanded(body, principal)
        return body if found is None else found.body

    async def shorten(self, exchange: Exchange, inbound: Inbound, client: Any) -> Inbound | None:
        """The request with a compacted conversation; None where that is impossible."""
        return await self._compactor.shorten(exchange, inbound, client)

    def _runs_here(self, exchange: Exchange, inbound: Inbound) -> bool:
        """Whether the gateway runs a response in the background itself: not if it may store nothing
        and the provider does it."""
        at_provider = keeps(inbound.route.targets[0], RESPONSES.dialect)
        return may_store(exchange.arrival.principal) or not at_provider

    async def handle(self, exchange: Exchange, inbound: Inbound, client: Any) -> Inbound | None:
        """The request to send; None if it is already answered by `client.send`."""
        is_response = inbound.front.dialect == RESPONSES.dialect
        if is_response and inbound.match.action == "generate":
            members = inbound.envelope.members
            if bytes(members.get("background", b"null")) not in _FALSE and self._runs_here(
                exchange, inbound
            ):
                await self._background.start(exchange, inbound, client.send)
                return None
            if "conversation" in members:
                inbound = await self._conversations.handle(self._gateway, exchange, inbound, client)
        return await self._compactor.handle(exchange, inbound, client)
