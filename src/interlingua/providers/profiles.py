"""Profiles of models at their providers: rules of files, and rules that providers have for all of
theirs.

One lookup for clients, sessions, routing and the command line, so that they cannot differ about a
model: the package's rules, the user's files over them, the provider's own table over those.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

from interlingua.config import PROVIDERS, config_folder
from interlingua.profiles.capabilities import Capabilities, expected_capabilities, usual_dialect
from interlingua.profiles.names import UnknownModelError, model_name
from interlingua.profiles.overlay import ProfileSource, own_files, profile_at, profiles_from
from interlingua.profiles.profile import Profile, Profiles, bundled
from interlingua.providers.endpoint import dialect_for
from interlingua.providers.provider import Provider
from interlingua.providers.read import own_path
from interlingua.providers.read import providers as known_providers

MOST = 1000
"""The number of models whose profile a lookup caches."""


class ModelLookup:
    """Looks models up: the dialect, profile and capabilities of each."""

    def __init__(
        self,
        providers: Mapping[str, Provider] | None = None,
        source: ProfileSource | Literal[False] = None,
    ) -> None:
        """`source`: rules laid over the package's own; by default those of this machine's user.
        With False, requests are not fitted to any model."""
        self._source = source
        self.providers = known_providers(own_path()) if providers is None else providers
        self._capabilities: dict[tuple[str, str | None], Capabilities] = {}
        self.targets: dict[Any, Any] = {}
        """Targets made from this lookup (`adapt.target`), by their arguments."""

    @property
    def adapts(self) -> bool:
        """Whether requests are adapted to the rules of their models."""
        return self._source is not False

    @cached_property
    def profiles(self) -> Profiles:
        return bundled() if self._source is False else profiles_from(self._source)

    def profile(self, model: str, dialect: str | None) -> Profile | None:
        """The profile of `<provider>:<name>` in a dialect; None if requests are not adapted."""
        if self._source is False:
            return None
        return self.known_profile(model, dialect)

    def known_profile(self, model: str, dialect: str | None) -> Profile:
        """The profile, whether or not requests are adapted to it."""
        key, name = model_name(model)
        provider = self.providers.get(key)
        overlay = provider.profile if provider else None
        return profile_at(self.profiles, name, key, dialect, overlay)

    def dialect(self, model: str) -> str:
        """The default dialect for a model."""
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
        """The dialects of the model's provider, by name; none if the provider is unknown."""
        provider = self.providers.get(model_name(model).provider)
        return {} if provider is None else provider.dialects

    def capabilities(self, model: str, dialect: str | None = None) -> Capabilities:
        """The capabilities of a model, by the same rules."""
        known = self._capabilities.get((model, dialect))
        if known is None:
            known = self._found_capabilities(model, dialect)
            if len(self._capabilities) < MOST:
                self._capabilities[model, dialect] = known
        return known

    def _found_capabilities(self, model: str, dialect: str | None) -> Capabilities:
        if dialect is None and model_name(model).provider in self.providers:
            dialect = self.dialect(model)
        return expected_capabilities(model, dialect, self.known_profile(model, dialect))


def profile_here(model: str | None, dialect: str) -> Profile | None:
    """The profile of `<provider>:<name>`, with the rules of this machine's user; None if no
    known provider is named."""
    here = lookup_here()
    key, colon, name = (model or "").partition(":")
    return here.known_profile(f"{key}:{name}", dialect) if colon and key in here.providers else None


def lookup_here() -> ModelLookup:
    """The lookup for this machine's configuration. The files are read again when one of them has
    changed."""
    folder = config_folder()
    files = (*own_files(folder), folder / PROVIDERS)
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
