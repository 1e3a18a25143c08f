"""Error bodies, in every shape that hosts answer with."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT
from interlingua.dialects.openai_chat.tables import ERRORS
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.metadata import MessageStatus, StopReason
from tests.dialects.openai_chat.wires import answer, losses, made, read_answer


def error(**keys: Any) -> dict[str, Any]:
    usual = {"message": "No.", "type": "invalid_request_error", "param": None, "code": None}
    return {"error": {**usual, **keys}}


def failure(wire: dict[str, Any]) -> ProviderError:
    found = read_answer(wire).error
    assert found is not None
    return found


def test_an_error_is_an_empty_message_that_failed() -> None:
    response = read_answer(error(code="unsupported_parameter", param="stop"))
    metadata = response.message.metadata
    assert response.message.content == ()
    assert (metadata.status, metadata.stop_reason) == (MessageStatus.ERROR, StopReason.ERROR)
    assert metadata.error_message == "No."
    assert response.error == ProviderError(
        ErrorKind.INVALID_REQUEST, "No.", "unsupported_parameter"
    )


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        (error(type="rate_limit_error"), ErrorKind.RATE_LIMIT),
        (error(code="rate_limit_exceeded"), ErrorKind.RATE_LIMIT),
        (error(code="invalid_api_key"), ErrorKind.AUTH),
        (error(code="context_length_exceeded"), ErrorKind.CONTEXT_OVERFLOW),
        (error(message="the maximum context length is 8"), ErrorKind.CONTEXT_OVERFLOW),
        (error(type="server_error"), ErrorKind.SERVER_ERROR),
        (error(type="authentication_error", code="invalid_request_error"), ErrorKind.AUTH),
        (error(type="mystery"), ErrorKind.OTHER),
        ({"error": {"code": "404", "message": "No."}}, ErrorKind.INVALID_REQUEST),
        ({"error": {"code": "401", "message": "No."}}, ErrorKind.AUTH),
        ({"error": {"code": 429, "message": "No.", "type": "mystery"}}, ErrorKind.RATE_LIMIT),
        ({"error": {"code": 500, "message": "No."}, "user_id": "u"}, ErrorKind.SERVER_ERROR),
        ({"error": {"code": 408, "message": "No."}}, ErrorKind.NETWORK),
        ({"error": {"code": 413, "message": "No."}}, ErrorKind.CONTEXT_OVERFLOW),
        ({"error": "No."}, ErrorKind.OTHER),
        ({"error": "Invalid API key"}, ErrorKind.AUTH),
        ({"detail": "Invalid API Key"}, ErrorKind.AUTH),
        ({"detail": [{"loc": ["body"], "msg": "missing", "type": "x"}]}, ErrorKind.OTHER),
        ({"detail": {"message": "gone"}}, ErrorKind.OTHER),
        ({"code": 400, "message": "No.", "type": "Bad Request"}, ErrorKind.INVALID_REQUEST),
        (
            {
                "object": "error",
                "message": "No.",
                "type": "invalid_model",
                "param": None,
                "code": "1500",
                "raw_status_code": 400,
            },
            ErrorKind.INVALID_REQUEST,
        ),
        ({"message": "No."}, ErrorKind.OTHER),
        ({"error": {"message": None}}, ErrorKind.OTHER),
        ({"error": {"failed_generation": "x"}}, ErrorKind.OTHER),
    ],
)
def test_every_shape_of_error_goes_home_and_has_a_kind(wire: Any, kind: ErrorKind) -> None:
    assert failure(wire).kind is kind


def test_a_number_for_a_code_is_the_status() -> None:
    assert failure({"error": {"code": 401, "message": "No."}}).status == 401
    assert failure({"message": "No.", "raw_status_code": 400, "object": "error"}).status == 400


def test_problems_of_a_validation_are_the_message() -> None:
    detail = [{"msg": "missing"}, {"msg": "too long"}, {"odd": 1}]
    assert failure({"detail": detail}).message == "missing; too long"


def test_an_error_beside_choices_is_an_error() -> None:
    response = read_answer(answer(error={"message": "No.", "code": 502}))
    assert response.error is not None
    assert response.error.kind is ErrorKind.SERVER_ERROR


def test_every_kind_is_written_with_a_word_that_means_it() -> None:
    for kind in ErrorKind:
        response = Response(made(), error=ProviderError(kind, "No."))
        written = DIALECT.write_response(response)
        assert written.wire == error(type=ERRORS.write(kind))
        assert not written.report.entries
        again = DIALECT.read_response(written.wire).error
        assert again == response.error
    assert set(ERRORS.words.values()) == set(ErrorKind)


def test_an_edited_kind_wins_over_the_word_that_was_read() -> None:
    response = read_answer(error(type="rate_limit_error"))
    assert response.error is not None
    changed = response.replace(error=response.error.replace(kind=ErrorKind.AUTH))
    assert DIALECT.write_response(changed).wire["error"]["type"] == "authentication_error"


def test_an_edited_message_is_written_in_every_shape() -> None:
    for wire in (
        error(),
        {"error": "No."},
        {"detail": "No."},
        {"detail": [{"msg": "No."}]},
        {"message": "No."},
    ):
        response = read_answer(wire)
        assert response.error is not None
        changed = response.replace(error=response.error.replace(message="Never."))
        assert "Never." in str(DIALECT.write_response(changed).wire)


def test_what_an_error_body_cannot_say_is_reported() -> None:
    found = ProviderError(ErrorKind.AUTH, "No.", status=401)
    written = DIALECT.write_response(Response(made("partly", response_id="r1"), error=found))
    assert losses(written.report) == [
        ("dropped", "$.message.content[0]"),
        ("dropped", "$.message.metadata.response_id"),
        ("dropped", "$.error.status"),
    ]
