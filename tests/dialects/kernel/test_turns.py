"""Turns of roles and parts, and the messages in them."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.turns import TurnReader, Turns, leading, report_speaker
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

READER = TurnReader("toy")
RESULT = il.ToolResultBlock("call_1", [il.TextBlock("4")])
TEXT = il.TextBlock("Hi")


def recorded() -> tuple[LossRecorder, Report]:
    report = Report("toy")
    return LossRecorder("toy", None, report), report


def test_each_result_is_a_message_and_the_first_has_what_the_turn_says() -> None:
    messages: list[Message] = []
    raw: Any = {"toy": {"x": 1}}
    READER.add(Role.USER, (TEXT, RESULT, TEXT), raw, messages)
    assert [message.role for message in messages] == [Role.USER, Role.TOOL, Role.USER]
    assert [message.metadata.provider_raw for message in messages] == [raw, None, None]
    assert messages[1].metadata.parent_tool_use_id == "call_1"


def test_neighbours_of_one_role_are_joined_unless_they_stood_apart() -> None:
    turns = Turns(recorded()[0], {"text": "."})
    turns.join("user", [{"text": "a"}])
    turns.join("user", [{"text": "b"}])
    turns.join("user", [{"text": "c"}], apart=True)
    turns.close("d")
    turns.join("user", [{"text": "e"}])
    items = [
        turn if turn == "d" else [part["text"] for part in turn["content"]] for turn in turns.turns
    ]
    assert items == [["a", "b"], ["c"], "d", ["e"]]


def test_instructions_that_stood_among_the_turns_do_not_lead() -> None:
    placed = MessageMetadata(provider_raw={"toy": {"$form": {"place": "messages"}}})
    first, second = Message(Role.SYSTEM, (TEXT,)), Message(Role.SYSTEM, (TEXT,), metadata=placed)
    assert leading((first, second, Message(Role.USER, (TEXT,))), "toy") == 1


def test_a_result_of_the_user_and_a_text_of_a_tool_are_reported() -> None:
    recorder, report = recorded()
    report_speaker(Message(Role.USER, (TEXT, RESULT)), recorder)
    report_speaker(Message(Role.TOOL, (RESULT, TEXT)), recorder)
    assert [loss.kind for loss in report.entries] == ["moved", "downgraded"]
