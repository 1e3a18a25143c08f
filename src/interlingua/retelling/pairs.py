"""Which result belongs to which call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from interlingua.ids import IdGrammar
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role

_ASSISTANT, _TOOL = Role.ASSISTANT, Role.TOOL


def is_paired(messages: Sequence[Message], ordered: bool = False) -> bool:
    """Whether results stand right behind the turn of their calls, all of them and no others (and in
    call order, if that is asked for), so that there is nothing to repair."""
    waiting: list[str] = []
    for message in messages:
        if message.role is _TOOL:
            for block in message.content:
                if type(block) is not ToolResultBlock:
                    continue
                answered = block.tool_use_id
                if answered not in waiting or (ordered and answered != waiting[0]):
                    return False
                waiting.remove(answered)
        else:
            if waiting:
                return False
            if message.role is _ASSISTANT:
                waiting = [block.id for block in calls_of(message)]
    return not waiting


def ids_fit(messages: Sequence[Message], grammar: IdGrammar) -> bool:
    """Whether all ids are legal and no two calls have the same; the usual case."""
    legal = grammar.matcher()
    seen: set[str] = set()
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock:
                if block.id in seen or legal(block.id) is None:
                    return False
                seen.add(block.id)
            elif type(block) is ToolResultBlock:
                known = block.tool_use_id in seen
                if not known and legal(block.tool_use_id) is None:
                    return False
    return True


class Answers(NamedTuple):
    of: dict[int, int]
    """Identity of a call's block to the index of the message that answers it."""
    taken: set[int]
    """Indexes of messages that answer some call."""


def answers_in(messages: Sequence[Message]) -> Answers:
    """A result belongs to the nearest earlier call with its id, and only the first answers it."""
    latest: dict[str, ToolUseBlock] = {}
    answers = Answers({}, set())
    for index, message in enumerate(messages):
        for block in calls_of(message):
            latest[block.id] = block
        if message.role is _TOOL:
            for result in message.content:
                if type(result) is ToolResultBlock and result.tool_use_id in latest:
                    call = latest[result.tool_use_id]
                    if id(call) not in answers.of:
                        answers.of[id(call)] = index
                        answers.taken.add(index)
    return answers


def calls_of(message: Message) -> list[ToolUseBlock]:
    """The calls that the client has to answer."""
    return [
        block
        for block in message.content
        if type(block) is ToolUseBlock and block.executor == "client"
    ]
