"""The target of a request: a dialect, the rules of a model, and the provider.

Targets are made here and nowhere else: by name for conversions, from the lookup of models for
clients, sessions and the gateway."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import force_setattr

from interlingua.adapt.caching import SURELY_SHORT, USUAL_MINIMUM, Caching, require_caching
from interlingua.adapt.fit.fit import Quick, quick_of
from interlingua.adapt.history.retell import require_instructions
from interlingua.adapt.history.rewriter import history_concerns
from interlingua.dialects.record import Dialect, Hosts, HostVariant
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.base import unchecked
from interlingua.model.exchange import NO_OPTIONS, Options, Request
from interlingua.model.losses import Loss, loss_of
from interlingua.model.reasons import because
from interlingua.profiles.profile import Profile, bundled

if TYPE_CHECKING:
    from interlingua.profiles.capabilities import Capabilities
    from interlingua.providers.profiles import ModelLookup
    from interlingua.providers.provider import Paths, Provider

ProfileChoice = Profile | Literal[False] | None
"""The rules for adapting a request: a profile, those of its model (None), or none (False)."""
Instructions = Literal["place", "hoist"]
"""Whether instructions in mid-conversation stay in their place, or are moved to the front."""
_STREAM_ONLY = {stream: Options(stream=stream) for stream in (None, False, True)}


class WireTarget(msgspec.Struct, frozen=True, eq=False):
    """A dialect to write a request in, and the rules of its model where they are known."""

    dialect: Dialect
    profile: Profile | None = None
    """The rules of the model; None if the request is not adapted to any."""
    provider_key: str | None = None
    images: bool = True
    """Whether the model accepts images, if the profile does not specify it."""
    host: HostVariant | None = None
    """The host whose field names to use, if the dialect has hosts with their own."""
    hoist: bool = False
    """Whether to move instructions in mid-conversation to the front."""
    quick: Quick | None = None
    """The profile's demands on a plain request; derived from it."""
    accepts_images: bool = True
    """Whether the model accepts images, by its profile or by `images`; derived likewise."""
    remark: Loss | None = None
    """A note on the name of the model: another vendor's, an alias, or missing."""
    alias_of: str | None = None
    """The model that the request's own name for it, an alias, means."""
    concerns: int = 0
    """The facts of a request that its history may have to be rewritten for; derived likewise."""
    caching: Caching = "pass"
    """Whether cache breakpoints and keys are added to requests, or left out of them."""
    origin: Literal["marks", "key"] | None = None
    """Breakpoints and keys to add for the prompt cache; derived from `caching` and the profile."""
    least_letters: int | None = None
    """Letters of a prompt below which nothing is added for the cache; None: nothing ever is."""

    service: str | None = None
    """The host that sentences of the report name; derived from `host`."""

    def __post_init__(self) -> None:
        profile, service = self.profile, getattr(self.host, "name", None)
        force_setattr(self, "service", None if service == "openai" else service)
        quick = None if profile is None else quick_of(profile, self.dialect.name)
        force_setattr(self, "quick", quick)
        accepted = None if profile is None else profile.media.image
        images = self.images if accepted is None else accepted
        force_setattr(self, "accepts_images", images)
        fitted = profile is not None
        concerns = history_concerns(self.dialect, images, self.hoist, fitted)
        force_setattr(self, "concerns", concerns)
        is_auto = profile is not None and self.caching == "auto"
        least = (profile is not None and profile.limits.cache_min) or USUAL_MINIMUM
        letters = {"auto": SURELY_SHORT * least, "off": 0}.get(self.caching)
        no_origin = is_auto and profile.cache.auto is None  # type: ignore[union-attr]  # there is one
        if no_origin or (profile is None and letters):
            letters = None
        force_setattr(self, "least_letters", letters)
        force_setattr(self, "origin", profile.cache.auto if is_auto else None)  # type: ignore[union-attr]  # there is one


class Target(WireTarget, frozen=True, eq=False, kw_only=True):
    """One model at one provider, in one dialect."""

    model: str
    """`<provider>:<name>`."""
    name: str
    """The model's name on the wire."""
    provider: Provider
    capabilities: Capabilities
    dialect_is_default: bool = False
    """The dialect was not chosen explicitly: another may be used if a request needs it."""
    fixed: bool = False
    """The caller chose the profile, and it holds in any dialect."""
    binds_thinking: bool = False
    """Whether the model refuses thinking after a change of history, unless the request asks to drop
    it."""
    deployment: str = ""
    """The provider's key or address that is used, as in `provider`."""

    @property
    def label(self) -> str:
        """The model, and the deployment where there are several."""
        return f"{self.model}#{self.deployment}" if self.deployment else self.model

    @property
    def own_access(self) -> tuple[Any, ...]:
        """Identifies the key and address of this deployment, independent of its label."""
        provider = self.provider
        return (self.deployment, provider.auth, provider.base_url) if self.deployment else ()

    def deployed(self, deployment: str, provider: Provider) -> Target:
        """The same model at another key or address of its provider."""
        return msgspec.structs.replace(self, deployment=deployment, provider=provider)

    def with_caching(self, caching: Caching) -> Target:
        """The same in another mode of prompt caching."""
        if caching == self.caching:
            return self
        return msgspec.structs.replace(self, caching=require_caching(caching))

    def fitted_to(self, profile: Profile | Literal[False]) -> Target:
        """The same with another profile, or with none."""
        return msgspec.structs.replace(self, profile=profile or None, fixed=True)

    @property
    def paths(self) -> Paths | None:
        """The paths of the dialect at the provider; None if they are not configured."""
        return self.provider.dialects.get(self.dialect.name)

    def asking(self, request: Request, stream: bool | None) -> Request:
        """The request under the wire's name of the model, for an answer streamed or whole."""
        options = request.options
        if options.stream is not stream:
            plain = options is NO_OPTIONS
            options = (
                _STREAM_ONLY[stream] if plain else msgspec.structs.replace(options, stream=stream)
            )
        messages, tools = request.messages, request.tools
        return unchecked(
            Request, messages, self.name, tools, options, request.continues, request.raw
        )

    def addressed(self, wire: Any) -> Any:
        """The body for its address: without members that the address contains, with members that it
        requires. Neither is a loss."""
        paths = self.paths
        if paths is not None and (paths.body or not (paths.model_in_body and paths.stream_in_body)):
            wire = {**wire, **paths.body}
            if not paths.model_in_body:
                wire.pop("model", None)
            if not paths.stream_in_body:
                wire.pop("stream", None)
        return self.dialect.relax_binding(wire) if self.binds_thinking else wire

    def near(self) -> tuple[str, ...]:
        """Models of this provider with a similar name."""
        from interlingua.profiles.capabilities import known_models
        from interlingua.profiles.names import unknown

        own = [id for id in known_models() if id.startswith(f"{self.provider.key}:")]
        near = unknown(self.model, "", own).near
        return tuple(id for id in near if id != self.model)


def find_target(
    lookup: ModelLookup,
    model: str,
    dialect: str | None = None,
    *,
    name: str | None = None,
    profile: ProfileChoice = None,
    dialect_is_default: bool | None = None,
    instructions: Instructions = "place",
    caching: Caching = "auto",
) -> Target:
    """The target of `<provider>:<name>`: in its default dialect, called `name` on the wire, with
    its own profile unless the caller has one. With `dialect_is_default` another dialect may be used
    where a request needs it; by default, if this is the model's own."""
    how = (dialect_is_default, instructions, caching)
    if profile is not None:
        return _made_target(lookup, model, dialect, name, profile, *how)
    which = (model, dialect, name, *how)
    target: Target | None = lookup.targets.get(which)
    if target is None:
        target = _made_target(lookup, model, dialect, name, None, *how)
        if len(lookup.targets) < _MOST:
            lookup.targets[which] = target
    return target


def _made_target(
    lookup: ModelLookup,
    model: str,
    dialect: str | None,
    name: str | None,
    profile: ProfileChoice,
    dialect_is_default: bool | None,
    instructions: Instructions,
    caching: Caching,
) -> Target:
    from interlingua.profiles.capabilities import expected_capabilities
    from interlingua.profiles.names import model_name

    key, own_name = model_name(model)
    writer = dialect_of(dialect or lookup.dialect(model))
    if dialect_is_default is None:
        dialect_is_default = dialect is None or lookup.is_usual(model, dialect)
    provider = lookup.providers.get(key) or _unknown_provider(key, writer.name)
    rules = lookup.known_profile(model, writer.name)
    capabilities = expected_capabilities(model, writer.name, profile or rules)
    chosen = rules if profile is None and lookup.adapts else profile or None
    hosts = writer.traits.hosts
    return Target(
        writer,
        chosen,
        key,
        capabilities.supports_images,
        None if hosts is None else hosts.of_switches(provider.switches),
        require_instructions(instructions),
        caching=require_caching(caching),
        model=model,
        name=name or own_name,
        provider=provider,
        capabilities=capabilities,
        dialect_is_default=dialect_is_default,
        binds_thinking=_binds_thinking(writer, key, name or own_name),
    )


def _unknown_provider(key: str, dialect: str) -> Provider:
    from interlingua.providers.provider import Provider

    return Provider(key=key, auth=(), dialect=dialect, dialects={})


def _binds_thinking(dialect: Dialect, provider: str, name: str) -> bool:
    from interlingua.profiles.names import name_parts

    binding = dialect.traits.binding
    if binding is None or binding.provider != provider:
        return False
    parts = name_parts(name)
    version = parts.version if parts.family == binding.family else None
    return version is not None and version >= binding.since


# -- conversions ----------------------------------------------------------------------------------


def conversion_target(
    dialect: Dialect,
    model: str | None = None,
    request_model: str | None = None,
    profile: ProfileChoice = None,
    instructions: Instructions = "place",
    provider: str | None = None,
    caching: Caching = "pass",
) -> WireTarget:
    """The target of a conversion: `model` is the caller's (`<provider>:<name>` or a name alone),
    `request_model` the one in the request. `provider` is the host, if the caller names it as the
    target."""
    how = (instructions, provider, caching)
    if profile is not None or instructions != "place":
        return _conversion_target(dialect, model, request_model, profile, *how)
    which = (dialect, model, request_model, provider, caching)
    target = _TARGETS.get(which)
    if target is None:
        target = _conversion_target(dialect, model, request_model, None, *how)
        if len(_TARGETS) < _MOST:
            _TARGETS[which] = target
    return target


_TARGETS: dict[tuple[Dialect, str | None, str | None, str | None, Caching], WireTarget] = {}
_MOST = 2048
"""The number of cached targets, and of cached names of models."""


def _conversion_target(
    dialect: Dialect,
    model: str | None,
    request_model: str | None,
    profile: ProfileChoice,
    instructions: Instructions,
    provider: str | None,
    caching: Caching,
) -> WireTarget:
    if profile is None:
        at, name = split_model(model or request_model or "")
        profile = bundled().of(name, provider or at, dialect.name)
    if provider is None and model is not None:
        provider = split_model(model)[0]
    hosts = dialect.traits.hosts
    host = None if hosts is None or provider is None else _host(hosts, provider)
    hoist = require_instructions(instructions)
    rules = None if profile is False else profile
    alias_of = None if model is not None else _alias_of(dialect.name, request_model, provider)
    remark = _remark(dialect.name, model or request_model, provider, alias_of)
    require_caching(caching)
    return WireTarget(
        *(dialect, rules, provider),
        host=host,
        hoist=hoist,
        remark=remark,
        alias_of=alias_of,
        caching=caching,
    )


def _host(hosts: Hosts, provider: str) -> HostVariant | None:
    """The variant of a dialect at a provider, by its name or its switches."""
    if (named := hosts.named.get(provider)) is not None:
        return named
    from interlingua.providers.read import providers

    known = providers().get(provider)
    return None if known is None else hosts.of_switches(known.switches)


_VENDORS = {
    "Amazon": ("amazon", "nova", "titan"),
    "Anthropic": ("claude",),
    "Cohere": ("command", "c4ai", "north-"),
    "DeepSeek": ("deepseek",),
    "Google": ("gemini", "gemma"),
    "Meta": ("llama",),
    "Mistral": ("mistral", "mixtral", "codestral", "magistral", "ministral", "devstral"),
    "OpenAI": ("gpt-", "chatgpt", "o1", "o3", "o4", "codex"),
    "Perplexity": ("sonar",),
    "Qwen": ("qwen", "qwq"),
    "xAI": ("grok",),
}
"""Prefixes of the vendors' model names."""
_SERVING = {
    "anthropic": ("Anthropic", "claude-sonnet-4-6"),
    "bedrock": (None, "us.amazon.nova-pro-v1:0"),
    "cohere": ("Cohere", "command-a-03-2025"),
    "gemini": ("Google", "gemini-2.5-pro"),
    "gemini-interactions": ("Google", "gemini-2.5-pro"),
    "ollama": (None, "llama3.3"),
    "openai-chat": (None, "gpt-5"),
    "openai-responses": (None, "gpt-5"),
    "openrouter": (None, "openai/gpt-5"),
}
"""The vendor of a service's models, if it has only one, and one of its models."""
_SERVING_AT = {
    "deepseek": ("DeepSeek", "deepseek-chat"),
    "mistral": ("Mistral", "mistral-large-latest"),
    "openai": ("OpenAI", "gpt-5"),
    "perplexity": ("Perplexity", "sonar-pro"),
    "xai": ("xAI", "grok-4"),
}
"""The same for providers with the dialects of many."""
_OWN = {
    "anthropic": ("anthropic",),
    "bedrock": ("bedrock",),
    "cohere": ("cohere",),
    "gemini": ("gemini", "gemini-interactions"),
    "openai": ("openai-chat", "openai-responses"),
    "openrouter": ("openrouter",),
}
"""The dialects in which a provider's models have names without a prefix."""
_VENDORS_OWN = ("anthropic", "cohere", "gemini", "vertex", *_SERVING_AT)
"""Providers that have models of few vendors; others may serve any."""


def _remark(
    dialect: str, model: str | None, provider: str | None, alias_of: str | None
) -> Loss | None:
    """A note on the name of a model that the target would not understand."""
    chat = dialect in _OWN["openai"] and provider in _SERVING_AT
    named = str(provider) if chat else dialect
    own, example = _SERVING_AT[named] if chat else _SERVING.get(dialect, (None, None))
    any_vendor = provider is not None and provider not in _VENDORS_OWN
    if model is None:
        known = "" if any_vendor or example is None else f", such as {example!r}"
        reason = because("model_missing", example=known)
        return loss_of(dialect, "dropped", "$.model", reason)
    name = split_model(model)[1]
    bare = "" if own is None or any_vendor else _PREFIX.sub("", name.lower())
    for vendor, starts in _VENDORS.items():
        if vendor != own and bare.startswith(starts):
            reason = because("foreign_model", name=name, vendor=vendor, example=example)
            return loss_of(named, "approximated", "$.model", reason)
    if alias_of is None:
        return None
    reason = because("model_alias", name=alias_of, alias=model)
    return loss_of(dialect, "approximated", "$.model", reason)


_PREFIX = re.compile(r".*/|(?:[a-z]+\.)?(?:anthropic|cohere|deepseek|meta|mistral|openai|qwen)\.")
"""Prefixes of model names at other services: vendors, regions, folders."""
_ELSEWHERE = {
    "anthropic": re.compile(
        r"anthropic/(claude-[\w.-]+)|(?:[a-z-]+\.)?anthropic\.(claude-[\w-]+?)(?:-v\d+(?::\d+)?)?"
    ),
    "cohere": re.compile(r"cohere/([\w.-]+)|cohere\.([\w-]+?)-v\d+(?::\d+)?"),
    "gemini": re.compile(r"(?:google|publishers/google/models)/(gemini-[\w.-]+)|models/(.+)"),
    "openai": re.compile(r"openai/((?:gpt-[345]|o\d)[\w.-]*)|openai/(chatgpt-.+)"),
}
"""Names of vendors at OpenRouter, Bedrock and others."""


def _alias_of(dialect: str, model: str | None, provider: str | None = None) -> str | None:
    """The model that an alias in a request means, where the target has models of its vendor; or
    one that has another name at other services."""
    vendor, name = split_model(model or "")
    if name != model:
        return name if dialect in _OWN.get(vendor or "", ()) else None
    is_openai = provider == "openai" and dialect in _OWN["openai"]
    form = _ELSEWHERE.get("openai" if is_openai else dialect.removesuffix("-interactions"))
    match = form.fullmatch(name) if form is not None and provider in (None, *_OWN) else None
    found = None if match is None else match[1] or match[2]
    return found.replace(".", "-") if found and dialect in _OWN["anthropic"] else found


def split_model(model: str) -> tuple[str | None, str]:
    """A known provider, and the name; a colon alone does not make a provider. An alias such as
    `sonnet` is resolved."""
    known = _SPLIT.get(model)
    if known is None:
        known = _split(model)
        if len(_SPLIT) < _MOST:
            _SPLIT[model] = known
    return known


_SPLIT: dict[str, tuple[str | None, str]] = {}


def _split(model: str) -> tuple[str | None, str]:
    from interlingua.profiles.resolving import aliases

    model = aliases().get(model, model)
    before, colon, name = model.partition(":")
    if colon and name and before in _providers():
        return before, name
    return None, model


def _providers() -> frozenset[str]:
    global _KNOWN
    if _KNOWN is None:
        from interlingua.profiles.capabilities import providers

        _KNOWN = frozenset(providers())
    return _KNOWN


_KNOWN: frozenset[str] | None = None


def one_target(target: str | None, to: str | None, what: str = "il.convert") -> str:
    """The format of the two arguments that name it."""
    if target is None and to is None:
        raise TypeError(f"{what} needs a target: to='anthropic', or any other format")
    if target is not None and to is not None and to != target:
        raise TypeError(f"to={to!r} and target={target!r} mean the same: pass one of them")
    return target or to or ""
