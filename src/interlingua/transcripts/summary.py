"""Summaries that took the place of history, as messages."""

from __future__ import annotations

from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message, Role

_NAME = "compaction"


def summary_message(text: str) -> Message:
    return Message(Role.SYSTEM, (TextBlock(text),), _NAME)


def is_summary(message: Message) -> bool:
    return message.name == _NAME and message.role is Role.SYSTEM


def summary_text(message: Message) -> str:
    return message.text
