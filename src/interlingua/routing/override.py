"""`@model` at the start of a message: which model the writer wants for this one turn.

`@sonnet explain this` asks for the model called `sonnet` and says `explain this`. `\\@sonnet is a
word` is plain text, without the backslash. An `@` anywhere else is plain text.
"""

from __future__ import annotations

from typing import NamedTuple

from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message
from interlingua.routing.errors import OverrideError
from interlingua.routing.registry import Registry

_HINT = "; a message that is to begin with an at sign begins with \\@"


class AddressedText(NamedTuple):
    """What is left to say, and to whom: `name` as it was written, `model` the id behind it."""

    message: Message
    name: str | None = None
    model: str | None = None


def split_override(text: str) -> tuple[str | None, str]:
    """The name after a leading `@`, if there is one, and the text without it (or without the
    backslash that escapes it). An `@` with nothing behind it is plain text."""
    if text.startswith("\\@"):
        return None, text[1:]
    if not text.startswith("@") or len(text) == 1 or text[1].isspace():
        return None, text
    parts = text[1:].split(maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def address(message: Message, registry: Registry) -> AddressedText:
    """Read the order at the start of a user message. A name that nobody has, or one with nothing
    after it, is an error: the writer expects another model to see the message, or more text.

    The first text block counts, whatever media stands before it. Media is a body too.
    """
    at = next((i for i, block in enumerate(message.content) if type(block) is TextBlock), None)
    if at is None:
        return AddressedText(message)
    block = message.content[at]
    assert isinstance(block, TextBlock)
    name, body = split_override(block.text)
    if name is None and body == block.text:
        return AddressedText(message)
    rest = (block.replace(text=body),) if body else ()
    said = message.replace(content=(*message.content[:at], *rest, *message.content[at + 1 :]))
    if name is None:
        return AddressedText(said)
    model = registry.require(name, _HINT)
    if not said.content:
        raise OverrideError(f"@{name} has no text after it{_HINT}")
    return AddressedText(said, name, model)
