"""Google Gemini's `generateContent`."""

from interlingua.dialects.gemini.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
