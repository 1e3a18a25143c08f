"""Compacted sessions: the messages that a summary replaces stay in the store, and are no longer
sent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from interlingua.costs.cost import priced
from interlingua.model.blocks import CompactionBlock
from interlingua.model.exchange import Options, Request, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.profiles.names import UnknownModelError
from interlingua.sessions.core import Core
from interlingua.sessions.effects import Effects, SessionError
from interlingua.sessions.pruning import INSTRUCTIONS, sendable

SUMMARY_TOKENS = 8192
"""The most tokens of a summary."""


@cache
def prompt() -> str:
    """The instructions for a summary."""
    return files(__package__).joinpath("summary.md").read_text("utf-8").strip()


def summary_request(core: Core) -> Effects[Request]:
    """The request to a model for a summary of this session."""
    history = yield from core.load()
    _require_summable(core, history)
    choice = ToolChoice("none") if core.tools else None
    options = Options(max_output_tokens=SUMMARY_TOKENS, tool_choice=choice)
    return Request((*sendable(history), Message.user(prompt())), tools=core.tools, options=options)


def compacted(
    core: Core, summary: str, model: str | None = None, usage: Usage | None = None
) -> Effects[Message]:
    """Appends a compaction of everything before it. Its cost is the session's."""
    history = yield from core.load()
    _require_summable(core, history)
    if not summary.strip():
        raise SessionError(f"session {core.id}: the summary is empty; nothing was changed")
    if usage is not None and model is not None:
        try:
            usage = priced(usage, model, core.prices)
        except UnknownModelError:
            usage = usage.replace(cost_usd=None)
    block = CompactionBlock(summary.strip(), replaces=len(history))
    message = Message(Role.USER, (block,), metadata=MessageMetadata(usage=usage))
    return (yield from core.add([message]))[0]


def _require_summable(core: Core, history: Sequence[Message]) -> None:
    if core.turn is not None:
        raise SessionError(f"session {core.id}: a turn is in progress; compact after it")
    if all(message.role in INSTRUCTIONS for message in history):
        raise SessionError(f"session {core.id}: there is nothing to compact")
