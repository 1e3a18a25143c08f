"""OpenAI's Chat Completions, and the many services that speak it."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.openai_chat.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
