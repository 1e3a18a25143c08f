"""The log of `llm`: a SQLite database of threads, each a chain of messages."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.llm.find import find
from interlingua.transcripts.llm.read import read, read_all, read_thread, signs

FORMAT = Format(
    name="llm",
    title="llm",
    seen="0.36, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    find=find,
    session=read_thread,
)
