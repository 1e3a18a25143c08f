"""Capabilities of models: thirteen answers, from the same rules that requests are written by.

A list has what is known of single models: a provider's usual answer, and where a model differs. It
is the first of the rules that a profile is folded from (`known_rule`), and the fold decides, so
that choosing a model and writing to it cannot disagree. What counts is what can be had through us:
a capability that the dialect in use does not show is false, whatever the model could do elsewhere.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.model.base import Value
from interlingua.profiles.names import KnownNames, model_name, resolved, unknown
from interlingua.profiles.reading import data_file

if TYPE_CHECKING:
    from interlingua.profiles.profile import Profile, Rule


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
        """Whether an image of this type can be sent; an unnamed type is assumed to be accepted."""
        if not self.supports_images:
            return False
        return media_type is None or media_type.lower() in self.accepted_image_media_types


class ExpectedCapabilities(Capabilities, frozen=True):
    """Capabilities of a model for which it is not declared whether it accepts images. Requests with
    images are tried; a conversation that holds some is not moved to it."""


AdapterCapabilities = Capabilities
_FIELDS = Capabilities.__struct_fields__


class _Data(msgspec.Struct, frozen=True):
    providers: dict[str, dict[str, Any]]
    shown: dict[str, dict[str, dict[str, bool]]]
    """Capabilities that a provider offers in one dialect and not in another."""
    models: dict[str, dict[str, Any]]
    read: str = "2026-11-16"
    """When its sources were read."""


_HOPED: dict[str, Any] = {
    "dialect": "openai-chat",
    "supports_thinking": False,
    "supports_system_prompt": True,
    "supports_structured_output": True,
    "supports_streaming": True,
    "supports_prompt_caching": False,
    "supports_system_messages_in_list": True,
    "max_context_tokens": None,
    "max_output_tokens": None,
    "accepted_image_media_types": ("image/png", "image/jpeg", "image/webp", "image/gif"),
}
"""Defaults for a model known only to its user, at a known provider."""
_HOPED_OF_ANY: dict[str, Any] = {
    "supports_images": True,
    "supports_tools": True,
    "supports_streaming_tool_calls": True,
    "supports_parallel_tool_calls": True,
    "max_context_tokens": None,
}
"""Defaults for models that are not listed."""


_TEXT_BESIDE_IMAGES = frozenset({"ollama"})
"""Providers that send a model without vision only the text beside an image."""


def capabilities(
    model: str, dialect: str | None = None, profile: Profile | None = None
) -> Capabilities:
    """The capabilities of a model, by name or `<provider>:<name>`, in a dialect, by default the
    provider's.

    An unknown model is an `UnknownModelError`; `expected_capabilities` has what may be expected of
    it. `profile` defaults to that of the package's own rules."""
    model = resolved(model)
    return _record(model, _entry(find(model)), dialect, profile)


def expected_capabilities(
    model: str, dialect: str | None = None, profile: Profile | None = None
) -> Capabilities:
    """Like `capabilities`, for any model. An unlisted model is assumed to be capable unless a rule
    denies it: its provider will reject what it does not accept."""
    id = _listed(model)  # not `find`, whose error looks for names that come near
    if id is not None:
        return _record(model, _entry(id), dialect, profile)
    provider = _load().providers.get(model_name(model).provider, {})
    return _record(model, {**_HOPED, **provider, **_HOPED_OF_ANY}, dialect, profile, expected=True)


def provider_capabilities(provider: str, dialect: str | None = None) -> Capabilities:
    """The least that may be expected of any model of a provider."""
    data = _load()
    if provider not in data.providers:
        raise unknown(f"{provider}:", "the capability list", providers())
    return _made(_shown(provider, dict(data.providers[provider]), dialect))


def find(model: str) -> str:
    """The id under which the list has a model."""
    id = _listed(model)
    if id is None:
        from interlingua.profiles.resolving import aliases

        raise unknown(model, "the capability list", [*aliases(), *_known()])
    return id


def _entry(id: str) -> dict[str, Any]:
    """The list's entry for a model, over the defaults of its provider."""
    data = _load()
    return {**data.providers[model_name(id).provider], **data.models[id]}


def _listed(model: str) -> str | None:
    return model if model in _load().models else _known().find(model)


def known_models() -> list[str]:
    """Every model with capabilities, which are those of the newest price table."""
    return list(_load().models)


def embedding_models() -> list[str]:
    """Every model that makes embeddings and has a price."""
    from interlingua.costs.table import bundled

    return list(bundled().embeddings)


def known_ids() -> list[str]:
    """Models of both kinds, under every name that a provider has for them."""
    return list(dict.fromkeys([*_load().models, *_known(), *embedding_models()]))


def providers() -> list[str]:
    return list(_load().providers)


def usual_dialect(model: str) -> str:
    """The default dialect for a model."""
    data = _load()
    provider = model_name(model).provider
    if provider not in data.providers:
        raise unknown(model, "the list of providers", data.providers)
    own = data.models.get(_listed(model) or "", {})
    return _default_dialect(model, {**data.providers[provider], **own})


def _default_dialect(model: str, listed: dict[str, Any]) -> str:
    from interlingua.profiles.profile import profile_of

    provider, name = model_name(model)
    return profile_of(name, provider).speaks.dialect or str(listed["dialect"])


def known_rule(model: str, provider: str | None) -> Rule | None:
    """The list's entry for a model, as the first rule of its profile; `model` is its name."""
    from interlingua.profiles.fields import (
        CacheRules,
        Limits,
        MediaRules,
        ReasoningRules,
        ToolRules,
    )
    from interlingua.profiles.profile import Rule

    id = _listed(f"{provider}:{model}") if provider else None
    if id is None:
        return None
    data = _load()
    listed = _entry(id)
    images = listed["supports_images"]
    reasoning = None
    if provider in _TEXT_BESIDE_IMAGES:
        # A model without vision is given the text, without an error (recorded, 2026-11). One that
        # does not think refuses a request for thinking: "does not support thinking" (Ollama 0.12).
        images = images or None
        if not listed["supports_thinking"]:
            reasoning = ReasoningRules(carrier="none", default="off")
    types = tuple(listed["accepted_image_media_types"]) if images else None
    return Rule(
        id="known-models",
        sources=("the list of capabilities",),
        since=data.read,
        media=MediaRules(image=images, image_types=types),
        tools=ToolRules(
            calls=listed["supports_tools"], parallel=listed["supports_parallel_tool_calls"]
        ),
        reasoning=reasoning,
        cache=CacheRules(prompts=listed["supports_prompt_caching"]),
        limits=Limits(
            context=data.models[id].get("max_context_tokens"), output=listed["max_output_tokens"]
        ),
    )


def _record(
    model: str,
    listed: dict[str, Any],
    dialect: str | None,
    profile: Profile | None,
    expected: bool = False,
) -> Capabilities:
    provider, name = model_name(model)
    dialect = dialect or _default_dialect(model, listed)
    if profile is None:
        from interlingua.profiles.profile import profile_of

        profile = profile_of(name, provider, dialect)
    thinks = profile.reasoning.carrier
    if thinks is not None and thinks != "none":
        listed["supports_thinking"] = True
    expected = expected and not _declares_images(profile)
    made_of = ExpectedCapabilities if expected else Capabilities
    return _made({**_shown(provider, listed, dialect), **_by_rule(profile, dialect)}, made_of)


def _declares_images(profile: Profile) -> bool:
    """Whether a rule about images is the user's own, or names the model: a bundled rule for a whole
    family does not declare them for a name that the family never had."""
    rule = profile.rule("media.image")
    return rule is not None and (rule.models is not None or id(rule) not in _bundled_rules())


@cache
def _bundled_rules() -> frozenset[int]:
    from interlingua.profiles.profile import bundled

    return frozenset([id(rule) for rule in bundled().rules])


def _by_rule(profile: Profile, dialect: str) -> dict[str, Any]:
    """The answers that rules give."""
    answers = {
        "supports_images": profile.media.image,
        "accepted_image_media_types": profile.media.image_types,
        "supports_tools": _calls(profile, dialect),
        "supports_parallel_tool_calls": profile.tools.parallel,
        "supports_structured_output": True if profile.output.schema == "native" else None,
        "supports_prompt_caching": profile.cache.prompts,
        "supports_system_messages_in_list": _lists_instructions(profile),
        "supports_thinking": _thinks(profile),
        "max_context_tokens": profile.limits.context,
        "max_output_tokens": profile.limits.output,
    }
    return {name: answer for name, answer in answers.items() if answer is not None}


def _lists_instructions(profile: Profile) -> bool | None:
    """Whether instructions may be messages of the list, be it only later ones."""
    listed = profile.instructions.listed
    return True if listed is None and profile.instructions.mid in ("any", "after-user") else listed


def _thinks(profile: Profile) -> bool | None:
    """False for a model that neither thinks automatically nor on request."""
    reasoning = profile.reasoning
    return False if reasoning.carrier == "none" and reasoning.default == "off" else None


def _calls(profile: Profile, dialect: str) -> bool | None:
    """Whether it calls tools, in another dialect where it has to be."""
    if profile.tools.calls is False and profile.speaks.tools_dialect not in (None, dialect):
        return True
    return profile.tools.calls


def _shown(provider: str, listed: dict[str, Any], dialect: str | None) -> dict[str, Any]:
    """Without the capabilities that a provider does not offer in this dialect."""
    dialect = dialect or listed["dialect"]
    for name, shown in _load().shown.get(provider, {}).get(dialect, {}).items():
        listed[name] = listed[name] and shown
    return listed


def _made(listed: dict[str, Any], cls: type[Capabilities] = Capabilities) -> Capabilities:
    """A record whose answers go together."""
    if not listed["supports_images"]:
        listed["accepted_image_media_types"] = ()
    if not listed["supports_tools"]:
        listed["supports_parallel_tool_calls"] = listed["supports_streaming_tool_calls"] = False
    listed["accepted_image_media_types"] = tuple(listed["accepted_image_media_types"])
    return cls(**{name: listed[name] for name in _FIELDS})


@cache
def _load() -> _Data:
    return msgspec.json.decode(data_file("capabilities.json"), type=_Data)


@cache
def _known() -> KnownNames:
    """All names of all models, including those that only the price table has."""
    from interlingua.costs.table import bundled

    ids = {}
    for id, entry in bundled().models.items():
        provider = model_name(id).provider
        ids.update({f"{provider}:{name}": id for name in entry.also})
    ids.update({id: id for id in _load().models})
    return KnownNames(ids)
