"""OpenRouter's chat: Chat Completions with reasoning details, cache marks and server tools."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.openrouter.request import read_request, write_request
from interlingua.dialects.openrouter.response import read_response, write_response
from interlingua.dialects.openrouter.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(
    NAME,
    TITLE,
    TRAITS,
    request=(read_request, write_request),
    response=(read_response, write_response),
)
