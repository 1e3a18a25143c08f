"""System prompts made of parts, each a block of one message, in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping

from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

PARTS = ("base", "memory", "skills", "workspace")
"""The usual parts, in the order in which they are said; others follow in the order given."""
_KEY = "prompt_parts"


def compose(parts: Mapping[str, str | None]) -> Message:
    """The parts that say something, as one SYSTEM message; without any, an empty placeholder."""
    names = [*(name for name in PARTS if name in parts), *(n for n in parts if n not in PARTS)]
    said = [(name, text) for name in names if (text := parts[name])]
    metadata = MessageMetadata(extra={_KEY: [name for name, _ in said]})
    return Message(Role.SYSTEM, tuple([TextBlock(text) for _, text in said]), metadata=metadata)


def parts_of(message: Message) -> dict[str, str]:
    """The parts of a message that `compose` made; its whole text as `base` of any other."""
    texts = [block.text for block in message.content if type(block) is TextBlock]
    names = (message.metadata.extra or {}).get(_KEY)
    if isinstance(names, list) and len(names) == len(texts):
        return dict(zip(names, texts, strict=True))
    return {"base": "\n\n".join(texts)} if texts else {}


def is_composed(message: Message) -> bool:
    return message.role is Role.SYSTEM and _KEY in (message.metadata.extra or {})
