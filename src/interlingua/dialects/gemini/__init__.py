"""Google Gemini's `generateContent`."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.gemini.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
