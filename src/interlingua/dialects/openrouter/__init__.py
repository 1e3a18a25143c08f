"""OpenRouter's chat: Chat Completions with reasoning details, cache marks and server tools."""

from interlingua.dialects.openrouter.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__, room="codec")
