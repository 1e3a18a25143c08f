"""Visit every block of a conversation, or rewrite some of them, keeping the order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import is_

from interlingua.model.blocks import Block
from interlingua.model.message import Message


def walk(messages: Iterable[Message]) -> Iterator[tuple[str, Message, Block]]:
    """Each block with its path in the list and its message; results' own blocks come after them."""
    for number, message in enumerate(messages):
        yield from walk_message(message, f"$[{number}]")


def walk_message(message: Message, path: str = "$") -> Iterator[tuple[str, Message, Block]]:
    for index, block in enumerate(message.content):
        place = f"{path}.content[{index}]"
        yield place, message, block
        for inner_place, inner in _inside(block, place):
            yield inner_place, message, inner


def _inside(block: Block, path: str) -> Iterator[tuple[str, Block]]:
    inner = getattr(block, "content", None)
    source = getattr(block, "source", None)
    if inner is None and source is not None:
        inner, path = source.content, f"{path}.source"
    for index, each in enumerate(inner or ()):
        place = f"{path}.content[{index}]"
        yield place, each
        yield from _inside(each, place)


def rewrite(message: Message, change: Callable[[Block], Iterable[Block]]) -> Message:
    """The message with every block replaced by what `change` gives for it (none drops it)."""
    content = tuple([new for block in message.content for new in change(block)])
    if len(content) == len(message.content) and all(map(is_, content, message.content)):
        return message  # `==` would not do: it does not see `raw`
    return message.replace(content=content)
