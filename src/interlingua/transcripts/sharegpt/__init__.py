"""ShareGPT: a row is a list of turns, each `from` somebody with a text as its `value`."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.sharegpt.read import read, read_all, signs
from interlingua.transcripts.sharegpt.write import write

FORMAT = Format(
    name="sharegpt",
    title="ShareGPT",
    seen="files of LLaMA-Factory, 2026-11-16",
    signs=signs,
    read=read,
    read_all=read_all,
    write=write,
    unsaid=("id", "title", "folder"),
    rows=True,
)
