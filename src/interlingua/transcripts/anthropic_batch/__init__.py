"""Anthropic's message batches: a line is a request, or its result."""

from __future__ import annotations

from interlingua.transcripts.anthropic_batch.read import read, read_all, signs
from interlingua.transcripts.anthropic_batch.write import write
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="anthropic-batch",
    title="Anthropic batch",
    seen="the public types, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("title", "folder"),
    rows=True,
)
