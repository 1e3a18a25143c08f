"""A request on its way out: retold, fitted to the model, written. The one path that conversions,
clients, sessions and the gateway share, so that they cannot differ."""

from __future__ import annotations

from typing import Literal

from interlingua.dialects.base import Dialect, Wire, Written
from interlingua.dialects.openai_chat.hosts import HOSTS
from interlingua.fitting.fit import fit
from interlingua.fitting.quick import fits, is_simple, quick_of
from interlingua.model.exchange import Request
from interlingua.models.profile import Profile, bundled
from interlingua.retell import Retold, retell

Fitting = Profile | Literal[False] | None
"""Which profile to fit a request to: one that is given, that of the model (None), or none at all
(False)."""


def say(
    request: Request,
    dialect: Dialect,
    profile: Profile | None,
    *,
    source: str | None = None,
    images: bool = True,
    host: str | None = None,
    instructions: Literal["place", "hoist"] = "place",
) -> Written:
    """The request in a dialect, as the model of the profile takes it. `host` is the service that
    speaks `openai-chat` with words of its own; `images` whether the model takes any, where the
    profile does not say."""
    if profile is not None and host is None:
        if is_simple(request, quick_of(profile, dialect.name)):
            return dialect.write_request(request)
        if profile.media.image is not None:
            images = True  # the rule decides, and is named
    told = retell(
        request, dialect, request.model, source=source, images=images, instructions=instructions
    )
    value, scribe, back = told.value, told.scribe, None
    if profile is not None and not fits(value, quick_of(profile, dialect.name)):
        fitted = fit(value, profile, scribe)
        value, back = fitted.value, fitted.back
    if host in HOSTS and dialect.name == "openai-chat":
        wire = _at_host(value, told, host)
        return Written(wire, told.report, value.model, value.options.stream, back)
    written = dialect.write_request(value, scribe)
    if back is None:
        return written
    return Written(written.wire, written.report, written.model, written.stream, back)


def _at_host(value: Request, told: Retold, host: str | None) -> Wire:
    from interlingua.dialects.openai_chat.request import write_request

    wire = write_request(value, told.scribe, host)
    told.scribe.refuse_critical()
    return wire


def profile_for(model: str | None, dialect: str, profile: Fitting = None) -> Profile | None:
    """The profile that a request is fitted to. `model` is `<provider>:<name>`, or a name alone:
    then the provider is the one whose own dialect it is."""
    if profile is None:
        known = _PROFILES.get((model, dialect))
        if known is None:
            provider, name = named(model or "")
            known = bundled().of(name, provider, dialect)
            if len(_PROFILES) < _MOST:
                _PROFILES[model, dialect] = known
        return known
    return None if profile is False else profile


_PROFILES: dict[tuple[str | None, str], Profile] = {}
_MOST = 2048
"""Names whose profiles are at hand."""


def named(model: str) -> tuple[str | None, str]:
    """A provider that we know, and the name; a colon alone does not make a provider."""
    before, colon, name = model.partition(":")
    if colon and name and before in _providers():
        return before, name
    return None, model


def _providers() -> frozenset[str]:
    global _KNOWN
    if _KNOWN is None:
        from interlingua.models.capabilities import providers

        _KNOWN = frozenset(providers())
    return _KNOWN


_KNOWN: frozenset[str] | None = None
