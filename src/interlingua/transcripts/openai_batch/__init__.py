"""OpenAI's batches: a line is a request, or what came back for one."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.openai_batch.read import read, read_all, signs
from interlingua.transcripts.openai_batch.write import write

FORMAT = Format(
    name="openai-batch",
    title="OpenAI batch",
    seen="the public types, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("title", "folder"),
    rows=True,
)
