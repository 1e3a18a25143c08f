"""Summaries that took the place of history, as messages."""

from __future__ import annotations

from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message, Role

_NAME = "compaction"


def summary_message(text: str, role: Role = Role.SYSTEM) -> Message:
    return Message(role, (TextBlock(text),), _NAME)


def is_summary(message: Message) -> bool:
    return message.name == _NAME


def summary_text(message: Message) -> str:
    return message.text
