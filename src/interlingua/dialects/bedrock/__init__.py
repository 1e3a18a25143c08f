"""Amazon Bedrock Converse: one request shape for all models of the service."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.bedrock.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
