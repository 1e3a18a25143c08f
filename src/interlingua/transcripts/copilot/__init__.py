"""Copilot CLI: a folder a session, with its events as JSON Lines; helpers speak between them."""

from __future__ import annotations

from interlingua.transcripts.copilot.find import find, place, resume, said
from interlingua.transcripts.copilot.read import read, signs
from interlingua.transcripts.copilot.write import more, patch, write
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="copilot",
    title="Copilot CLI",
    seen="1.0.102, 2026-11-17",
    signs=signs,
    read=read,
    write=write,
    unsaid=("tools",),
    patch=patch,
    more=more,
    find=find,
    place=place,
    resume=resume,
    newest="1.0.102",
    said=said,
)
