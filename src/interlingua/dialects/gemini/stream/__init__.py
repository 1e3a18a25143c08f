"""Streams: frames in, events out, and back. They come as server-sent events or as one array of
JSON."""

from interlingua.dialects.gemini.stream.reader import StreamReader as StreamReader
from interlingua.dialects.gemini.stream.writer import StreamWriter as StreamWriter
from interlingua.streams import jsonarray
from interlingua.streams.framing import EitherDecoder


def make_decoder() -> EitherDecoder:
    return EitherDecoder(b"[", jsonarray.Decoder)
