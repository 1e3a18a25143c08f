"""Amazon Bedrock Converse: one request shape for all models of the service."""

from __future__ import annotations

from interlingua.dialects.base import Dialect
from interlingua.dialects.bedrock.request import read_request, write_request
from interlingua.dialects.bedrock.response import read_response, write_response
from interlingua.dialects.bedrock.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(
    NAME,
    TITLE,
    TRAITS,
    request=(read_request, write_request),
    response=(read_response, write_response),
)
