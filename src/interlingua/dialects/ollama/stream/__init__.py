"""Streams of the chat: one JSON object a line."""

from interlingua.dialects.ollama.stream.reader import StreamReader as StreamReader
from interlingua.dialects.ollama.stream.writer import StreamWriter as StreamWriter
