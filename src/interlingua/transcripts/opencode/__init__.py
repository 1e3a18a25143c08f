"""OpenCode: sessions in a database, exported as one JSON; call and result are one part."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.opencode.database import find, read_all
from interlingua.transcripts.opencode.read import read, signs
from interlingua.transcripts.opencode.write import place, resume, write

FORMAT = Format(
    name="opencode",
    title="OpenCode",
    seen="1.18.33, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    find=find,
    place=place,
    resume=resume,
)
