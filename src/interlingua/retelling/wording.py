"""What a target refuses for its form alone, made acceptable: texts that say nothing, a model that
speaks before anybody else, text behind the calls, and lines that one service writes to itself.

Which target refuses what is in its dialect's traits; a turn that the target made itself is left as
it made it."""

from __future__ import annotations

from collections.abc import Callable
from operator import not_
from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import EARLIER, PLACEHOLDER
from interlingua.dialects.record import Traits
from interlingua.model.blocks import (
    Block,
    RefusalBlock,
    ResultBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role

_ASSISTANT = Role.ASSISTANT
INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})
_WORDS = frozenset({TextBlock, RefusalBlock})
VISIBLE = frozenset(map(chr, range(ord("!"), 0x7F)))
"""A text that begins with one of these says something; others have to be looked at."""

ASIDES: dict[str, str] = {"x-anthropic-billing-header:": "anthropic"}
"""How a line begins that a client writes to its own service, and that service's dialect. Claude
Code's is another with each request, so that nobody's prompt cache would ever fit (2026-11)."""


def is_blank(text: str) -> bool:
    return not text or text.isspace()


REFUSED: dict[str, Callable[[str], bool] | None] = {
    "any": None,
    "answers": not_,
    "visible": is_blank,
}
"""By `Traits.texts`: which texts are refused."""


class Wording:
    """The forms that one target refuses."""

    def __init__(self, name: str, traits: Traits, scribe: LossRecorder) -> None:
        self.name = name
        self.refuses = REFUSED[traits.texts]
        self.of_all = traits.texts == "visible"
        """Not of a model's turns alone, but of everybody's, and of texts inside results."""
        self.traits = traits
        self.scribe = scribe

    # -- texts that say nothing -------------------------------------------------------------------

    def is_weak(self, block: Any) -> bool:
        """Whether a block is a text that the target refuses. What it has read itself is its own
        affair, and so is a signature that stands on an empty text."""
        if type(block) not in _WORDS or self.refuses is None:
            return False
        if not self.refuses(block.text):
            return False
        if getattr(block, "signature", None) is not None:
            return False
        return block.raw is None or self.name not in block.raw

    def is_fine(self, message: Message) -> bool:
        """Whether nothing in a message is refused for being empty."""
        if self.refuses is None or not (self.of_all or message.role is _ASSISTANT):
            return True
        content: Any = message.content
        for block in content:
            kind = type(block)
            if kind is TextBlock:
                text: str = block.text
                if (not text or text[0] not in VISIBLE) and self.is_weak(block):
                    return False
            elif kind is ToolResultBlock:
                if any(map(self.is_weak, block.content)):
                    return False
            elif kind is RefusalBlock and self.is_weak(block):
                return False
        return True

    def takes(self, message: Message) -> bool:
        """Whether what somebody other than a model said can stay as it is."""
        if message.role in INSTRUCTS and any(map(self.is_aside, message.content)):
            return False
        return self.is_fine(message)

    def spoken(self, message: Message) -> Message | None:
        """The message without texts that say nothing; a placeholder where all of it did, and None
        where instructions did."""
        if not message.content or self.is_fine(message):
            return message
        told = [self._result(b) if type(b) is ToolResultBlock else b for b in message.content]
        kept = [block for block in told if not self.is_weak(block)]
        if not kept and message.role in INSTRUCTS:
            self.scribe.lost(message, "content", "it says nothing", severity="info")
            return self._bare(message)
        if not kept:
            reason = "it says nothing; a placeholder stands in its place"
            self.scribe.lost(message, "content", reason, "approximated", "info")
            kept = [TextBlock(PLACEHOLDER)]
        else:
            for block in told:
                if self.is_weak(block):
                    self.scribe.dropped(block, "it says nothing", "info")
        return self._known(message.replace(content=tuple(kept)), message)

    def _result(self, block: ToolResultBlock) -> ToolResultBlock:
        if not any(map(self.is_weak, block.content)):
            return block
        kept: list[ResultBlock] = []
        for part in block.content:
            if self.is_weak(part):
                self.scribe.dropped(part, "it says nothing", "info")
            else:
                kept.append(part)
        new = block.replace(content=tuple(kept))
        self.scribe.alias(new, block)
        return new

    def _known(self, new: Message, original: Message) -> Message:
        self.scribe.alias(new, original)
        return new

    # -- lines to another service -----------------------------------------------------------------

    def is_aside(self, block: Block) -> bool:
        """Whether instructions are a line to a service other than this one."""
        if type(block) is not TextBlock or not block.text.startswith("x-"):
            return False
        found = [by for word, by in ASIDES.items() if block.text.startswith(word)]
        return bool(found) and found[0] != self.name

    def overheard(self, message: Message) -> Message | None:
        """Instructions without lines that are meant for another service; None where that was all
        there was."""
        kept = [block for block in message.content if not self.is_aside(block)]
        if len(kept) == len(message.content):
            return message
        for block in message.content:
            if self.is_aside(block):
                self.scribe.dropped(block, "a line that is for another service alone", "info")
        if not kept:
            return self._bare(message)
        return self._known(message.replace(content=tuple(kept)), message)

    def _bare(self, message: Message) -> Message | None:
        """Instructions without words, if they change anything; else there is no need of them."""
        if message.changes is None:
            return None
        return self._known(message.replace(content=()), message)

    # -- calls ------------------------------------------------------------------------------------

    def opened(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """With somebody who speaks before the model, where that is asked for. It is its call that
        is refused, but what stands before one may be the beginning of its turn."""
        first = None if self.traits.begins_with_model else _opening_turn(messages)
        if first is None:
            return messages
        reason = f"{self.name} wants the user to speak first; a placeholder stands before it"
        self.scribe.lost(messages[first], None, reason, "approximated", "info")
        return (*messages[:first], Message.user(EARLIER), *messages[first:])

    def ordered(self, message: Message) -> Message:
        """A turn of the model whose text comes before its last calls."""
        content = message.content
        if self.traits.text_behind_calls or is_call_last(content):
            return message
        behind = max(at for at, block in enumerate(content) if _is_call(block)) + 1
        first = behind - 1
        while first and _is_call(content[first - 1]):
            first -= 1
        moved = [block for block in content[behind:] if type(block) in _WORDS]
        rest = [block for block in content[behind:] if type(block) not in _WORDS]
        for block in moved:
            self.scribe.lost(block, None, "text comes before the calls here", "moved", "info")
        told = (*content[:first], *moved, *content[first:behind], *rest)
        return self._known(message.replace(content=told), message)


def is_call_last(content: tuple[Block, ...]) -> bool:
    """Whether no text stands behind the last call, if there is any call."""
    said = False
    for block in reversed(content):
        if _is_call(block):
            return not said
        said = said or type(block) in _WORDS
    return True


def _is_call(block: Any) -> bool:
    return type(block) is ToolUseBlock and block.executor == "client"


def _opening_turn(messages: tuple[Message, ...]) -> int | None:
    """The place of the first turn, if it is the model's."""
    for at, message in enumerate(messages):
        if message.role not in INSTRUCTS:
            return at if message.role is _ASSISTANT else None
    return None
