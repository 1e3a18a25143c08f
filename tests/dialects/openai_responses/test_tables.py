"""OpenAI Responses as data: endings and errors."""

from __future__ import annotations

import pytest

from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason
from tests.dialects.openai_responses.wires import answer, read_whole, said, whole, write_whole


@pytest.mark.parametrize("stop_reason", StopReason)
def test_every_ending_is_said_or_reported(stop_reason: StopReason) -> None:
    metadata = MessageMetadata(stop_reason=stop_reason, response_id="r")
    wire, losses = write_whole(Message.assistant("Hi", metadata))
    again = DIALECT.read_response(wire).message.metadata.stop_reason
    assert (again is stop_reason) is (losses == [] or again is stop_reason)
    assert losses == [] or "stop_reason" in losses[0][1] or "status" in losses[0][1]


def test_an_edited_ending_wins_over_the_word() -> None:
    response = read_whole(whole(answer(said("Hi"))))
    metadata = response.message.metadata.replace(stop_reason=StopReason.MAX_TOKENS)
    written = DIALECT.write_response(
        response.replace(message=response.message.replace(metadata=metadata))
    )
    assert written.wire["status"] == "incomplete"
    assert written.wire["incomplete_details"] == {"reason": "max_output_tokens"}
    assert not written.report.entries


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_of_error_has_a_word(kind: ErrorKind) -> None:
    from openai.types.shared import ErrorObject

    metadata = MessageMetadata(
        status=MessageStatus.ERROR, stop_reason=StopReason.ERROR, error_message="m"
    )
    error = ProviderError(kind, "m", "odd", 418)
    wire, losses = write_whole(Message(Role.ASSISTANT, metadata=metadata), error=error)
    ErrorObject.model_validate(wire["error"])
    again = DIALECT.read_response(wire).error
    assert again is not None
    assert (again.kind, again.message, again.code) == (kind, "m", "odd")
    assert losses == [("dropped", "$.error.status")]
