"""Streams: frames in, events out, and back."""

from interlingua.dialects.openai_chat.stream.reader import StreamReader as StreamReader
from interlingua.dialects.openai_chat.stream.writer import StreamWriter as StreamWriter
