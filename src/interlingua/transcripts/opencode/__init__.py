"""OpenCode: sessions in a database, exported as one JSON; call and result are one part."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.opencode.database import read_all, read_session
from interlingua.transcripts.opencode.find import bring, find, place, resume
from interlingua.transcripts.opencode.read import read, signs
from interlingua.transcripts.opencode.write import VERSION, write

FORMAT = Format(
    name="opencode",
    title="OpenCode",
    seen="1.18.33, 2026-11-17",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("tools",),
    suffix=".json",
    find=find,
    place=place,
    resume=resume,
    bring=bring,
    file_version=VERSION,
    newest=VERSION,
    session=read_session,
)
