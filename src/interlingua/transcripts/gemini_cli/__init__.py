"""Gemini CLI: a log of records, of which the last with an id counts; helpers in files beside."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.gemini_cli.find import beside, find, place, resume, said
from interlingua.transcripts.gemini_cli.read import read, signs
from interlingua.transcripts.gemini_cli.write import more, write

FORMAT = Format(
    name="gemini-cli",
    title="Gemini CLI",
    seen="0.61.0, 2026-11-17",
    signs=signs,
    read=read,
    write=write,
    unsaid=("title", "folder", "tools"),
    more=more,
    find=find,
    place=place,
    resume=resume,
    beside=beside,
    newest="0.61.0",
    said=said,
)
