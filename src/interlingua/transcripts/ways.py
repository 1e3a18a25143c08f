"""Conversations of chat programs: messages that name the one before them."""

from __future__ import annotations

from typing import NamedTuple

from interlingua.model.message import Message
from interlingua.transcripts.transcript import Branch


class Turn(NamedTuple):
    """What stands at one place, and the place before it."""

    parent: str | None
    messages: tuple[Message, ...]


def way_to(turns: dict[str, Turn], tip: str | None) -> tuple[Message, ...]:
    """All messages from the beginning to a tip; a circle is cut where it closes."""
    found: list[tuple[Message, ...]] = []
    seen: set[str] = set()
    while tip in turns and tip not in seen:
        seen.add(tip)
        turn = turns[tip]
        found.append(turn.messages)
        tip = turn.parent
    return tuple(message for messages in reversed(found) for message in messages)


def branches_of(turns: dict[str, Turn], active: str | None) -> tuple[Branch, ...]:
    """Every way to a place that nothing follows."""
    followed = {turn.parent for turn in turns.values()}
    tips = [name for name in turns if name not in followed]
    return tuple(Branch(tip, way_to(turns, tip), tip == active) for tip in tips)
