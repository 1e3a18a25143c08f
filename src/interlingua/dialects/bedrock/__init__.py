"""Amazon Bedrock Converse: one request shape for all models of the service."""

from interlingua.dialects.bedrock.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
