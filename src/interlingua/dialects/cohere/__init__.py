"""Cohere's v2 chat."""

from interlingua.dialects.cohere.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
