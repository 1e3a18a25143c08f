"""Streams of OpenRouter: those of Chat Completions, with tables of its own."""

from __future__ import annotations

from interlingua.dialects.openai_chat import stream as chat
from interlingua.dialects.openrouter.tables import ANSWERED


class StreamReader(chat.StreamReader):
    """Frames in, events out."""

    tables = ANSWERED


class StreamWriter(chat.StreamWriter):
    """Events in, frames out."""

    tables, name = ANSWERED, ANSWERED.name
