"""Error bodies that Chat Completions and the Responses API read and write alike."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.exchange import ErrorKind, ProviderError, Response

CHAT, RESPONSES = "openai-chat", "openai-responses"
BODIES: list[dict[str, Any]] = [
    {"error": "No.", "code": "rate_limit_exceeded", "status": 429},
    {"error": {"message": "No.", "type": "x"}, "status": 429},
    {"error": {"message": {"message": "No."}, "type": None}},
    {"detail": "No.", "message": "Really."},
    {"message": "No.", "statusCode": 429, "request_id": "r"},
]
OLD: list[tuple[str, dict[str, Any], ProviderError]] = [
    (
        CHAT,
        {"error": "No."},
        ProviderError(ErrorKind.OTHER, "No.", raw={CHAT: {"$form": {"shape": "string"}}}),
    ),
    (
        CHAT,
        {"detail": [{"msg": "No."}]},
        ProviderError(
            ErrorKind.OTHER,
            "No.",
            raw={CHAT: {"detail": [{"msg": "No."}], "$form": {"shape": "detail"}}},
        ),
    ),
    (
        CHAT,
        {"message": "No.", "code": "x"},
        ProviderError(
            *(ErrorKind.OTHER, "No.", "x"),
            raw={CHAT: {"$form": {"shape": "top", "absent": ["param", "type"]}}},
        ),
    ),
    (
        RESPONSES,
        {"error": "No.", "code": "x", "statusCode": 429, "type": "y", "at": None},
        ProviderError(
            *(ErrorKind.RATE_LIMIT, "No.", "x", 429),
            raw={
                RESPONSES: {
                    "type": "y",
                    "$form": {"flat": "error", "status": "statusCode", "spelled": {"at": None}},
                }
            },
        ),
    ),
]


@pytest.mark.parametrize("name", [CHAT, RESPONSES, "openrouter"])
@pytest.mark.parametrize("wire", BODIES)
def test_a_body_of_any_shape_goes_home_and_says_what_it_can(
    name: str, wire: dict[str, Any]
) -> None:
    dialect = il.dialect(name)
    response = dialect.read_response(wire)
    assert response.error is not None
    assert response.error.message == "No."
    assert (response.error.kind is ErrorKind.RATE_LIMIT) == ("429" in str(wire))
    assert dialect.write_response(response).wire == wire
    changed = response.replace(error=response.error.replace(message="Yes."))
    assert "Yes." in str(dialect.write_response(changed).wire)


@pytest.mark.parametrize(("name", "wire", "error"), OLD)
def test_an_error_that_an_earlier_version_stored_goes_home(
    name: str, wire: dict[str, Any], error: ProviderError
) -> None:
    dialect = il.dialect(name)
    message = dialect.read_response(wire).message
    assert dialect.write_response(Response(message, error=error)).wire == wire
    assert dialect.read_response(wire).error == error


def test_a_text_that_is_an_object_is_content() -> None:
    wire = {"error": {"message": {"odd": 1}, "type": "x", "code": None, "param": None}}
    converted = il.convert(wire, source=RESPONSES, target="anthropic", kind="response")
    assert f"$.error.raw.{RESPONSES}.message" in [loss.path for loss in converted.report.entries]
