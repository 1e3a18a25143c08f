"""The Responses API, as OpenAI, Azure, xAI, OpenRouter, DeepSeek and others speak it."""

from interlingua.dialects.base import Dialect
from interlingua.dialects.openai_responses.tables import NAME, TITLE, TRAITS

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
