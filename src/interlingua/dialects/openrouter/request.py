"""Requests of OpenRouter: those of Chat Completions, with tables of its own."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat import request as chat
from interlingua.dialects.openrouter.tables import ROUTED
from interlingua.model.exchange import Request


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return chat.read_request(wire, t=ROUTED)


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    return chat.write_body(request, ROUTED, recorder)
