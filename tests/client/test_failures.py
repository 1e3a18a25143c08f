"""From what a provider said to the error that callers get."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.client import (
    AuthError,
    CallError,
    ContextOverflowError,
    InvalidRequestError,
    RateLimitError,
    ServerError,
)
from interlingua.client.errors import CLASSES
from interlingua.client.failures import kind_of, of_reply, redact, request_id
from interlingua.dialects.kernel.wire import encode

KINDS = il.ErrorKind


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (401, None, KINDS.AUTH),
        (403, KINDS.OTHER, KINDS.AUTH),
        (408, None, KINDS.NETWORK),
        (413, KINDS.INVALID_REQUEST, KINDS.CONTEXT_OVERFLOW),
        (429, None, KINDS.RATE_LIMIT),
        (500, None, KINDS.SERVER_ERROR),
        (529, None, KINDS.SERVER_ERROR),
        (529, KINDS.RATE_LIMIT, KINDS.RATE_LIMIT),
        (400, KINDS.CONTEXT_OVERFLOW, KINDS.CONTEXT_OVERFLOW),
        (400, None, KINDS.INVALID_REQUEST),
        (418, KINDS.OTHER, KINDS.INVALID_REQUEST),
        (200, KINDS.OTHER, KINDS.OTHER),
    ],
)
def test_the_bodys_word_counts_unless_it_is_vague(
    status: int, said: il.ErrorKind | None, kind: il.ErrorKind
) -> None:
    assert kind_of(status, said) is kind


@pytest.mark.parametrize(
    ("dialect", "status", "body", "kind"),
    [
        (
            "anthropic",
            400,
            {
                "type": "error",
                "error": {
                    "type": "invalid_request_error",
                    "message": "prompt is too long: 210000 tokens > 200000 maximum",
                },
            },
            ContextOverflowError,
        ),
        (
            "anthropic",
            529,
            {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            RateLimitError,
        ),
        (
            "openai-chat",
            400,
            {
                "error": {
                    "message": "too many tokens",
                    "type": "invalid_request_error",
                    "code": "context_length_exceeded",
                }
            },
            ContextOverflowError,
        ),
        (
            "openai-chat",
            401,
            {
                "error": {
                    "message": "Incorrect API key provided: sk-abcd*****************wxyz.",
                    "type": "invalid_request_error",
                    "code": "invalid_api_key",
                }
            },
            AuthError,
        ),
        ("gemini", 503, [{"error": {"code": 503, "message": "busy"}}], ServerError),
        ("ollama", 404, {"error": "model 'x' not found"}, InvalidRequestError),
        ("bedrock", 429, {"message": "Too many requests"}, RateLimitError),
    ],
)
def test_errors_of_providers_are_read_in_their_own_words(
    dialect: str, status: int, body: object, kind: type[CallError]
) -> None:
    error = of_reply(status, {"request-id": "req_1"}, encode(body), il.dialect(dialect), ())
    assert type(error) is kind
    assert error.status == status
    assert error.request_id == "req_1"
    assert "wxyz" not in str(error)


@given(
    st.integers(400, 599),
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(["error", "message", "type", "code"]), inner)
        ),
        max_leaves=9,
    ).map(encode),
    st.sampled_from(["anthropic", "openai-chat", "openai-responses", "gemini", "ollama"]),
)
def test_any_body_gives_an_error_of_ours(status: int, body: bytes, dialect: str) -> None:
    error = of_reply(status, {}, body, il.dialect(dialect), ())
    assert isinstance(error, CallError)
    assert str(error)
    assert error.status == status


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyzABCDEF0123456789_-", min_size=16, max_size=60))
def test_a_secret_that_is_known_is_never_shown(secret: str) -> None:
    text = f"wrong key {secret}, see https://example.com/?key={secret} or 'Bearer {secret}'"
    assert secret not in redact(text, (secret,))


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
        "sk-proj-abcdefghijklmnopqrst",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "AKIAIOSFODNN7EXAMPLE",
        "gsk_abcdefghijklmnopqrstuvwxyz",
        "xai-abcdefghijklmnopqrstuvwxyz",
        "Bearer abcdefghijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_key_is_blotted_out(key: str) -> None:
    assert redact(f"the key {key} is wrong") == "the key [secret] is wrong"


def test_plain_words_are_left_alone() -> None:
    text = "max_tokens: 8192 > 4096, which is the maximum for claude-sonnet-4-5-20250929"
    assert redact(text) == text


def test_errors_can_be_copied_and_sent_to_another_process() -> None:
    for kind in CLASSES.values():
        error = kind("odd", model="a:b", status=400, request_id="req", retry_after=1.5)
        for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert type(other) is kind
            assert str(other) == str(error)
            assert other.retry_after == 1.5


def test_an_error_says_all_that_is_known() -> None:
    error = RateLimitError(
        "slow down", model="a:b", status=429, code="too_fast", request_id="req", retry_after=2.0
    )
    assert str(error) == "a:b: slow down (status 429; too_fast; request req; retry after 2 s)"


def test_the_id_of_a_request_is_found_under_the_names_that_providers_use() -> None:
    assert request_id({"request-id": "a", "x-request-id": "b"}) == "a"
    assert request_id({"x-amzn-requestid": "c"}) == "c"
    assert request_id({}) is None
