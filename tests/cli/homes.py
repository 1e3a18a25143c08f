"""A home folder with made-up sessions of agents."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from interlingua.model.message import Message
from interlingua.transcripts import Branch, Transcript
from interlingua.transcripts.sessions import carry_out, plan
from tests.transcripts.made import session

FLOUR = "Which flour is best for rye bread?"


def settled(transcript: Transcript, format: str, home: Path) -> Path:
    """The file of a session that was put where the agent looks for it."""
    made = plan(transcript, format, home)
    carry_out(made)
    return made.path


def other() -> Transcript:
    """A later session, with one question."""
    first = session()
    answer = first.messages[-1].replace(content=Message.assistant("Wholemeal.").content)
    later = timedelta(days=1)
    messages = tuple(
        each.replace(created_at=(first.created_at or later) + later)  # type: ignore[operator]
        for each in (Message.user(FLOUR), answer)
    )
    return first.replace(
        messages=messages,
        branches=(Branch(None, messages, True),),
        id="9b4d2f10-5b7e-4c1d-9a3f-0c9e5d1b2a61",
        folder="/home/user/mill",
        created_at=messages[0].created_at,
        updated_at=messages[1].created_at,
    )


def everything(home: Path) -> set[tuple[str, bytes]]:
    """All files under a folder with what is in them."""
    return {(str(path), path.read_bytes()) for path in home.rglob("*") if path.is_file()}
