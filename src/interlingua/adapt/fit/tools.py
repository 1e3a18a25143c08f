"""Tools as a model takes them: whether at all, how many, beside which others, with what schemas."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec

from interlingua.adapt.fit.fitter import Fitter
from interlingua.adapt.fit.schemas import (
    adapted,
    inside,
    is_closed,
    is_rooted,
    optional_in,
    rooted,
    unions_in,
)
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.fields import Grammar, OutputRules
from interlingua.profiles.profile import Profile

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
    fitter.names = {renamed_to: name for name, renamed_to in new.items()}
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


KNOWN = "known-models"
"""The rule that is made of the list of capabilities."""


def fit_tools(fitter: Fitter) -> None:
    if refuses_tools(fitter.profile):
        _without_tools(fitter)
        return
    if not fitter.tools:
        return
    if fitter.profile.tools.with_server == "no":
        _without_server_tools(fitter)
    most = fitter.profile.limits.tools
    if most is not None and len(fitter.tools) > most:
        for tool in fitter.tools[most:]:
            reason = f"takes {most} tools at most"
            fitter.lost_at(tool, None, "limits.tools", reason, "dropped", "error")
        fitter.tools = fitter.tools[:most]
    _fit_schemas(fitter)


def refuses_tools(profile: Profile) -> bool:
    """Whether a rule says so. A list that calls a model poor at them does not: it may still take
    them, as the bundled local model does."""
    rule = profile.rule("tools.calls")
    return profile.tools.calls is False and rule is not None and rule.id != KNOWN


def _without_server_tools(fitter: Fitter) -> None:
    own = [tool for tool in fitter.tools if tool.executor == "provider"]
    if not own or len(own) == len(fitter.tools):
        return
    for tool in own:
        reason = "takes its provider's tools or functions, not both"
        fitter.lost_at(tool, None, "tools.with_server", reason, "dropped", "error")
    fitter.tools = tuple([tool for tool in fitter.tools if tool.executor != "provider"])


# -- schemas --------------------------------------------------------------------------------------


class _StrictAllowance:
    """How much of what strict schemas may hold is left."""

    def __init__(self, fitter: Fitter) -> None:
        rules = fitter.profile.tools
        self.tools, self.optional, self.unions = (
            2**31 if most is None else most
            for most in (rules.strict_tools, rules.strict_optional, rules.strict_unions)
        )

    def take(self, schema: JsonObject) -> str | None:
        """The field of the profile that does not let this schema be strict too."""
        optional, unions = optional_in(schema), unions_in(schema)
        if self.tools < 1:
            return "tools.strict_tools"
        if optional > self.optional:
            return "tools.strict_optional"
        if unions > self.unions:
            return "tools.strict_unions"
        self.tools, self.optional = self.tools - 1, self.optional - optional
        self.unions -= unions
        return None


def _fit_schemas(fitter: Fitter) -> None:
    left = _StrictAllowance(fitter)
    fitted = [_fit(fitter, tool, left) for tool in fitter.tools]
    if any(new is not old for new, old in zip(fitted, fitter.tools, strict=True)):
        fitter.tools = tuple(fitted)


def _fit(fitter: Fitter, tool: ToolDefinition, left: _StrictAllowance) -> ToolDefinition:
    schema, rules = tool.input_schema, fitter.profile.tools
    if schema is None or tool.kind != "function":
        return tool
    new = tool
    if rules.root_object and not is_rooted(schema):
        schema = rooted(schema)
        new = tool.replace(input_schema=schema)
        reason = "takes schemas of objects only; said as one"
        fitter.lost_at(tool, "input_schema", "tools.root_object", reason)
    if rules.schema_without:
        plain = adapted(schema, OutputRules(without=rules.schema_without))
        for place in plain.worded:
            reason = "takes no such keyword; its description tells it"
            fitter.lost_at(tool, f"input_schema{place}", "tools.schema_without", reason)
        if plain.worded:
            schema = plain.schema
            new = new.replace(input_schema=schema)
    if new.strict:
        field = _not_strict(fitter, schema) or left.take(schema)
        if field is not None:
            reason = "cannot hold strictly to this schema"
            fitter.lost_at(tool, "strict", field, reason, "dropped")
            new = new.replace(strict=None)
    return new if new is tool else fitter.stands_for(new, tool)


def _not_strict(fitter: Fitter, schema: JsonObject) -> str | None:
    rules = fitter.profile.tools
    if rules.strict_closed and not is_closed(schema, rules.strict_optional is not None):
        return "tools.strict_closed"
    without = rules.strict_without or ()
    if without and any(word in each for each in inside(schema) for word in without):
        return "tools.strict_without"
    return None


# -- a model that calls nothing -------------------------------------------------------------------


def _without_tools(fitter: Fitter) -> None:
    why = f"takes no tools in {fitter.dialect}"
    for tool in fitter.tools:
        fitter.lost_at(tool, None, "tools.calls", why, "dropped", "error")
    fitter.tools = ()
    for option in ("tool_choice", "parallel_tool_calls"):
        if fitter.now(option) is not None:
            fitter.drop(option, "tools.calls", why, "info")
    messages = [_in_words(fitter, message) for message in fitter.messages]
    if any(new is not old for new, old in zip(messages, fitter.messages, strict=True)):
        fitter.messages = tuple(messages)


def _in_words(fitter: Fitter, message: Message) -> Message:
    """Past calls and results as text."""
    content: list[Block] = []
    for block in message.content:
        if type(block) is ToolUseBlock and block.executor == "client":
            arguments = msgspec.json.encode(block.input).decode()
            content.append(TextBlock(f"[call of {block.name}: {arguments}]"))
        elif type(block) is ToolResultBlock and message.role is Role.TOOL:
            name = f" of {block.tool_name}" if block.tool_name else ""
            content += [TextBlock(f"[result{name}]"), *block.content]
        else:
            content.append(block)
            continue
        reason = f"takes no tools in {fitter.dialect}; said as text"
        fitter.lost_at(block, None, "tools.calls", reason, "downgraded", "error")
    if len(content) == len(message.content) and all(
        new is old for new, old in zip(content, message.content, strict=True)
    ):
        return message
    role = Role.USER if message.role is Role.TOOL else message.role
    return fitter.stands_for(message.replace(role=role, content=tuple(content)), message)  # type: ignore[no-any-return]  # a message
