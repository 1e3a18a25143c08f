"""OpenRouter's chat: Chat Completions with reasoning details, cache marks and server tools."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.openrouter.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
