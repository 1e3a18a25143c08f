"""Google's Interactions API: a conversation as a list of steps."""

from interlingua.dialects.gemini_interactions.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
