"""Hugging Face's conversational datasets: a row is a list of chat messages whose calls have objects
as arguments."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.hf_messages.read import read, read_all, signs
from interlingua.transcripts.hf_messages.write import write

FORMAT = Format(
    name="hf-messages",
    title="Hugging Face messages",
    seen="files of LLaMA-Factory, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("id", "title", "folder"),
    rows=True,
)
