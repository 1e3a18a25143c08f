"""Streams: server-sent events that tell steps by their starts, pieces and ends."""

from interlingua.dialects.gemini_interactions.stream.reader import StreamReader as StreamReader
from interlingua.dialects.gemini_interactions.stream.writer import StreamWriter as StreamWriter
