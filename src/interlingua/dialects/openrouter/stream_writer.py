"""Writing a stream of OpenRouter: one of Chat Completions, with tables of its own."""

from __future__ import annotations

from interlingua.dialects.openai_chat import stream_writer
from interlingua.dialects.openrouter.tables import ANSWERED


class StreamWriter(stream_writer.StreamWriter):
    """One stream of OpenRouter's chat."""

    tables = ANSWERED
