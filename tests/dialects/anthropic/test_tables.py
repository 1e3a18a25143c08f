"""The words of the Messages API: stop reasons and errors."""

from __future__ import annotations

import pytest

from interlingua.dialects.anthropic import DIALECT
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason
from tests.dialects.anthropic.answers import said, write
from tests.dialects.anthropic.wires import answer, losses, read_answer


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", StopReason.END_TURN),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("tool_use", StopReason.TOOL_USE),
        ("pause_turn", StopReason.PAUSE),
        ("refusal", StopReason.REFUSAL),
        ("compaction", StopReason.PAUSE),
        ("later", StopReason.OTHER),
    ],
)
def test_stop_reasons(word: str, reason: StopReason) -> None:
    assert read_answer(answer(stop_reason=word)).message.metadata.stop_reason is reason


@pytest.mark.parametrize(
    ("reason", "word", "is_lost"),
    [
        (StopReason.MAX_TOKENS, "max_tokens", False),
        (StopReason.CONTENT_FILTER, "refusal", True),
        (StopReason.OTHER, "end_turn", True),
        (None, None, False),
    ],
)
def test_stop_reasons_without_a_word_are_approximated(
    reason: StopReason | None, word: str | None, is_lost: bool
) -> None:
    wire, report = write(said(stop_reason=reason, raw_stop_reason="length"))
    assert wire["stop_reason"] == word
    assert losses(report) == [("approximated", "$.message.metadata.stop_reason")] * is_lost


def test_an_edited_stop_reason_wins_over_the_word() -> None:
    response = read_answer(answer(stop_reason="pause_turn"))
    metadata = response.message.metadata.replace(stop_reason=StopReason.END_TURN)
    edited = response.replace(message=response.message.replace(metadata=metadata))
    assert DIALECT.write_response(edited).wire["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        (ErrorKind.AUTH, 401, "authentication_error"),
        (ErrorKind.AUTH, 403, "permission_error"),
        (ErrorKind.INVALID_REQUEST, 404, "not_found_error"),
        (ErrorKind.INVALID_REQUEST, 501, "invalid_request_error"),
        (ErrorKind.RATE_LIMIT, 429, "rate_limit_error"),
        (ErrorKind.RATE_LIMIT, 529, "overloaded_error"),
        (ErrorKind.SERVER_ERROR, 500, "api_error"),
    ],
)
def test_an_error_from_elsewhere_gets_the_word_of_its_status(
    kind: ErrorKind, status: int, word: str
) -> None:
    failed = MessageMetadata(stop_reason=StopReason.ERROR, status=MessageStatus.ERROR)
    wire, _ = write(Message.assistant((), failed), error=ProviderError(kind, "No.", "own", status))
    assert wire["error"] == {"type": word, "message": "No."}
    again = DIALECT.read_response(wire).error
    assert again is not None
    assert again.kind is kind


@pytest.mark.parametrize("kind", list(ErrorKind))
def test_every_kind_of_error_can_be_said(kind: ErrorKind) -> None:
    metadata = MessageMetadata(stop_reason=StopReason.ERROR, status=MessageStatus.ERROR)
    error = ProviderError(kind, "The context is full.", code="length", status=400)
    wire, report = write(Message.assistant((), metadata), error=error)
    assert wire["error"]["message"] == "The context is full."
    again = DIALECT.read_response(wire).error
    assert again is not None
    assert (again.kind is kind) is ("$.error.kind" not in [loss.path for loss in report.entries])
