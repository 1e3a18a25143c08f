"""pi: a file of JSON Lines a session, a tree by `parentId`; each answer says which API made it."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.pi.find import find, place, resume, said
from interlingua.transcripts.pi.read import read, signs
from interlingua.transcripts.pi.tables import VERSION
from interlingua.transcripts.pi.write import more, patch, write

FORMAT = Format(
    name="pi",
    title="pi",
    seen="0.87.1 (file version 3), 2026-11-17",
    signs=signs,
    read=read,
    write=write,
    unsaid=("title", "tools"),
    patch=patch,
    more=more,
    find=find,
    place=place,
    resume=resume,
    file_version=str(VERSION),
    newest="0.87.1",
    said=said,
)
