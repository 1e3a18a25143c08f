"""Claude Code: a file of JSON Lines a session, a tree by `parentUuid`, helpers in files beside."""

from __future__ import annotations

from interlingua.transcripts.claude_code.find import find, place, resume, said
from interlingua.transcripts.claude_code.glance import glance
from interlingua.transcripts.claude_code.read import read, signs
from interlingua.transcripts.claude_code.write import VERSION, more, patch, write
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="claude-code",
    title="Claude Code",
    seen="2.1.325, 2026-11-17",
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
