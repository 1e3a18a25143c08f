"""Sessions that are put into a gateway's store, for the page to show."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import interlingua as il
from interlingua.model.blocks import TextBlock
from interlingua.model.ids import Ulids
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.store.rows import EventRow, SessionRow
from tests.gateway.page.conftest import Place

CLAUDE, GPT = "anthropic:claude-sonnet-4-6", "openai:gpt-5"


def answer(text: str, model: str = CLAUDE, *blocks: Any, **usage: Any) -> Message:
    known = {"input_tokens": 10, "output_tokens": 5, "cost_usd": Decimal("0.01"), **usage}
    provider = model.partition(":")[0]
    metadata = MessageMetadata(model=model, provider=provider, usage=Usage(**known))
    return Message.assistant([*blocks, TextBlock(text)], metadata)


def plant(place: Place, messages: list[Message], **about: Any) -> tuple[SessionRow, list[Message]]:
    with il.open_store(str(place.home / "gateway.db")) as store:
        row = store.create_session(about.pop("folder", "somewhere"), **about)
        added: list[Message] = []
        for at in range(0, len(messages), 500):
            added += store.append(row.id, messages[at : at + 500]).messages
        return row, added


def plant_losses(place: Place, row: SessionRow, message: Message, losses: list[Any]) -> None:
    """Say that the call of this message lost something."""
    collected = {"target": "openai-responses", "count": len(losses), "losses": losses}
    event = EventRow(
        Ulids().new(),
        row.id,
        "llm.call_completed",
        row.created_at,
        "agent",
        "pseudonymous",
        {"message_id": message.id, "losses": collected},
    )
    with il.open_store(str(place.home / "gateway.db")) as store:
        store.append_events([event])
