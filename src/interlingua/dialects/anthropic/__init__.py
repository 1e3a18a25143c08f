"""The Anthropic Messages API, also as Bedrock and Vertex host it."""

from interlingua.dialects.anthropic.request import read_request, write_request
from interlingua.dialects.anthropic.response import read_response, write_response
from interlingua.dialects.anthropic.stream_reader import StreamReader
from interlingua.dialects.anthropic.stream_writer import StreamWriter
from interlingua.dialects.anthropic.tables import NAME, TITLE, TRAITS
from interlingua.dialects.base import Dialect

DIALECT = Dialect(
    NAME,
    TITLE,
    TRAITS,
    request=(read_request, write_request),
    response=(read_response, write_response),
    stream=(StreamReader, StreamWriter),
)
