"""Answers of Gemini, for tests."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini import DIALECT
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, StopReason
from tests.dialects.gemini.wires import losses


def written(message: Message, **more: Any) -> tuple[Any, list[tuple[str, str]]]:
    result = DIALECT.write_response(Response(message, **more))
    return result.wire, losses(result.report)


def ended(stop: StopReason, *blocks: Any) -> Message:
    return Message.assistant(blocks or "Hi", MessageMetadata(stop_reason=stop))
