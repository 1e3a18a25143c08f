"""Exchanges, for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from interlingua.model.blocks import TextBlock, ToolUseBlock
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    MessageMetadata,
    RoutingMode,
    RoutingRecord,
    StopReason,
    Usage,
)

SONNET = "anthropic:claude-sonnet-4-6"


class Scribe:
    """Writes a session down: ids that rise, a second between messages."""

    def __init__(self) -> None:
        self.ulids = Ulids(clock=lambda: 1_778_241_600_000)
        self.session_id = self.ulids.new()
        self.messages: list[Message] = []
        self.routing = RoutingRecord(RoutingMode.DEFAULT, SONNET, "workspace default")

    def put(self, message: Message) -> Message:
        if message.role is Role.ASSISTANT:
            stop = StopReason.TOOL_USE if message.tool_calls else StopReason.END_TURN
            message = message.replace(metadata=self.metadata(stop))
        held = message.replace(
            id=self.ulids.new(),
            session_id=self.session_id,
            created_at=datetime(2026, 5, 8, 12, tzinfo=UTC) + timedelta(seconds=len(self.messages)),
        )
        self.messages.append(held)
        return held

    def metadata(self, stop: StopReason) -> MessageMetadata:
        model = self.routing.chosen_model
        return MessageMetadata(
            model=model,
            provider=model.split(":")[0],
            routing=self.routing,
            usage=Usage(8, 42, 0, 0, cost_usd=Decimal("0.000654"), pricing_version="2026-05-08"),
            stop_reason=stop,
        )

    def call(self, words: str, path: str) -> ToolUseBlock:
        call = ToolUseBlock(new_tool_id(self.ulids), "read_file", {"path": path})
        self.put(Message.assistant([TextBlock(words), call]))
        return call
