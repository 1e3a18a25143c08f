"""Streams: frames in, events out, and back."""

from interlingua.dialects.anthropic.stream.reader import StreamReader as StreamReader
from interlingua.dialects.anthropic.stream.writer import StreamWriter as StreamWriter
