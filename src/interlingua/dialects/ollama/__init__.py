"""Ollama's own chat endpoint, for models that run on one's own machine."""

from __future__ import annotations

from interlingua.dialects.base import Dialect
from interlingua.dialects.ollama.request import read_request, write_request
from interlingua.dialects.ollama.response import read_response, write_response
from interlingua.dialects.ollama.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(
    NAME,
    TITLE,
    TRAITS,
    request=(read_request, write_request),
    response=(read_response, write_response),
)
