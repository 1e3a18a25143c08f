"""The words of Cohere's chat: errors."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.dialects.cohere import DIALECT


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        ("too many tokens: size limit", None, il.ErrorKind.CONTEXT_OVERFLOW),
        ("of some size", "TOO_MANY_TOKENS", il.ErrorKind.CONTEXT_OVERFLOW),
        ("Incorrect API key provided", None, il.ErrorKind.AUTH),
        ("You are limited to 20 calls per minute", None, il.ErrorKind.RATE_LIMIT),
        ("model 'x' not found", None, il.ErrorKind.INVALID_REQUEST),
        ("internal server error", None, il.ErrorKind.SERVER_ERROR),
        ("hm", None, il.ErrorKind.OTHER),
    ],
)
def test_an_error_is_told_by_its_words(text: str, code: str | None, kind: il.ErrorKind) -> None:
    wire = {"id": "e", "message": text} | ({} if code is None else {"error_type": code})
    error = DIALECT.read_response(wire).error
    assert error is not None
    assert (error.kind, error.code) == (kind, code)
