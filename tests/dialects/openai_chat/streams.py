"""Streams of Chat Completions, for tests."""

from __future__ import annotations

from tests.dialects.openai_chat.streaming import talk, words

HELLO = talk(*words("Hel", "lo"))

OSLO = '{"city":"Oslo"}'

CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": OSLO},
}
