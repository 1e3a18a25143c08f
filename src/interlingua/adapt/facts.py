"""Facts about a request, found in one walk: steps that none of them concerns are skipped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import astuple

from interlingua.adapt.history.vendor_tools import asks_beside
from interlingua.model.blocks import (
    AudioBlock,
    CompactionBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request, is_limit_alone
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus

OPTIONS = 1 << 0
"""Options beside the limit of tokens and streaming."""
TOOLS = 1 << 1
"""Definitions of tools."""
RAW = 1 << 2
"""Members of the request that only one dialect has a place for, beside its spelling."""
BESIDE = 1 << 3
"""A search requested by a field of the body, not by a tool."""
CONTINUES = 1 << 4
"""Continues a history that a provider stores."""
USER = 1 << 5
ASSISTANT = 1 << 6
TOOL = 1 << 7
"""Messages of these roles."""
DEVELOPER = 1 << 8
"""Instructions in the role developer."""
LATER = 1 << 9
"""Instructions behind a turn of the user or the model."""
MODEL_FIRST = 1 << 10
"""The first turn is the model's."""
CHANGES = 1 << 11
"""Messages that change settings."""
UNFINISHED = 1 << 12
"""Turns of the model that failed or were cancelled."""
CALLS = 1 << 13
"""Tool calls or results."""
UNPAIRED = 1 << 14
"""A result that does not follow the turn of its call, or a turn before all calls are answered."""
UNORDERED = 1 << 15
"""Results in another order than their calls."""
REPEATED_IDS = 1 << 16
"""Calls that share an id."""
TEXT_AFTER_CALLS = 1 << 17
"""Text of the model behind its last call."""
THINKING = 1 << 18
"""Thinking blocks; `CallFacts.thinking` has one of each origin."""
ISSUED = 1 << 19
"""Content that may have a meaning for its issuer alone: signed, encrypted, compacted, spoken, or
run by a provider."""
BLANK = 1 << 20
"""Texts without a visible character."""
DIRECTIVE = 1 << 21
"""Texts that may be a line to one service."""
OTHER = 1 << 22
"""Blocks beside text, thinking, calls and results, or beside text inside a result."""
RESULT_OTHER = 1 << 23
"""Other blocks in a result."""
CACHE = 1 << 24
"""Cache marks on blocks or tools."""
ALL = (1 << 25) - 1
"""Everything."""

_TURNS = USER | ASSISTANT | TOOL
# Bound once: looking up an enum's member costs as much as a whole step.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_DEVELOPER = Role.DEVELOPER
_COMPLETE, _PARTIAL = MessageStatus.COMPLETE, MessageStatus.PARTIAL
_PLAIN = frozenset(map(chr, range(ord("!"), 0x7F))) - {"x"}
"""A text that begins with one of these is neither blank nor a directive."""
DIRECTIVE_START = "x-"
_ISSUED = frozenset({RedactedThinkingBlock, CompactionBlock, AudioBlock})
FORM = "$form"
_OPTIONS = len(Options.__struct_fields__)


class CallFacts(msgspec.Struct):
    """Facts about the model's calls and their results that flags cannot hold."""

    names: set[str | None] = set()
    """Names of tools in calls and results."""
    ids: dict[str, None] = {}
    """Ids of calls, and of results without a call, in their order."""
    open: list[str] = []
    """Ids of calls of the last turn that have no result yet."""
    thinking: dict[tuple[int, int], tuple[Message, ThinkingBlock]] = {}
    """One block of thinking for each metadata and `raw`, by which its issuer is known."""
    legal: dict[str, int] = {}
    """By dialect: how many of the ids, from the first on, are known to be legal there."""
    raw: Any = None
    metadata: Any = None
    """The metadata of the last thinking: the next one mostly has the same origin."""

    def answer(self, message: Message) -> int:
        """Facts of a turn of the model, whose calls are open from now on."""
        status = message.metadata.status
        flags = ASSISTANT if status is _COMPLETE or status is _PARTIAL else ASSISTANT | UNFINISHED
        if self.open:
            flags |= UNPAIRED
            self.open = []
        is_text_last = False
        content: Any = message.content
        for block in content:
            kind = type(block)
            if block.cache is not None:
                flags |= CACHE
            if kind is TextBlock:
                text = block.text
                if not text or text[0] not in _PLAIN:
                    flags |= _odd(text)
                if block.signature is not None:
                    flags |= ISSUED
                is_text_last = True
            elif kind is ToolUseBlock:
                flags |= self.call(block)
                if block.executor == "client":
                    self.open.append(block.id)
                    is_text_last = False
            elif kind is ThinkingBlock:
                flags |= THINKING
                if block.raw is not self.raw or message.metadata is not self.metadata:
                    self.raw, self.metadata = block.raw, message.metadata
                    self.thinking.setdefault(
                        (id(message.metadata), id(block.raw)), (message, block)
                    )
            else:
                flags |= self.other(block) | (ISSUED if kind in _ISSUED else 0)
                is_text_last = is_text_last or kind is RefusalBlock
        return flags | TEXT_AFTER_CALLS if is_text_last and self.open else flags

    def call(self, block: ToolUseBlock) -> int:
        flags = CALLS
        if block.id in self.ids:
            flags |= REPEATED_IDS
        else:
            self.ids[block.id] = None
        self.names.add(block.name)
        if block.signature is not None or block.caller is not None or block.executor != "client":
            flags |= ISSUED
        return flags

    def results(self, message: Message) -> int:
        """Facts of a tool's message, which answers open calls."""
        flags = TOOL
        content: Any = message.content
        for block in content:
            if block.cache is not None:
                flags |= CACHE
            if type(block) is not ToolResultBlock:
                flags |= self.other(block)
                continue
            flags |= self.result(block)
            answered, calls = block.tool_use_id, self.open
            if calls and answered == calls[0]:
                del calls[0]
            elif answered in calls:
                flags |= UNORDERED
                calls.remove(answered)
            else:
                flags |= UNPAIRED
                self.ids[answered] = None
        return flags

    def result(self, block: ToolResultBlock) -> int:
        flags = CALLS
        self.names.add(block.tool_name)
        part: Any
        for part in block.content:
            if type(part) is not TextBlock:
                flags |= OTHER | RESULT_OTHER
            elif not part.text or part.text[0] not in _PLAIN:
                flags |= _odd(part.text)
            if part.cache is not None:
                flags |= CACHE
        return flags

    def other(self, block: Any) -> int:
        """Facts of a block that is rare in its place."""
        kind = type(block)
        if kind is ToolUseBlock:
            return self.call(block)
        if kind is ToolResultBlock:
            self.ids[block.tool_use_id] = None
            return ISSUED | self.result(block)
        if kind is TextBlock:
            return _odd(block.text)
        if kind is RefusalBlock:
            return OTHER | _odd(block.text)
        return 0 if kind is ThinkingBlock else OTHER


class Facts(msgspec.Struct):
    """Facts about a request. They grow with the messages that are appended."""

    flags: int = 0
    """The sum of the facts above that hold, of the messages and of the rest of the request."""
    content: int = 0
    """The facts of the messages alone."""
    last: Role = _USER
    """The role of the last message."""
    calls: CallFacts | None = None
    """None while there are only texts of users and instructions."""

    @property
    def is_paired(self) -> bool:
        """Whether every call is answered right behind its turn, and no result is without a call."""
        return not (self.content & UNPAIRED or (self.calls is not None and self.calls.open))

    def copy(self) -> Facts:
        """The same, for another request to grow from."""
        calls = self.calls
        if calls is not None:
            names, ids, thinking = set(calls.names), calls.ids.copy(), calls.thinking.copy()
            calls = CallFacts(names, ids, list(calls.open), thinking, calls.legal.copy())
        return Facts(self.flags, self.content, self.last, calls)

    def extend(self, messages: Iterable[Message]) -> None:
        """Takes in messages that follow the others."""
        self.content, self.last, self.calls = _walk(messages, self.content, self.last, self.calls)
        self.flags |= self.content

    def asking(self, request: Request) -> Facts:
        """The facts of these messages in a request with these settings."""
        self.flags = self.content | _flags_beside_messages(request)
        return self


def facts_of(request: Request) -> Facts:
    """The facts of a whole request."""
    content, last, calls = _walk(request.messages, 0, _USER, None)
    return Facts(content | _flags_beside_messages(request), content, last, calls)


def _walk(
    messages: Iterable[Message], flags: int, role: Role, calls: CallFacts | None
) -> tuple[int, Role, CallFacts | None]:
    for message in messages:
        role = message.role
        if message.changes is not None:
            flags |= CHANGES
        if role is _USER:
            flags |= USER
        elif role is _ASSISTANT:
            if calls is None:
                calls = CallFacts()
            if not flags & _TURNS:
                flags |= MODEL_FIRST
            flags |= calls.answer(message)
            continue
        elif role is _TOOL:
            if calls is None:
                calls = CallFacts()
            flags |= calls.results(message)
            continue
        else:
            if role is _DEVELOPER:
                flags |= DEVELOPER
            if flags & _TURNS:
                flags |= LATER
        if calls is not None and calls.open:
            flags |= UNPAIRED
            calls.open = []
        content: Any = message.content
        for block in content:
            if type(block) is not TextBlock:
                calls = calls or CallFacts()
                flags |= calls.other(block)
            elif not (text := block.text) or text[0] not in _PLAIN:
                flags |= _odd(text)
            if block.cache is not None:
                flags |= CACHE
    return flags, role, calls


def _odd(text: str) -> int:
    """Facts of a text that begins in an unusual way."""
    if not text or text.isspace():
        return BLANK
    return DIRECTIVE if text.startswith(DIRECTIVE_START) else 0


def _flags_beside_messages(request: Request) -> int:
    """Facts of a request beside its messages."""
    flags = 0
    if request.tools:
        flags |= TOOLS
        for tool in request.tools:
            if tool.cache is not None:
                flags |= CACHE
    options = request.options
    if not is_limit_alone(options):
        unset = astuple(options).count(None)
        if (
            unset + (options.max_output_tokens is not None) + (options.stream is not None)
            < _OPTIONS
        ):
            flags |= OPTIONS
    if request.raw is not None:
        for own_raw in request.raw.values():
            if len(own_raw) != 1 or FORM not in own_raw:
                flags |= RAW | BESIDE if asks_beside(request) else RAW
                break
    if request.continues is not None:
        flags |= CONTINUES
    return flags
