"""Chat Completions as data: reasons for the end."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT
from interlingua.model.metadata import StopReason
from tests.dialects.openai_chat.wires import (
    CALL,
    answer,
    assistant,
    losses,
    made,
    read_answer,
    write_answer,
)

END = StopReason.END_TURN


@pytest.mark.requirement("P32")
@pytest.mark.parametrize(
    ("word", "more", "reason"),
    [
        ("stop", {}, END),
        ("eos", {}, END),
        ("length", {}, StopReason.MAX_TOKENS),
        ("model_length", {}, StopReason.MAX_TOKENS),
        ("tool_calls", {"tool_calls": [CALL]}, StopReason.TOOL_USE),
        ("stop", {"tool_calls": [CALL]}, StopReason.TOOL_USE),
        ("length", {"tool_calls": [CALL]}, StopReason.MAX_TOKENS),
        ("content_filter", {"tool_calls": [CALL]}, StopReason.CONTENT_FILTER),
        ("function_call", {}, StopReason.TOOL_USE),
        ("stop", {"refusal": "No."}, StopReason.REFUSAL),
        ("error", {}, StopReason.ERROR),
        ("", {}, StopReason.OTHER),
        ("mystery", {}, StopReason.OTHER),
        (3, {}, StopReason.OTHER),
        (None, {}, None),
    ],
)
def test_every_finish_reason(word: Any, more: dict[str, Any], reason: StopReason | None) -> None:
    metadata = read_answer(answer(assistant(**more), word)).message.metadata
    assert (metadata.stop_reason, metadata.raw_stop_reason) == (reason, word)


@pytest.mark.parametrize(
    ("reason", "word", "exact"),
    [
        (END, "stop", True),
        (StopReason.MAX_TOKENS, "length", True),
        (StopReason.CONTENT_FILTER, "content_filter", True),
        (StopReason.STOP_SEQUENCE, "stop", False),
        (StopReason.PAUSE, "length", False),
        (StopReason.REFUSAL, "content_filter", False),
        (StopReason.OTHER, "stop", False),
        (None, "stop", False),
    ],
)
def test_reasons_are_written_as_the_nearest_word(
    reason: StopReason | None, word: str, exact: bool
) -> None:
    wire, report = write_answer(made("a", stop_reason=reason, raw_stop_reason="their_word"))
    assert wire["choices"][0]["finish_reason"] == word
    assert losses(report) == ([] if exact else [("approximated", "$.message.metadata.stop_reason")])


def test_an_edited_reason_wins_over_the_word_that_was_read() -> None:
    response = read_answer(answer(finish_reason="model_length"))
    metadata = response.message.metadata.replace(stop_reason=StopReason.CONTENT_FILTER)
    changed = response.replace(message=response.message.replace(metadata=metadata))
    assert DIALECT.write_response(changed).wire["choices"][0]["finish_reason"] == "content_filter"


@pytest.mark.parametrize("reason", [StopReason.END_TURN, StopReason.MAX_TOKENS])
def test_a_reason_that_is_given_to_an_answer_without_one_is_written(reason: StopReason) -> None:
    read = DIALECT.read_response(answer(finish_reason=None))
    message = read.message.replace(metadata=read.message.metadata.replace(stop_reason=reason))
    written = DIALECT.write_response(read.replace(message=message))
    assert DIALECT.read_response(written.wire).message.metadata.stop_reason is reason
    assert not written.report.entries
