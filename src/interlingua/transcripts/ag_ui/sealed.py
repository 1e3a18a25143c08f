"""Values that only their issuer can read. The protocol hands them on as they are; pydantic-ai puts
a JSON object in them that names the provider, and what we write has the same form."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from interlingua.transcripts.ag_ui.tables import FAILED, NAMES, PROVIDERS


class Sealed(NamedTuple):
    """A signature, the id of the item it belongs to, and whose they are."""

    signature: str
    id: str | None = None
    provider: str | None = None
    protocol: str | None = None


UNSIGNED = {"openai-responses": "openai-chat"}
"""What a value without a signature came by, where its provider has two dialects."""


def unsealed(value: Any) -> Sealed | None:
    """What is known of such a value; where no signature is named in it, all of it is one."""
    if not isinstance(value, str) or not value:
        return None
    inside = _object(value)
    signature, name = inside.get("signature"), inside.get("id")
    named = inside.get("provider_name")
    provider, protocol = (
        PROVIDERS.get(named, (named, None)) if isinstance(named, str) else (None,) * 2
    )
    signed = isinstance(signature, str) and bool(signature)
    if not signed and protocol in UNSIGNED:
        protocol = UNSIGNED[
            protocol
        ]  # it names the member that reasoning stood in, and signs nothing
    return Sealed(
        str(signature) if signed else value,
        name if isinstance(name, str) and signed else None,
        provider,
        protocol,
    )


def sealed(signature: str, name: str | None, provider: str | None) -> str:
    """The inverse of `unsealed`, spelled as pydantic-ai spells it."""
    if unsealed(signature) == Sealed(signature, None, provider, _protocol(signature)):
        return signature
    inside = {"id": name, "signature": signature}
    inside["provider_name"] = NAMES.get(provider or "", provider)
    return json.dumps({key: each for key, each in inside.items() if each is not None})


def _protocol(value: str) -> str | None:
    known = unsealed(value)
    return known.protocol if known is not None and _object(value) else None


def has_failed(value: Any) -> bool:
    """Whether an agent tells of a result that the tool failed."""
    told = _object(value).get("pydantic_ai") if isinstance(value, str) else None
    return isinstance(told, dict) and told.get("outcome") in FAILED


def _object(value: str) -> dict[str, Any]:
    if not value.startswith("{"):
        return {}
    try:
        inside = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return inside if isinstance(inside, dict) else {}
