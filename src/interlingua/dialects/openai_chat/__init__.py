"""OpenAI's Chat Completions, and the many services that speak it."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.openai_chat.request import read_request, write_request
from interlingua.dialects.openai_chat.response import read_response, write_response
from interlingua.dialects.openai_chat.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(
    NAME,
    TITLE,
    TRAITS,
    request=(read_request, write_request),
    response=(read_response, write_response),
)
