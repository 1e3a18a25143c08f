"""Ollama's own chat endpoint, for models that run on one's own machine."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.ollama.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
