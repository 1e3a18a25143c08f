"""Google Gemini's `generateContent`."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.gemini.request import read_request, write_request
from interlingua.dialects.gemini.response import read_response, write_response
from interlingua.dialects.gemini.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(
    NAME,
    TITLE,
    TRAITS,
    request=(read_request, write_request),
    response=(read_response, write_response),
)
