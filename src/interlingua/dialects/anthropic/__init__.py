"""The Anthropic Messages API, also as Bedrock and Vertex host it."""

from interlingua.dialects.anthropic.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
