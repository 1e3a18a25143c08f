"""Text rules of a target: empty texts, a history that starts with the model, text after calls, and
directives of one service.

The traits of a dialect list what its targets refuse; a turn that the target made itself is not
changed.
"""

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
from interlingua.model.reasons import because

_ASSISTANT = Role.ASSISTANT
INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})
_WORDS = frozenset({TextBlock, RefusalBlock})
VISIBLE = frozenset(map(chr, range(ord("!"), 0x7F)))
"""A text that begins with one of these is not blank; others need a closer look."""

DIRECTIVES: dict[str, str] = {"x-anthropic-billing-header:": "anthropic"}
"""Prefixes of lines that a client writes for its own service, and that service's dialect. Claude
Code's line changes with each request, which would make every prompt cache miss (2026-11)."""


REFUSED: dict[str, Callable[[str], bool] | None] = {
    "any": None,
    "answers": not_,
    "visible": lambda text: not text or text.isspace(),
}
"""By `Traits.allowed_text`: which texts are refused."""


class TextRules:
    """The forms that one target refuses."""

    def __init__(self, name: str, traits: Traits, recorder: LossRecorder) -> None:
        self.name = name
        self.refuses = REFUSED[traits.allowed_text]
        self.of_all = traits.allowed_text == "visible"
        """Concerns all roles and texts inside results, not only the model's turns."""
        self.traits = traits
        self.recorder = recorder

    # -- blank texts
    # --------------------------------------------------------------------------------

    def is_blank(self, block: Any) -> bool:
        """Whether a block is a text that the target refuses. Texts of the target itself are
        accepted, and so is a signature on an empty text."""
        if type(block) not in _WORDS or self.refuses is None:
            return False
        if not self.refuses(block.text):
            return False
        if getattr(block, "signature", None) is not None:
            return False
        return block.raw is None or self.name not in block.raw

    def is_accepted(self, message: Message) -> bool:
        """Whether nothing in a message is refused for being empty."""
        if self.refuses is None or not (self.of_all or message.role is _ASSISTANT):
            return True
        content: Any = message.content
        for block in content:
            kind = type(block)
            if kind is TextBlock:
                text: str = block.text
                if (not text or text[0] not in VISIBLE) and self.is_blank(block):
                    return False
            elif kind is ToolResultBlock:
                if any(map(self.is_blank, block.content)):
                    return False
            elif kind is RefusalBlock and self.is_blank(block):
                return False
        return True

    def without_blank_texts(self, message: Message) -> Message | None:
        """The message without blank texts; a placeholder if nothing else is left, and None for
        instructions."""
        if not message.content or self.is_accepted(message):
            return message
        blocks = [self._result(b) if type(b) is ToolResultBlock else b for b in message.content]
        accepted = [block for block in blocks if not self.is_blank(block)]
        if not accepted and message.role in INSTRUCTS:
            self.recorder.lost(message, "content", because("empty"))
            return self._bare(message)
        if not accepted:
            reason = because("empty_replaced")
            self.recorder.lost(message, "content", reason, "approximated")
            accepted = [TextBlock(PLACEHOLDER)]
        else:
            for block in blocks:
                if self.is_blank(block):
                    self.recorder.dropped(block, because("empty"))
        return self._known(message.replace(content=tuple(accepted)), message)

    def _result(self, block: ToolResultBlock) -> ToolResultBlock:
        if not any(map(self.is_blank, block.content)):
            return block
        accepted: list[ResultBlock] = []
        for part in block.content:
            if self.is_blank(part):
                self.recorder.dropped(part, because("empty"))
            else:
                accepted.append(part)
        new = block.replace(content=tuple(accepted))
        self.recorder.alias(new, block)
        return new

    def _known(self, new: Message, original: Message) -> Message:
        self.recorder.alias(new, original)
        return new

    # -- lines to another service -----------------------------------------------------------------

    def is_foreign_directive(self, block: Block) -> bool:
        """Whether instructions are a line to a service other than this one."""
        if type(block) is not TextBlock or not block.text.startswith("x-"):
            return False
        found = [by for word, by in DIRECTIVES.items() if block.text.startswith(word)]
        return bool(found) and found[0] != self.name

    def without_foreign_directives(self, message: Message) -> Message | None:
        """Instructions without lines that are meant for another service; None where that was all
        there was."""
        rest = [block for block in message.content if not self.is_foreign_directive(block)]
        if len(rest) == len(message.content):
            return message
        for block in message.content:
            if self.is_foreign_directive(block):
                self.recorder.dropped(block, because("foreign_directive"))
        if not rest:
            return self._bare(message)
        return self._known(message.replace(content=tuple(rest)), message)

    def _bare(self, message: Message) -> Message | None:
        """Instructions without text, if they change anything; otherwise they are dropped."""
        if message.changes is None:
            return None
        return self._known(message.replace(content=()), message)

    # -- calls ------------------------------------------------------------------------------------

    def with_user_first(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Inserts a user message if the target rejects histories that start with a call of the
        model, or with a turn that contains one."""
        first = None if self.traits.begins_with_model else _opening_turn(messages)
        if first is None:
            return messages
        reason = because("user_first")
        self.recorder.lost(messages[first], None, reason, "approximated")
        return (*messages[:first], Message.user(EARLIER), *messages[first:])

    def with_text_before_calls(self, message: Message) -> Message:
        """A turn of the model with its text before its last calls."""
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
            self.recorder.lost(block, None, because("text_before_calls"), "moved")
        with_text_before_calls = (*content[:first], *moved, *content[first:behind], *rest)
        return self._known(message.replace(content=with_text_before_calls), message)


def is_call_last(content: tuple[Block, ...]) -> bool:
    """Whether no text follows the last call, if there is any call."""
    has_text = False
    for block in reversed(content):
        if _is_call(block):
            return not has_text
        has_text = has_text or type(block) in _WORDS
    return True


def _is_call(block: Any) -> bool:
    return type(block) is ToolUseBlock and block.executor == "client"


def _opening_turn(messages: tuple[Message, ...]) -> int | None:
    """The place of the first turn, if it is the model's."""
    for at, message in enumerate(messages):
        if message.role not in INSTRUCTS:
            return at if message.role is _ASSISTANT else None
    return None
