"""What paths ask for, and how errors look to clients of each front."""

from __future__ import annotations

import json

import pytest

from interlingua.dialects.front import Front
from interlingua.gateway.relay.outgoing import error_frames
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, RESPONSES, error_body, match
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


@pytest.mark.parametrize("version", ["/v1", "/v2", "/v1beta", "/v1beta1"])
@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/chat/completions",
        "/v1/responses",
        "/v2/chat",
        "/api/chat",
        "/anthropic/v1/messages",
        "/model/some.model-v1:0/converse",
        "/model/some.model-v1:0/invoke",
        "/v1beta/models/some:generateContent",
        "/v1beta1/projects/p/locations/l/publishers/google/models/some:generateContent",
        "/v1/projects/p/locations/l/publishers/anthropic/models/some:rawPredict",
    ],
)
def test_a_base_url_may_have_a_version_of_its_own(version: str, path: str) -> None:
    assert match(path) is not None
    assert match(version + path) == match(path)


@pytest.mark.parametrize(
    "method", ["generateContent", "streamGenerateContent", "countTokens", "embedContent"]
)
def test_googles_versions_mean_the_same(method: str) -> None:
    beta = match(f"/v1beta/models/some:{method}")
    assert beta is not None
    assert match(f"/v1alpha/models/some:{method}") == beta
    assert match(f"/v1/models/some:{method}") == beta


def test_paths_with_many_versions_or_none_that_is_served_are_not_found() -> None:
    for path in ("/v1/v1/nothing", "/v1" * 3 + "/messages", "/v1" * 10_000 + "/messages"):
        assert match(path) is None
