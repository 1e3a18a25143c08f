"""Streams of Converse: frames of AWS's event stream, each with a name and one JSON object."""

from interlingua.dialects.bedrock.stream.reader import StreamReader as StreamReader
from interlingua.dialects.bedrock.stream.writer import StreamWriter as StreamWriter
