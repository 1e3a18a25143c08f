"""Exports of claude.ai: a list of conversations."""

from __future__ import annotations

from interlingua.transcripts.claude_ai.read import read, read_all, signs
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="claude-ai",
    title="claude.ai export",
    seen="made-up exports, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
)
