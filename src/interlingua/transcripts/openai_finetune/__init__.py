"""OpenAI's files for fine-tuning: a line is a conversation as a chat request has it."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.openai_finetune.read import read, read_all, signs
from interlingua.transcripts.openai_finetune.write import write

FORMAT = Format(
    name="openai-finetune",
    title="OpenAI fine-tuning",
    seen="the cookbook's files, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("id", "title", "folder"),
    rows=True,
)
