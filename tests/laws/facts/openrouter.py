"""OpenRouter's wire as facts: Chat Completions, with the additions that are read there too."""

from __future__ import annotations

from typing import Any

from tests.laws.facts import openai_chat
from tests.laws.facts.openai_chat import response, stream
from tests.laws.facts.shape import Facts

__all__ = ["request", "response", "stream"]


def request(wire: Any) -> Facts:
    facts = openai_chat.request(wire)
    facts.lasts = "5m"
    return facts
