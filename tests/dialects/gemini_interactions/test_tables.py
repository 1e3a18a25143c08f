"""The words of Interactions: statuses and errors."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from interlingua.dialects.gemini_interactions.tables import STATUSES
from tests.dialects.gemini_interactions.wires import answer, output, read_answer, text


@pytest.mark.parametrize("word", [*STATUSES, "daydreaming"])
def test_every_status_goes_home(word: str) -> None:
    reason, status = STATUSES.get(word, (il.StopReason.OTHER, il.MessageStatus.COMPLETE))
    metadata = read_answer(answer(output(text("a")), status=word)).message.metadata
    assert (metadata.stop_reason, metadata.status) == (reason, status)
    assert metadata.raw_stop_reason == word


def test_a_changed_reason_is_another_status() -> None:
    response = read_answer(answer(output(text("a"))))
    metadata = response.message.metadata
    for reason, word in (
        (il.StopReason.TOOL_USE, "requires_action"),
        (il.StopReason.CONTENT_FILTER, "incomplete"),
        (il.StopReason.STOP_SEQUENCE, "completed"),
    ):
        message = response.message.replace(metadata=metadata.replace(stop_reason=reason))
        written = DIALECT.write_response(response.replace(message=message))
        assert written.wire["status"] == word
        near = STATUSES[word][0] is not reason
        assert [loss.path for loss in written.report.entries] == [
            "$.message.metadata.stop_reason"
        ] * near


def test_an_error_of_others_is_written_with_a_code() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down", "rate_limit_error", 429)
    written = DIALECT.write_response(il.Response(il.Message.assistant([]), error=error))
    assert written.wire == {"error": {"code": "resource_exhausted", "message": "slow down"}}
