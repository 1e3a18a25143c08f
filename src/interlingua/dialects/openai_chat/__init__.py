"""OpenAI's Chat Completions, and the many services with the same API."""

from interlingua.dialects.openai_chat.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
