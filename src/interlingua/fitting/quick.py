"""Whether there is anything to fit: the usual request to a model that takes it as it is, found out
in one go. What is not plainly usual is left to the steps."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from msgspec.structs import astuple

from interlingua.dialects.registry import traits_of
from interlingua.fitting.limits import USUAL_WORD
from interlingua.fitting.names import legal
from interlingua.fitting.schemas import is_rooted
from interlingua.fitting.tools import refuses_tools
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Role
from interlingua.model.tools import ToolDefinition
from interlingua.models.fields import Grammar
from interlingua.models.profile import Profile
from interlingua.retelling.groups import group_of
from interlingua.retelling.search_options import asks_beside

# Bound once: looking up an enum's member costs as much as a whole step.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_DEVELOPER = Role.DEVELOPER
_NOTHING = tuple([astuple(Options(stream=stream))[1:] for stream in (None, True, False)])
"""All options but the first, which is the limit of tokens, where they say nothing."""
_NO_END = 2**62
_PLAIN = frozenset("abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
"""A text that begins with a letter is none that has to be replaced. With an x begins what a client
writes to its own service."""


class Quick(NamedTuple):
    """What a profile asks of a request without options, media, marks and odd names."""

    least: int
    most: int
    limit_needed: bool
    mid: bool
    """Instructions may stand anywhere."""
    prefill: bool
    names: Grammar | None
    tools: bool
    """Tools with plain schemas are taken without a look at the options."""
    most_tools: int
    word: str | None
    """The key for the longest answer, where the model takes one alone."""
    ends: bool
    """Instructions may be the last message."""
    developer: bool
    """Knows that role."""


@lru_cache(512)
def quick_of(profile: Profile, dialect: str) -> Quick:
    limits, tools = profile.limits, profile.tools
    # Where something has to be looked at in every request, no limit is plain, nor is none.
    never = bool(profile.turns.alternate) or profile.instructions.role == "user"
    return Quick(
        _NO_END if never else limits.min_output or 0,
        limits.output or _NO_END - 1,
        never or traits_of(dialect).needs_limit,
        profile.instructions.mid in (None, "any"),
        profile.turns.prefill in (None, "yes"),
        tools.names,
        not refuses_tools(profile) and tools.effort is None and not tools.schema_without,
        limits.tools or _NO_END,
        profile.words.max_tokens,
        profile.turns.last is None or "system" in profile.turns.last,
        profile.instructions.role != "system",
    )


def is_simple(request: Request, quick: Quick) -> bool:
    """Whether a user says something, after the instructions, and no more: nothing to retell, and
    nothing to fit."""
    if request.tools or request.continues is not None or not _plain_options(request, quick):
        return False
    if request.raw is not None and asks_beside(request):
        return False
    leading = True
    content: Any
    for message in request.messages:
        role = message.role
        if role is _USER:
            leading = False
        elif (
            role is _ASSISTANT
            or role is _TOOL
            or not leading
            or (role is _DEVELOPER and not quick.developer)
        ):
            return False
        content = message.content
        if not content or message.changes is not None:
            return False
        for block in content:
            if type(block) is not TextBlock or block.cache is not None:
                return False
            first = block.text[:1]
            if first not in _PLAIN and (not first.isalnum() or first == "x"):
                return False
    return not leading


def fits(request: Request, quick: Quick) -> bool:
    """Whether nothing has to be done."""
    if not _plain_options(request, quick):
        return False
    if request.tools and not _plain_tools(request.tools, quick):
        return False
    names = quick.names
    known: set[str | None] = {None}
    leading, role = True, _USER
    for message in request.messages:
        role = message.role
        if role is _ASSISTANT or role is _TOOL or role is _USER:
            leading = False
        elif (not leading and not quick.mid) or (role is _DEVELOPER and not quick.developer):
            return False
        if message.changes is not None:
            return False
        content: Any = message.content
        for block in content:
            if block.cache is not None:
                return False
            kind = type(block)
            if kind is TextBlock or kind is ThinkingBlock:
                continue
            if kind is ToolUseBlock:
                name = block.name
            elif kind is ToolResultBlock:
                if not _is_text(block):
                    return False
                name = block.tool_name
            else:
                return False
            if name not in known:
                if names is not None and not legal(name, names):
                    return False
                known.add(name)
    if role is _ASSISTANT:
        return quick.prefill
    return quick.ends or role is _USER or role is _TOOL


def _is_text(result: ToolResultBlock) -> bool:
    """Whether there is nothing but texts without marks in a result."""
    for part in result.content:
        if type(part) is not TextBlock or part.cache is not None:
            return False
    return True


def _plain_options(request: Request, quick: Quick) -> bool:
    """Whether the options say nothing but how long the answer may be, and that is taken as it is
    written: the wire's own key for it may be another than the model's."""
    said = astuple(request.options)
    most: int | None = said[0]
    if most is None:
        if quick.limit_needed:
            return False
    elif not quick.least <= most <= quick.most or (
        quick.word is not None and (quick.word != USUAL_WORD or request.raw is not None)
    ):
        return False
    return said[1:] in _NOTHING


def _plain_tools(tools: tuple[ToolDefinition, ...], quick: Quick) -> bool:
    if not quick.tools or len(tools) > quick.most_tools:
        return False
    return all(_is_plain(tool, quick.names) for tool in tools)


def _is_plain(tool: ToolDefinition, names: Grammar | None) -> bool:
    if tool.kind != "function" or tool.executor != "client" or tool.strict or tool.cache:
        return False
    if tool.raw is not None and group_of(tool) is not None:
        return False
    if names is not None and not legal(tool.name, names):
        return False
    return tool.input_schema is None or is_rooted(tool.input_schema)
