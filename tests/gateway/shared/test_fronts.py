"""How errors look to clients of each front."""

from __future__ import annotations

import json

import pytest

from interlingua.dialects.front import Front
from interlingua.gateway.relay.outgoing import error_frames
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, RESPONSES, error_body
from interlingua.model.exchange import ErrorKind, ProviderError

SIGNS = {"anthropic": "prompt is too long", "openai-chat": "context_length_exceeded"}


@pytest.mark.parametrize("front", [ANTHROPIC, CHAT, RESPONSES])
def test_agents_know_that_a_conversation_is_too_long(front: Front) -> None:
    message = "The input token count exceeds the maximum number of tokens allowed."
    error = ProviderError(ErrorKind.CONTEXT_OVERFLOW, message, "INVALID_ARGUMENT", 400)
    sign = SIGNS.get(front.dialect, "context_length_exceeded")
    body = json.loads(error_body(front, error))["error"]
    assert sign in (body["message"] if front is ANTHROPIC else body["code"])
    assert message in body["message"]
    assert sign.encode() in error_frames(front, error)
    own = ProviderError(ErrorKind.CONTEXT_OVERFLOW, "Prompt is too long: 9 > 8", None, 400)
    assert json.loads(error_body(front, own))["error"]["message"] == own.message
