"""UI messages of Vercel's AI SDK: a JSON list of messages made of parts, and the stream of chunks
that an answer arrives in (UI message stream, version 1)."""

from __future__ import annotations

from interlingua.transcripts.format import Format
from interlingua.transcripts.lines import stream_variant
from interlingua.transcripts.ui_message.read import detect_file, read_file
from interlingua.transcripts.ui_message.write import write_file


class UiMessage(Format):
    name = "ui-message"
    title = "AI SDK UI messages"
    tested = "npm ai 7.0.169, 2026-11-17"
    suffix = ".json"
    unsupported_fields = ("tools",)

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    variant = staticmethod(stream_variant)


FORMATS = (UiMessage(),)
