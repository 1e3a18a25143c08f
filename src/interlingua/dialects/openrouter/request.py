"""Requests of OpenRouter: those of Chat Completions, with tables of its own."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.request import read_body, write_body
from interlingua.dialects.openrouter.tables import ROUTED
from interlingua.model.exchange import Request


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return read_body(wire, ROUTED)


def write_request(request: Request, scribe: Scribe) -> Wire:
    return write_body(request, ROUTED, scribe)
