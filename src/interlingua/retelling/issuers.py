"""Who can verify a signature, and read what is sealed."""

from __future__ import annotations

from interlingua.dialects.base import Dialect
from interlingua.model.blocks import Block
from interlingua.model.message import Message
from interlingua.model.metadata import UNKNOWN

UNVERIFIED = "only its issuer can verify it"
FAMILIES: dict[str, str | None] = {
    "anthropic": "anthropic",
    "bedrock": "anthropic",
    "gemini": "google",
    "openai-responses": "openai",
    "openrouter": "openrouter",
    "openai-chat": None,
    "ollama": None,
}
"""Dialect to signing family: who can read the signatures that came through it."""


def can_verify(
    to: Dialect, model: str | None, message: Message, protocol: str | None, strict_issuer: bool
) -> bool:
    """Whether `to` and its model are those that signed, as far as they are known."""
    family = to.traits.family
    if protocol is None:
        return family is not None
    if family is None or family != FAMILIES.get(protocol, protocol):
        return False
    if strict_issuer and protocol != to.name:
        return False
    metadata = message.metadata
    made_by = bare(metadata.model or metadata.response_model)
    return made_by is None or model is None or made_by == bare(model)


def issuer_in_wire(block: Block) -> str | None:
    """The dialect that a block's own wire names as the issuer (OpenRouter's `format`, `extra` of
    the flat view)."""
    raw = getattr(block, "raw", None)
    if raw is None:
        return None
    for own in raw.values():
        form = own.get("$form") if isinstance(own, dict) else None
        if isinstance(form, dict) and isinstance(form.get("issuer"), str):
            return str(form["issuer"])
    if "openrouter" not in raw:
        return None
    word = raw["openrouter"].get("format")
    return OPENROUTER_FORMATS.get(word) if isinstance(word, str) else None


OPENROUTER_FORMATS: dict[str, str] = {
    "anthropic-claude-v1": "anthropic",
    "google-gemini-v1": "gemini",
    "openai-responses-v1": "openai-responses",
    "azure-openai-responses-v1": "openai-responses",
}


def bare(model: str | None) -> str | None:
    """A model's name without its provider; None where it is not known."""
    name = None if model is None else model.partition(":")[2] or model
    return None if name == UNKNOWN else name
