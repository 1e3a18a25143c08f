"""What answers in the sessions of other agents cost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.cli.agents import cost_of_answer, known_format
from interlingua.cli.terminal import complain, progress
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.prices.own import own_table
from interlingua.transcripts.sessions import at, glances, here, look

if TYPE_CHECKING:
    from interlingua.prices.table import PriceTable
    from interlingua.transcripts.glance import Answer


def agent_answers(
    files: tuple[Path, ...],
    home: Path | None,
    formats: tuple[str, ...],
    since: datetime | None,
    until: datetime | None,
) -> Iterator[Message]:
    """Every answer of these sessions (of all, if no file is named) that was made in this time;
    once, since one that was copied into a fork, or that is a helper's, stands in several files."""
    for name in formats:
        known_format(name, "--from")
    found = [at(path, *formats[:1]) for path in files] or here(home, formats)
    table = own_table()
    seen: set[tuple[object, ...]] = set()
    with progress("counting", len(found)) as done:
        for each, glance in glances(found, look):
            done(1)
            if isinstance(glance, str):
                complain(glance)
                continue
            for answer in glance.answers:
                copy = (each.format, answer.id, answer.created_at)
                if copy not in seen and _is_within(answer.created_at, since, until):
                    seen.add(copy)
                    yield _message(answer, f"{each.format}:{glance.id}", table)


def _message(answer: Answer, session: str, table: PriceTable) -> Message:
    usage = answer.usage.replace(cost_usd=cost_of_answer(answer, table))
    metadata = MessageMetadata(model=answer.model, usage=usage)
    return Message(
        Role.ASSISTANT, metadata=metadata, session_id=session, created_at=answer.created_at
    )


def _is_within(time: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    """One without a time is in none but the whole."""
    if time is None:
        return since is None and until is None
    return (since is None or time >= since) and (until is None or time < until)
