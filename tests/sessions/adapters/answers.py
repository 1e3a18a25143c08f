"""Answers of providers, for tests."""

from __future__ import annotations

import re
from typing import Any

import interlingua as il
from interlingua.model.events import Event, ToolUseStart
from interlingua.sessions.adapters import Adapter, RequestContext
from tests.sessions.wires import MODELS, SPOKEN, answer, image

DIALECTS = sorted(MODELS)

OURS = re.compile("tu_[0-9A-HJKMNP-TV-Z]{26}")

RECORD = il.RoutingRecord(
    il.RoutingMode.DEFAULT, "anthropic:claude-sonnet-4-6", "workspace default"
)

CONTEXT = RequestContext(routing=RECORD, latency_ms=820, input_tokens=12)


def adapter(dialect: str, **more: Any) -> Adapter:
    model = MODELS[dialect]
    return Adapter(model, SPOKEN.get(model), **more)


def results(message: il.Message) -> list[il.Message]:
    return [il.Message.tool_result(c.id, "done") for c in message.tool_calls if is_ours(c)]


def is_ours(call: il.ToolUseBlock) -> bool:
    return call.executor == "client"


def history(dialect: str, spoken: Adapter) -> list[il.Message]:
    """A question with a picture, an answer with two calls, and their results."""
    asked = il.Message.user([il.TextBlock("What is this?"), image()])
    called = spoken.from_wire_response(answer(dialect, 1, calls=True), CONTEXT)
    return [il.Message.system("Be brief."), asked, called, *results(called)]


def calls_of(events: list[Event]) -> list[str]:
    return [event.id for event in events if isinstance(event, ToolUseStart)]
