"""Summaries that took the place of history, as messages."""

from __future__ import annotations

from interlingua.model.blocks import CompactionBlock
from interlingua.model.message import Message, Role

_NAME = "compaction"
"""The name of such messages as earlier versions of this package stored them."""


def summary_message(text: str, role: Role = Role.SYSTEM) -> Message:
    return Message(role, (CompactionBlock(text),))


def is_summary(message: Message) -> bool:
    """Whether a message is nothing but a summary of what came before it."""
    if message.name == _NAME:
        return True
    content = message.content
    return len(content) == 1 and type(content[0]) is CompactionBlock and content[0].text is not None


def summary_text(message: Message) -> str:
    return message.text if message.name == _NAME else "".join(_summaries(message))


def _summaries(message: Message) -> list[str]:
    texts = [block.text for block in message.content if type(block) is CompactionBlock]
    return [text for text in texts if text is not None]
