"""Exports of ChatGPT: a list of conversations, each a tree of nodes."""

from __future__ import annotations

from interlingua.transcripts.chatgpt.read import read, read_all, signs
from interlingua.transcripts.format import Format

FORMAT = Format(
    name="chatgpt",
    title="ChatGPT export",
    seen="exports of 2024, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
)
