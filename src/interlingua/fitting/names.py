"""Tool names that the target does not take: other names, the same for the same name at all times,
which `back.py` turns round in the answer."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Any

from interlingua.fitting.fitter import Fitter
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import ToolChoice
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.models.fields import Grammar

_HASH = 8
"""Digits that keep apart names which become alike."""
_OWN_KINDS = frozenset({"function", "custom"})


@lru_cache(64)
def _pattern(grammar: Grammar) -> re.Pattern[str]:
    first = grammar.first or grammar.letters
    return re.compile(f"(?=.{{{grammar.least},{grammar.most}}}\\Z){first}{grammar.letters}*")


@lru_cache(4096)
def legal(name: str, grammar: Grammar) -> bool:
    return _pattern(grammar).fullmatch(name) is not None


def renamed(name: str, grammar: Grammar) -> str:
    """A legal name that is like this one: what is not allowed as `_`, and a hash at the end."""
    letter = re.compile(grammar.letters)
    marks = [mark if letter.fullmatch(mark) else "_" for mark in name]
    if grammar.first and not (marks and re.fullmatch(grammar.first, marks[0])):
        marks.insert(0, "_" if re.fullmatch(grammar.first, "_") else "t")
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    start = "".join(marks)[: grammar.most - _HASH - 1].rstrip("_") or "tool"
    return f"{start}_{digest}"


def fit_names(fitter: Fitter) -> None:
    grammar = fitter.profile.tools.names
    if grammar is None:
        return
    new = {name: renamed(name, grammar) for name in _names(fitter) if not legal(name, grammar)}
    if not new:
        return
    fitter.names = {said: name for name, said in new.items()}
    if fitter.json_tool in new:
        fitter.json_tool = new[fitter.json_tool]
    fitter.tools = tuple([_tool(fitter, tool, new) for tool in fitter.tools])
    fitter.messages = tuple([_message(fitter, message, new) for message in fitter.messages])
    choice: ToolChoice | None = fitter.now("tool_choice")
    if choice is not None and not new.keys().isdisjoint(choice.names):
        names = tuple([new.get(name, name) for name in choice.names])
        fitter.change("tool_choice", choice.replace(names=names))


def _names(fitter: Fitter) -> set[str]:
    names = {tool.name for tool in fitter.tools if tool.kind in _OWN_KINDS}
    for message in fitter.messages:
        for block in message.content:
            if type(block) is ToolUseBlock and block.executor == "client":
                names.add(block.name)
            elif type(block) is ToolResultBlock and block.tool_name:
                names.add(block.tool_name)
    return names


def _tool(fitter: Fitter, tool: ToolDefinition, new: dict[str, str]) -> ToolDefinition:
    if tool.name not in new or tool.kind not in _OWN_KINDS:
        return tool
    reason = f"takes no tool of this name; called {new[tool.name]}, and as before in answers"
    fitter.lost_at(tool, "name", "tools.names", reason, severity="info")
    return fitter.stands_for(tool.replace(name=new[tool.name]), tool)  # type: ignore[no-any-return]  # a tool


def _message(fitter: Fitter, message: Message, new: dict[str, str]) -> Message:
    content = [_block(fitter, block, new) for block in message.content]
    if all(one is other for one, other in zip(content, message.content, strict=True)):
        return message
    return fitter.stands_for(message.replace(content=tuple(content)), message)  # type: ignore[no-any-return]  # a message


def _block(fitter: Fitter, block: Any, new: dict[str, str]) -> Any:
    if type(block) is ToolUseBlock and block.executor == "client" and block.name in new:
        return fitter.stands_for(block.replace(name=new[block.name]), block)
    if type(block) is ToolResultBlock and block.tool_name in new:
        return fitter.stands_for(block.replace(tool_name=new[block.tool_name]), block)
    return block
