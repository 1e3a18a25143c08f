"""Transcripts to files for fine-tuning. The API refuses keys that it does not know, so nothing of
ours is kept beside what it shows."""

from __future__ import annotations

from interlingua.losses import Report
from interlingua.transcripts.bodies import write_body
from interlingua.transcripts.format import Draft
from interlingua.transcripts.openai_finetune.read import DIALECT, KEYS, NAME
from interlingua.transcripts.rows import draft
from interlingua.transcripts.transcript import Transcript


def write(transcript: Transcript, name: str) -> Draft:
    """A file of one line."""
    report = Report(NAME)
    body = write_body(transcript, DIALECT, report, NAME)
    row = {key: value for key, value in body.items() if key in KEYS}
    if transcript.format == NAME:
        row |= transcript.details.get("row", {})
    elif "tools" in row:
        row["parallel_tool_calls"] = True  # the default, said aloud: only this format has it
    return draft(name, row, transcript, report)
