"""Small wires of OpenRouter's chat; their shapes are those of Chat Completions."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.openrouter import DIALECT
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from tests.laws import laws

FORMAT = "anthropic-claude-v1"
TEXT = {"type": "reasoning.text", "text": "Hm.", "signature": "EqQB", "format": FORMAT, "index": 0}


def read(wire: dict[str, Any]) -> Request:
    """The request, once it is known that it goes home unchanged, also by way of storage."""
    assert laws.home(DIALECT, "request", wire) == []
    assert laws.pure(DIALECT, "request", wire) == []
    return DIALECT.read_request(wire)


def read_answer(wire: dict[str, Any]) -> Response:
    """The same for a response."""
    assert laws.home(DIALECT, "response", wire) == []
    assert laws.pure(DIALECT, "response", wire) == []
    return DIALECT.read_response(wire)


def write(*messages: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    """What is written for messages that were not read here, and what was lost."""
    written = DIALECT.write_request(Request(messages, "openai/gpt-5", **more))
    return written.wire, written.report


def write_answer(message: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    written = DIALECT.write_response(Response(message, **more))
    return written.wire, written.report
