"""Codex: rollouts as JSON Lines of Responses items; a file may go on from another one."""

from __future__ import annotations

from interlingua.transcripts.codex.find import find, place, resume, said
from interlingua.transcripts.codex.glance import glance
from interlingua.transcripts.codex.read import read, signs
from interlingua.transcripts.codex.write import VERSION, more, patch, write
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="codex",
    title="Codex",
    seen="0.166.0, 2026-11-17",
    signs=signs,
    read=read,
    write=write,
    unsaid=("title", "tools"),
    patch=patch,
    more=more,
    find=find,
    place=place,
    resume=resume,
    file_version=VERSION,
    newest=VERSION,
    said=said,
    glance=glance,
)
