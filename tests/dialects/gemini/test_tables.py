"""Gemini's words: traits and stop reasons."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.gemini import DIALECT
from interlingua.dialects.gemini.tables import TRAITS
from interlingua.model.metadata import StopReason
from tests.dialects.gemini.answers import ended, written
from tests.dialects.gemini.wires import answer, read_answer, text


def test_the_traits_are_those_of_the_wire() -> None:
    assert TRAITS.family == "google"
    assert TRAITS.call_signature is not None
    assert TRAITS.call_signature("gemini-2.5-pro") is None
    assert TRAITS.call_signature("gemini-3-pro-preview") == TRAITS.call_signature(None) is not None


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("STOP", StopReason.END_TURN),
        (1, StopReason.END_TURN),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("SAFETY", StopReason.CONTENT_FILTER),
        ("RECITATION", StopReason.CONTENT_FILTER),
        ("IMAGE_SAFETY", StopReason.CONTENT_FILTER),
        ("CONTINUATION", StopReason.PAUSE),
        ("MALFORMED_FUNCTION_CALL", StopReason.OTHER),
        ("OTHER", StopReason.ERROR),
        ("SOMETHING_NEW", StopReason.OTHER),
    ],
)
def test_the_wires_word_is_a_stop_reason_and_kept(word: Any, reason: StopReason) -> None:
    metadata = read_answer(answer(text("Hi"), finishReason=word)).message.metadata
    assert (metadata.stop_reason, metadata.raw_stop_reason) == (reason, word)


@pytest.mark.parametrize("stop", list(StopReason))
def test_every_stop_reason_is_said_or_reported(stop: StopReason) -> None:
    wire, lost = written(ended(stop))
    back = DIALECT.read_response(wire).message.metadata.stop_reason
    assert (back is stop) is (lost == [])
    assert lost in ([], [("approximated", "$.message.metadata.stop_reason")])


def test_an_edited_stop_reason_wins_over_the_word() -> None:
    response = read_answer(answer(text("Hi")))
    metadata = response.message.metadata.replace(stop_reason=StopReason.MAX_TOKENS)
    wire, lost = written(response.message.replace(metadata=metadata))
    assert (wire["candidates"][0]["finishReason"], lost) == ("MAX_TOKENS", [])
