"""What models refuse, as a second reading of the rules over the wire.

Written from the table of what each family takes, apart from `interlingua.profiles` and
`interlingua.adapt.fit`, and sharing no code with them: what is wrong there is not wrong here for
the same reason. `refusals` is the way in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.laws.fits import claude, gemini, hosts, openai
from tests.laws.fits.names import Model, model_of
from tests.laws.fits.refusal import Refusal

__all__ = ["Model", "Refusal", "model_of", "refusals"]


def refusals(provider: str, dialect: str, name: str, wire: Any) -> list[Refusal]:
    """Why this model, asked there in this way, would answer with a 400."""
    return list(_found(provider, dialect, model_of(name), wire))


def _found(provider: str, dialect: str, model: Model, wire: Any) -> Iterator[Refusal]:
    if dialect == "anthropic" and model.family == "claude":
        yield from claude.messages(model, wire)
    elif dialect == "bedrock":
        yield from hosts.bedrock(model, wire)
        if model.family == "claude":
            yield from claude.converse(model, wire)
    elif dialect == "gemini" and model.family == "gemini":
        yield from gemini.contents(model, wire, is_developer=provider == "gemini")
    elif dialect == "gemini" and model.family == "gemma":
        yield from gemini.gemma(model, wire)
    elif dialect == "openai-responses" and provider == "xai":
        yield from hosts.grok_responses(model, wire)
    elif dialect == "openai-responses" and provider in ("openai", "azure"):
        yield from openai.responses(model, wire)
    elif dialect == "openai-chat":
        if provider in ("openai", "azure"):
            yield from openai.chat(model, wire)
        elif provider == "doubleword":
            yield from hosts.heated(model, wire)
        elif provider in hosts.CHECKS:
            yield from hosts.CHECKS[provider](model, wire)
