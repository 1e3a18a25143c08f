"""Streams: frames in, events out, and back."""

from interlingua.dialects.openai_responses.stream.reader import StreamReader as StreamReader
from interlingua.dialects.openai_responses.stream.writer import StreamWriter as StreamWriter
