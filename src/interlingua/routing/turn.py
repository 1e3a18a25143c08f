"""A turn for routing: its needs of a model, and the facts that rules may test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import time
from decimal import Decimal
from typing import Literal

import msgspec

from interlingua.model.blocks import Block, DocumentBlock, ImageBlock, TextBlock, ToolUseBlock
from interlingua.model.exchange import Options
from interlingua.model.message import Message, Role, walk_message
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.routing.registry import Tier

UNKNOWN_MEDIA_TYPE = ""


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Required capabilities of a model. Thinking is never required: it can be left out."""

    image_media_types: tuple[str, ...] | None = None
    """None: there are no images. The type of some may be unknown, which is an empty text."""
    input_tokens: int = 0
    output_tokens: int = 0
    """The tokens reserved for the answer."""
    tools: bool = False
    system_prompt: bool = False
    structured_output: bool = False
    side_effects: tuple[SideEffects, ...] = ()
    """The side effects of the turn's tools, each once."""

    @property
    def images(self) -> bool:
        return self.image_media_types is not None


class PatternStats(msgspec.Struct, frozen=True, kw_only=True):
    """The record of one model for turns of this kind. `success` is weighted, from 0 to 1."""

    model: str
    success: float
    sample_size: int
    cost_usd: Decimal = Decimal(0)


class DelegateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An agent wants work done by a worker: by this model, or by one of this tier."""

    model: str | None = None
    tier: Tier | None = None


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a decision depends on, as values: the same turn, the same decision."""

    text: str = ""
    needs: Needs = Needs()
    has_images: bool = False
    """In the new message; `needs` also counts those in history, which are sent again."""
    has_tool_calls_in_history: bool = False
    override: str | None = None
    """A model's id or alias, from an API field or the start of the message."""
    override_via: Literal["message", "api"] = "message"
    sticky: str | None = None
    """The model set with `/model`."""
    workspace_path: str | None = None
    workspace_default: str | None = None
    """The session's own default, before that of the rules file."""
    patterns: tuple[PatternStats, ...] = ()
    delegate: DelegateRequest | None = None
    skills: tuple[str, ...] = ()
    file_extensions: tuple[str, ...] = ()
    time_of_day: time | None = None
    """On the user's clock."""
    cost_today_usd: Decimal | None = None
    team_budget_remaining_usd: Decimal | None = None

    @property
    def estimated_input_tokens(self) -> int:
        return self.needs.input_tokens


class Facts(msgspec.Struct, frozen=True):
    """Facts of a history that a model must be able to accept, found in one walk."""

    media_types: frozenset[str] = frozenset()
    """The media types of images, including those in tool results and documents."""
    calls: bool = False
    """Whether a model ever called one of our tools; calls that a provider ran itself do not count,
    since they need no tools of the next model."""
    instructions: bool = False
    files: bool = False
    """Whether there are references to files of the workspace."""

    def __or__(self, other: Facts) -> Facts:
        """The needs of both together."""
        return Facts(
            self.media_types | other.media_types,
            self.calls or other.calls,
            self.instructions or other.instructions,
            self.files or other.files,
        )


def facts_of(messages: Iterable[Message]) -> Facts:
    media: set[str] = set()
    calls = instructions = files = False
    for message in messages:
        if message.role in (Role.SYSTEM, Role.DEVELOPER) and message.content:
            instructions = True
        if all(type(block) is TextBlock for block in message.content):
            continue
        for _, _, block in walk_message(message):
            if isinstance(block, ToolUseBlock):
                calls = calls or block.executor == "client"
                continue
            if (media_type := _image_type(block)) is not None:
                media.add(media_type)
            source = getattr(block, "source", None)
            files = files or (source is not None and source.kind == "file_ref")
    return Facts(frozenset(media), calls, instructions, files)


def needs_of(
    messages: Sequence[Message],
    tools: Sequence[ToolDefinition] = (),
    options: Options | None = None,
    input_tokens: int = 0,
) -> Needs:
    """The needs of sending these messages. `input_tokens` is the estimate of an adapter."""
    return needs_from(facts_of(messages), tools, options, input_tokens)


def needs_from(
    facts: Facts,
    tools: Sequence[ToolDefinition] = (),
    options: Options | None = None,
    input_tokens: int = 0,
) -> Needs:
    """The same of a history whose facts are known."""
    chosen = options or Options()
    response_format = chosen.response_format
    return Needs(
        image_media_types=tuple(sorted(facts.media_types)) or None,
        input_tokens=input_tokens,
        output_tokens=chosen.max_output_tokens or 0,
        tools=bool(tools) or facts.calls,
        system_prompt=facts.instructions,
        structured_output=response_format is not None and response_format.kind != "text",
        side_effects=effects_of(tools),
    )


def effects_of(tools: Sequence[ToolDefinition]) -> tuple[SideEffects, ...]:
    """The effects that our own tools declare; a tool without a declaration may have any."""
    ours = [tool for tool in tools if tool.executor == "client"]
    declared = {tool.side_effects or SideEffects.EXECUTE for tool in ours}
    return tuple([effect for effect in SideEffects if effect in declared])


def turn_of(
    history: Sequence[Message] | Facts,
    message: Message,
    needs: Needs,
    new: Facts | None = None,
    **more: object,
) -> Turn:
    """The turn that a new user message begins; `new` are its facts, where they are known, and
    `more` are fields of `Turn` that are not in it."""
    facts = history if isinstance(history, Facts) else facts_of(history)
    new = facts_of([message]) if new is None else new
    return msgspec.structs.replace(
        Turn(
            text=message.text,
            needs=needs,
            has_images=bool(new.media_types),
            has_tool_calls_in_history=facts.calls,
        ),
        **more,
    )


def _image_type(block: Block) -> str | None:
    if isinstance(block, ImageBlock):
        return (block.media_type or UNKNOWN_MEDIA_TYPE).lower()
    if isinstance(block, DocumentBlock) and (block.media_type or "").startswith("image/"):
        return (block.media_type or "").lower()
    return None
