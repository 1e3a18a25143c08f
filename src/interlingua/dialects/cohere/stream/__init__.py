"""Streams: frames in, events out, and back."""

from interlingua.dialects.cohere.stream.reader import StreamReader as StreamReader
from interlingua.dialects.cohere.stream.writer import StreamWriter as StreamWriter
