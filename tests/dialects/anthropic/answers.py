"""Answers of the Messages API, for tests."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic import DIALECT
from interlingua.model.exchange import Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from tests.laws import acceptable


def write(message: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    written = DIALECT.write_response(Response(message, **more))
    assert acceptable.problems("anthropic", "response", written.wire) == []
    return written.wire, written.report


def said(**metadata: Any) -> Message:
    return Message.assistant("Hi", MessageMetadata(**metadata))
