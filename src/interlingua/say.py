"""A request on its way out: retold, fitted to the model, written. The one path that conversions,
clients, sessions and the gateway share, so that they cannot differ."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from interlingua.dialects.openai_chat.tables import HOSTS, Host
from interlingua.dialects.record import Dialect, Written
from interlingua.fitting.fit import fit
from interlingua.fitting.quick import fits, is_simple, quick_of
from interlingua.losses import Report
from interlingua.model.exchange import Request, Response
from interlingua.models.profile import Profile, bundled
from interlingua.retell import Retold, retell
from interlingua.retelling.images import NO_IMAGES

Fitting = Profile | Literal[False] | None
"""Which profile to fit a request to: one that is given, that of the model (None), or none at all
(False)."""
Instructions = Literal["place", "hoist"]


def say(
    request: Request,
    dialect: Dialect,
    profile: Profile | None,
    *,
    provider: str | None = None,
    source: str | None = None,
    images: bool = True,
    host: str | Host | None = None,
    instructions: Instructions = "place",
) -> Written:
    """The request in a dialect, as the model of the profile takes it.

    `provider` serves the model; `host` has its words, or is its name, among those that speak Chat
    with words of their own. `images` says whether the model takes any, where the profile does
    not."""
    if profile is not None and is_simple(request, quick_of(profile, dialect.name)):
        if host is None or not dialect.traits.host_words:
            return dialect.write_request(request)
        return dialect.write_request(request, None, host)
    told = fitted(
        request,
        dialect,
        profile,
        provider=provider,
        source=source,
        images=images,
        instructions=instructions,
    )
    return written(told, dialect, host)


def fitted(
    request: Request,
    dialect: Dialect,
    profile: Profile | None,
    *,
    provider: str | None = None,
    source: str | None = None,
    images: bool = True,
    instructions: Instructions = "place",
) -> Retold:
    """The request retold and fitted, with nothing left to do but to write it."""
    if profile is not None and profile.media.image is not None:
        images = profile.media.image
    told = retell(
        request,
        dialect,
        request.model,
        provider=provider,
        source=source,
        images=images,
        instructions=instructions,
        profile=profile,
    )
    if profile is not None and profile.media.image is False:
        _name_rule(told.report, profile)
    if profile is None or fits(told.value, quick_of(profile, dialect.name)):
        return told
    done = fit(told.value, profile, told.scribe)
    return Retold(done.value, done.report, done.scribe, done.back)


def _name_rule(report: Report, profile: Profile) -> None:
    """Images are left out before anything is moved, so that a place is left where each was; the
    rule that says so is named afterwards."""
    rule = profile.rule("media.image")
    for index, loss in enumerate(report.losses):
        if loss.reason == NO_IMAGES and rule is not None:
            reason = f"{profile.name} takes no images ({rule})"
            report.losses[index] = replace(loss, reason=reason, rule=rule.id)


def written(told: Retold, dialect: Dialect, host: str | Host | None = None) -> Written:
    """What was retold, on the wire."""
    if host is None or not dialect.traits.host_words:
        done = dialect.write_request(told.value, told.scribe)
    else:
        done = dialect.write_request(told.value, told.scribe, host)
    if told.back is None:
        return done
    return Written(done.wire, done.report, done.model, done.stream, told.back)


def host_of(provider: str | None) -> str | None:
    """The provider's name among those that speak Chat with words of their own."""
    return provider if provider in HOSTS else None


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
    known = _NAMED.get(model)
    if known is None:
        known = _apart(model)
        if len(_NAMED) < _MOST:
            _NAMED[model] = known
    return known


_NAMED: dict[str, tuple[str | None, str]] = {}


def renamed(response: Response, model: str) -> Response:
    """An answer under another name of its model."""
    message = response.message
    metadata = message.metadata.replace(response_model=model)
    return response.replace(message=message.replace(metadata=metadata))


def _apart(model: str) -> tuple[str | None, str]:
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
