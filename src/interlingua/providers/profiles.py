"""What models take where they are asked: rules of files, and what providers say of all of theirs.

One lookup for clients, sessions, routing and the command line, so that they cannot differ about a
model: the package's rules, the user's files over them, the provider's own table over those.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

from interlingua.models.capabilities import Capabilities, expected_capabilities, usual_dialect
from interlingua.models.names import UnknownModelError, model_name
from interlingua.models.overlay import ProfileSource, own_files, profile_at, profiles_from
from interlingua.models.profile import Profile, Profiles, bundled
from interlingua.providers.endpoint import dialect_for
from interlingua.providers.provider import Provider
from interlingua.providers.registry import own_path
from interlingua.providers.registry import providers as known_providers


class ModelLookup:
    """Looks models up: which dialect each is asked in, which profile it is fitted to, what it can
    do."""

    def __init__(
        self,
        providers: Mapping[str, Provider] | None = None,
        given: ProfileSource | Literal[False] = None,
    ) -> None:
        """`given` are rules that are laid over the package's; without them, those of this machine's
        user. With False, requests are not fitted to any model."""
        self._given = given
        self.providers = known_providers(own_path()) if providers is None else providers

    @cached_property
    def profiles(self) -> Profiles:
        return bundled() if self._given is False else profiles_from(self._given)

    def profile(self, model: str, dialect: str | None) -> Profile | None:
        """What `<provider>:<name>` takes in a dialect; None where nothing is fitted."""
        if self._given is False:
            return None
        return self.known_profile(model, dialect)

    def known_profile(self, model: str, dialect: str | None) -> Profile:
        """What it takes, whether or not requests are fitted to it."""
        key, name = model_name(model)
        provider = self.providers.get(key)
        overlay = provider.profile if provider else None
        return profile_at(self.profiles, name, key, dialect, overlay)

    def dialect(self, model: str) -> str:
        """The one in which a model is asked where nobody says another."""
        provider = self.providers.get(model_name(model).provider)
        if provider is None:
            return usual_dialect(model)
        return dialect_for(model, provider, self.known_profile(model, None))

    def is_usual(self, model: str, dialect: str) -> bool:
        try:
            return self.dialect(model) == dialect
        except UnknownModelError:
            return False

    def speaks(self, model: str) -> Mapping[str, object]:
        """The dialects that its provider speaks, by name; none where nobody knows it."""
        provider = self.providers.get(model_name(model).provider)
        return {} if provider is None else provider.dialects

    def capabilities(self, model: str, dialect: str | None = None) -> Capabilities:
        """What a model can do, by the same rules."""
        if dialect is None and model_name(model).provider in self.providers:
            dialect = self.dialect(model)
        return expected_capabilities(model, dialect, self.known_profile(model, dialect))


def profile_here(model: str | None, dialect: str) -> Profile | None:
    """What `<provider>:<name>` takes, as this machine's user says; None where no provider is named
    that anybody knows."""
    here = lookup_here()
    key, colon, name = (model or "").partition(":")
    return here.known_profile(f"{key}:{name}", dialect) if colon and key in here.providers else None


def lookup_here() -> ModelLookup:
    """As this machine's user says. The files are read again when one of them has changed."""
    files = (*own_files(), own_path())
    return _lookup(tuple((path, _stamp(path)) for path in files))


@lru_cache(4)
def _lookup(_: tuple[tuple[Path, tuple[int, int] | None], ...]) -> ModelLookup:
    return ModelLookup()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size
