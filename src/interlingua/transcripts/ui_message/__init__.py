"""UI messages of Vercel's AI SDK: a JSON list of messages made of parts, and the stream of chunks
that an answer arrives in (UI message stream, version 1)."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.frames import form
from interlingua.transcripts.ui_message.read import read, signs
from interlingua.transcripts.ui_message.write import write

FORMAT = Format(
    name="ui-message",
    title="AI SDK UI messages",
    seen="npm ai 7.0.169, 2026-11-17",
    signs=signs,
    read=read,
    write=write,
    unsaid=("tools",),
    suffix=".json",
    form=form,
)
