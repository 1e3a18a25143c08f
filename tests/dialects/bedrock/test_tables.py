"""The words of Converse: roles and stop reasons."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.bedrock.tables import ROLES, STOP_REASONS
from interlingua.model.blocks import TextBlock, ToolResultBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from tests.dialects.bedrock.answers import made, written
from tests.dialects.bedrock.wires import answer, read_answer, write


@pytest.mark.parametrize("role", list(Role))
def test_the_table_of_roles_is_what_is_written(role: Role) -> None:
    block = ToolResultBlock("t", (TextBlock("a"),)) if role is Role.TOOL else TextBlock("a")
    wire, _ = write(Message.user("Hi"), Message.assistant("Hello"), Message(role, (block,)))
    assert wire["messages"][-1]["role"] == ROLES[role]


@pytest.mark.parametrize("word", [*STOP_REASONS.words, "a_word_of_tomorrow"])
def test_every_stop_reason_goes_home(word: str) -> None:
    metadata = read_answer(answer(stopReason=word)).message.metadata
    assert metadata.stop_reason is STOP_REASONS.read(word)
    assert metadata.raw_stop_reason == word


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        (StopReason.REFUSAL, "content_filtered"),
        (StopReason.PAUSE, "max_tokens"),
        (StopReason.OTHER, "end_turn"),
        (None, "end_turn"),
    ],
)
def test_a_reason_without_a_word_is_the_nearest(reason: Any, word: str) -> None:
    wire, lost = written(made(stop_reason=reason, raw_stop_reason="stop"))
    assert wire["stopReason"] == word
    assert lost == [("approximated", "$.message.metadata.stop_reason")]
