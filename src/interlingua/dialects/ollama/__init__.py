"""Ollama's own chat endpoint, for models on the user's own machine."""

from interlingua.dialects.ollama.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
