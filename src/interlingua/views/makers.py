"""Who produced an answer, in the words of other libraries and in ours.

A word stands for a provider and for the dialect whose signatures its answers carry. Reading the
first word of a pair back gives the same pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from interlingua.model.metadata import MessageMetadata


class Maker(NamedTuple):
    provider: str
    protocol: str


ANTHROPIC = Maker("anthropic", "anthropic")
OPENAI = Maker("openai", "openai-responses")
AZURE = Maker("azure", "openai-responses")
GEMINI = Maker("gemini", "gemini")
VERTEX = Maker("vertex", "gemini")
BEDROCK = Maker("bedrock", "bedrock")
OLLAMA = Maker("ollama", "ollama")
OPENROUTER = Maker("openrouter", "openrouter")
CHAT_HOSTS = {name: Maker(name, "openai-chat") for name in ("groq", "deepseek", "xai")}
MISTRAL = Maker("mistral", "openai-chat")


class Makers:
    """The words of one library; the first for a provider, or for a dialect, is the one written."""

    def __init__(self, words: Mapping[str, Maker]) -> None:
        self.words = dict(words)
        backwards = list(reversed(self.words.items()))
        self._providers = {maker.provider: word for word, maker in backwards}
        self._protocols = {maker.protocol: word for word, maker in backwards}
        if "openai" in self._providers:  # hosts that only speak like it come later
            self._protocols["openai-chat"] = self._providers["openai"]

    def read(self, word: str | None) -> MessageMetadata:
        """Provider and protocol; an unknown word is taken for a provider's name."""
        if not word:
            return MessageMetadata()
        maker = self.words.get(word)
        if maker is None:
            return MessageMetadata(provider=word)
        return MessageMetadata(provider=maker.provider, protocol=maker.protocol)

    def dialect(self, word: object) -> str | None:
        """Whose signatures they are."""
        maker = self.words.get(word) if isinstance(word, str) else None
        return maker.protocol if maker is not None else None

    def word(self, provider: str | None, protocol: str | None) -> str | None:
        """What the library calls them; a provider that it does not know keeps its name."""
        if provider is not None:
            return self._providers.get(provider, provider)
        return None if protocol is None else self._protocols.get(protocol)

    def of_issuer(self, issuer: str | None) -> str | None:
        """The word for a dialect or a provider that issued something."""
        if issuer is None:
            return None
        return self._protocols.get(issuer) or self._providers.get(issuer)


LANGCHAIN = Makers(
    {
        "anthropic": ANTHROPIC,
        "openai": OPENAI,
        "azure": AZURE,
        "google_genai": GEMINI,
        "google_vertexai": VERTEX,
        "bedrock_converse": BEDROCK,
        "bedrock": BEDROCK,
        "ollama": OLLAMA,
        "openrouter": OPENROUTER,
        "mistralai": MISTRAL,
        **CHAT_HOSTS,
    }
)
PYDANTIC_AI = Makers(
    {
        "anthropic": ANTHROPIC,
        "openai": OPENAI,
        "azure": AZURE,
        "google": GEMINI,
        "google-gla": GEMINI,
        "google-cloud": VERTEX,
        "google-vertex": VERTEX,
        "bedrock": BEDROCK,
        "ollama": OLLAMA,
        "openrouter": OPENROUTER,
        "mistral": MISTRAL,
        **CHAT_HOSTS,
    }
)
LLM = Makers(
    {
        "anthropic": ANTHROPIC,
        "openai": OPENAI,
        "gemini": GEMINI,
        "bedrock": BEDROCK,
        "openrouter": OPENROUTER,
    }
)
"""Keys of `provider_metadata`."""


def named(metadata: MessageMetadata, name: str | None) -> MessageMetadata:
    """With the model's name, both as it was asked for and as it answered."""
    if not name:
        return metadata
    model = f"{metadata.provider}:{name}" if metadata.provider else name
    return metadata.replace(model=model, response_model=name)


def name_of(metadata: MessageMetadata) -> str | None:
    """The model's bare name: the one that answered, else the one that was asked."""
    if metadata.response_model is not None:
        return metadata.response_model
    model = metadata.model
    return None if model is None else model.removeprefix(f"{metadata.provider}:")
