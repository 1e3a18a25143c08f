"""The Responses API, as OpenAI, Azure, xAI, OpenRouter, DeepSeek and others have it."""

from interlingua.dialects.openai_responses.tables import NAME, TITLE, TRAITS
from interlingua.dialects.record import Dialect

DIALECT = Dialect(NAME, TITLE, TRAITS, __name__)
