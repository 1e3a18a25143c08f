"""Reading a stream of OpenRouter: one of Chat Completions, with tables of its own."""

from __future__ import annotations

from interlingua.dialects.openai_chat import stream_reader
from interlingua.dialects.openrouter.tables import ANSWERED


class StreamReader(stream_reader.StreamReader):
    """One stream of OpenRouter's chat."""

    tables = ANSWERED
