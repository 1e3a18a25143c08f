"""What a list of sessions shows of each: who, where, when, how much, without what was said."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage

if TYPE_CHECKING:
    from interlingua.transcripts.transcript import Transcript

LONGEST = 80
"""Characters of a prompt that stand for a title."""


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What one answer of a model used. By `id` and time it is known again in a session that was
    copied from this one."""

    model: str | None
    usage: Usage
    created_at: datetime | None = None
    id: str = ""


class Glance(msgspec.Struct, frozen=True, omit_defaults=True):
    """`messages` counts the active branch; `answers` are all, of branches that were left and of
    helpers too, each once. `parent` is the session that this one helps."""

    id: str | None = None
    title: str | None = None
    folder: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    messages: int = 0
    answers: tuple[Answer, ...] = ()
    parent: str | None = None


def glance_of(transcript: Transcript) -> Glance:
    """The same of a session that was read."""
    return Glance(
        transcript.id,
        transcript.title or title_of(transcript.messages),
        transcript.folder,
        transcript.created_at,
        transcript.updated_at,
        len(transcript.messages),
        tuple(_answer(message) for message in answers_of(transcript)),
        transcript.details.get("parent"),
    )


def _answer(message: Message) -> Answer:
    usage = message.metadata.usage
    assert usage is not None, "only those with a usage are asked for"
    return Answer(message.metadata.model, usage, message.created_at, name_of(message))


def answers_of(transcript: Transcript) -> Iterator[Message]:
    """Every message that has a usage, once: of all branches, and of helpers."""
    ways = [each.messages for each in transcript.branches] or [transcript.messages]
    seen: set[tuple[str, datetime | None]] = set()
    for message in (message for way in ways for message in way):
        if message.metadata.usage is None:
            continue
        key = (name_of(message), message.created_at)
        if key not in seen:
            seen.add(key)
            yield message
    for helper in transcript.subagents:
        yield from answers_of(helper.transcript)


def name_of(message: Message) -> str:
    """By what an answer is known again on another branch."""
    return message.metadata.response_id or message.id or message.digest()


def title_of(messages: tuple[Message, ...]) -> str | None:
    """How the first prompt begins, for sessions that nobody named."""
    prompts = (message.text for message in messages if message.role is Role.USER)
    return next((title for text in prompts if (title := short(text))), None)


def short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text[: 4 * LONGEST].split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
