"""The Responses API, as OpenAI, Azure, xAI, OpenRouter, DeepSeek and others speak it."""

from __future__ import annotations

from interlingua.dialects.base import Dialect
from interlingua.dialects.openai_responses.request import read_request, write_request
from interlingua.dialects.openai_responses.response import read_response, write_response
from interlingua.dialects.openai_responses.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(
    NAME,
    TITLE,
    TRAITS,
    request=(read_request, write_request),
    response=(read_response, write_response),
)
