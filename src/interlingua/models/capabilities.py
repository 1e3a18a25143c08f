"""What each model can do, as data: a provider's usual answer, and where single models differ.

What counts is what can be had through us: a capability that the dialect in use does not show is
false, whatever the model could do elsewhere.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import msgspec

from interlingua.model.base import Value
from interlingua.models.names import model_name, spellings, unknown


class Capabilities(Value, frozen=True):
    """Thirteen answers. None as a limit is unknown. A stream with calls is supported where calls
    arrive while it runs, even if their arguments come in one piece."""

    supports_thinking: bool
    supports_images: bool
    supports_tools: bool
    supports_system_prompt: bool
    supports_structured_output: bool
    supports_streaming: bool
    supports_streaming_tool_calls: bool
    supports_parallel_tool_calls: bool
    supports_prompt_caching: bool
    supports_system_messages_in_list: bool
    """False: instructions are hoisted into a field of their own."""
    max_context_tokens: int | None
    """Prompt and answer together."""
    max_output_tokens: int | None
    accepted_image_media_types: tuple[str, ...]

    def accepts_image(self, media_type: str | None) -> bool:
        """Whether an image of this type can be sent; an unnamed type is given the benefit."""
        if not self.supports_images:
            return False
        return media_type is None or media_type.lower() in self.accepted_image_media_types


AdapterCapabilities = Capabilities
_FIELDS = Capabilities.__struct_fields__


class _Data(msgspec.Struct, frozen=True):
    providers: dict[str, dict[str, Any]]
    shown: dict[str, dict[str, dict[str, bool]]]
    """What a provider shows of its models in one dialect and not in another."""
    models: dict[str, dict[str, Any]]


def capabilities(model: str, dialect: str | None = None) -> Capabilities:
    """What `<provider>:<name>` can do when spoken to in a dialect, or in the provider's usual one.

    A model that we do not know is an `UnknownModelError`; `provider_capabilities` has the least
    that can be expected of it.
    """
    data = _load()
    id = find(model)
    provider = model_name(id).provider
    return _record(provider, data.models[id], dialect)


def provider_capabilities(provider: str, dialect: str | None = None) -> Capabilities:
    """What may be expected of any model of a provider, for models that are not in our list."""
    if provider not in _load().providers:
        raise unknown(f"{provider}:", "the capability list", providers())
    return _record(provider, {}, dialect)


def find(model: str) -> str:
    """The id under which the list has a model."""
    known = _ids()
    for spelling in spellings(model):
        if spelling in known:
            return known[spelling]
    raise unknown(model, "the capability list", known)


def known_models() -> list[str]:
    """Every model with capabilities, which are those of the newest price table."""
    return list(_load().models)


def providers() -> list[str]:
    return list(_load().providers)


def usual_dialect(model: str) -> str:
    """The dialect in which a model is spoken to where nobody says another."""
    data = _load()
    provider = model_name(model).provider
    if provider not in data.providers:
        raise unknown(model, "the list of providers", data.providers)
    own: dict[str, Any] = next((data.models[s] for s in spellings(model) if s in data.models), {})
    return str(own.get("dialect", data.providers[provider]["dialect"]))


def _record(provider: str, own: dict[str, Any], dialect: str | None) -> Capabilities:
    data = _load()
    said = {**data.providers[provider], **own}
    dialect = dialect or said["dialect"]
    for name, shown in data.shown.get(provider, {}).get(dialect, {}).items():
        said[name] = said[name] and shown
    if not said["supports_images"]:
        said["accepted_image_media_types"] = ()
    said["accepted_image_media_types"] = tuple(said["accepted_image_media_types"])
    return Capabilities(**{name: said[name] for name in _FIELDS})


@cache
def _load() -> _Data:
    file = resources.files(__package__).joinpath("data", "capabilities.json")
    return msgspec.json.decode(file.read_bytes(), type=_Data)


@cache
def _ids() -> dict[str, str]:
    """Every name of every model, those that only the price table knows included."""
    from interlingua.prices.table import bundled

    ids = {}
    for id, entry in bundled().models.items():
        provider = model_name(id).provider
        ids.update({f"{provider}:{name}": id for name in entry.also})
    ids.update({id: id for id in _load().models})
    return ids
