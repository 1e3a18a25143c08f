"""What a row may hold beside requests and responses: a session of a store, or a transcript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.model.tools import ToolDefinition
from interlingua.store.base import Store
from interlingua.store.rows import SessionRow
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    ModelChange,
    SubAgent,
    Transcript,
)


class StoredSession(NamedTuple):
    """A session as a store has it."""

    row: SessionRow
    messages: tuple[Message, ...]


Conversation = Request | Response | StoredSession | Transcript

_PAGE = 200


def sessions_in(store: Store) -> Iterator[StoredSession]:
    """Every session of a store, the last changed first; one at a time is in memory."""
    before: SessionRow | None = None
    while page := store.sessions(_PAGE, before):
        for row in page:
            yield StoredSession(row, tuple(store.messages(row.id)))
        before = page[-1]


# Transcripts: several branches of a session share messages, and each is written once.


class BranchPath(msgspec.Struct, frozen=True, omit_defaults=True):
    """A branch, by the places of its messages."""

    tip: str | None
    at: tuple[int, ...]
    active: bool = False


class Helper(msgspec.Struct, frozen=True, omit_defaults=True):
    """A helper's transcript, which has no row of its own."""

    messages: tuple[Message, ...]
    rest: TranscriptRest
    losses: tuple[Loss, ...] = ()
    tool_use_id: str | None = None


class TranscriptRest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A transcript without its messages and its losses. `origin` is not in it: it points at files,
    which stay where they are, and a table travels."""

    format: str
    count: int
    """How many of the messages are the active branch; those that only others have follow."""
    target: str = "transcript"
    id: str | None = None
    title: str | None = None
    folder: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    models: tuple[str, ...] = ()
    usage: Usage = Usage()
    branches: tuple[BranchPath, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    model_changes: tuple[ModelChange, ...] = ()
    subagents: tuple[Helper, ...] = ()
    tools: tuple[ToolDefinition, ...] = ()
    details: dict[str, Any] = {}


_SAME = (
    *("format", "id", "title", "folder", "created_at", "updated_at", "models", "usage"),
    *("compactions", "model_changes", "tools", "details"),
)
"""Fields that are the same on both sides."""


def apart(transcript: Transcript) -> tuple[tuple[Message, ...], TranscriptRest]:
    """All messages of a transcript, and all else but its losses."""
    places = {id(message): at for at, message in enumerate(transcript.messages)}
    messages = list(transcript.messages)
    ways = []
    for branch in transcript.branches:
        for message in branch.messages:
            if id(message) not in places:
                places[id(message)] = len(messages)
                messages.append(message)
        at = tuple(places[id(message)] for message in branch.messages)
        ways.append(BranchPath(branch.tip, at, branch.active))
    same = {name: getattr(transcript, name) for name in _SAME}
    rest = TranscriptRest(
        count=len(transcript.messages),
        target=transcript.report.target,
        branches=tuple(ways),
        subagents=tuple(_helper(each) for each in transcript.subagents),
        **same,
    )
    return tuple(messages), rest


def _helper(helper: SubAgent) -> Helper:
    messages, rest = apart(helper.transcript)
    losses = tuple(helper.transcript.report.losses)
    return Helper(messages, rest, losses, helper.tool_use_id)


def together(
    messages: tuple[Message, ...], rest: TranscriptRest, losses: Sequence[Loss]
) -> Transcript:
    """The inverse of `apart`."""
    same = {name: getattr(rest, name) for name in _SAME}
    return Transcript(
        messages=messages[: rest.count],
        branches=tuple(
            Branch(way.tip, tuple(messages[at] for at in way.at), way.active)
            for way in rest.branches
        ),
        subagents=tuple(
            SubAgent(together(each.messages, each.rest, each.losses), each.tool_use_id)
            for each in rest.subagents
        ),
        report=Report(rest.target, list(losses)),
        **same,
    )
