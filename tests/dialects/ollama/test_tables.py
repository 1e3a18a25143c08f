"""The words of Ollama's chat: reasons and errors."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.blocks import ToolUseBlock
from interlingua.model.exchange import ErrorKind
from interlingua.model.metadata import MessageStatus, StopReason
from tests.dialects.ollama.answers import made, written
from tests.dialects.ollama.wires import read_answer

USE = ToolUseBlock("call_1", "get_weather", {"city": "Oslo"})


@pytest.mark.parametrize(
    ("content", "reason", "word", "lost"),
    [
        ([USE], StopReason.TOOL_USE, "stop", 0),
        ([USE], StopReason.END_TURN, "stop", 1),
        ("Hello", StopReason.STOP_SEQUENCE, "stop", 1),
        ("Hello", StopReason.PAUSE, "length", 1),
        ("Hello", StopReason.MAX_TOKENS, "length", 0),
    ],
)
def test_a_reason_without_a_word_is_the_nearest(
    content: Any, reason: StopReason, word: str, lost: int
) -> None:
    wire, found = written(made(content, stop_reason=reason, raw_stop_reason="end_turn"))
    assert wire["done_reason"] == word
    assert found == [("approximated", "$.message.metadata.stop_reason")] * lost


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ({"error": "model 'x' not found"}, ErrorKind.INVALID_REQUEST),
        ({"error": "unauthorized", "signin_url": "https://a.b"}, ErrorKind.AUTH),
        ({"error": "you have reached your usage limit"}, ErrorKind.RATE_LIMIT),
        ({"error": "the prompt exceeds the context length"}, ErrorKind.CONTEXT_OVERFLOW),
        ({"error": "no", "status": 503}, ErrorKind.SERVER_ERROR),
        ({"error": "no"}, ErrorKind.OTHER),
        ({"error": {"message": "no", "type": "api_error"}}, ErrorKind.OTHER),
    ],
)
def test_an_error_is_judged_by_its_words(wire: dict[str, Any], kind: ErrorKind) -> None:
    response = read_answer(wire)
    assert response.error is not None
    assert response.error.kind is kind
    assert response.message.metadata.status is MessageStatus.ERROR
    assert response.message.content == ()
