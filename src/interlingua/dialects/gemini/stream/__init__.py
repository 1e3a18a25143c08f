"""Streams: frames in, events out, and back."""

from interlingua.dialects.gemini.stream.reader import StreamReader as StreamReader
from interlingua.dialects.gemini.stream.writer import StreamWriter as StreamWriter
