"""ATIF, the Agent Trajectory Interchange Format: a JSON object of steps."""

from __future__ import annotations

from interlingua.transcripts.atif.read import read, read_all, signs
from interlingua.transcripts.atif.write import write
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="atif",
    title="ATIF",
    seen="ATIF-v1.7, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("title", "folder"),
    suffix=".json",
)
