"""Who can be talked to from here: providers, keys, rules, prices, and the bundled local model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from interlingua import config
from interlingua.client.client import AsyncClient
from interlingua.client.targets import Key, Place, Reached, Targets, of_reachable, reachable
from interlingua.costs.table import PriceTable
from interlingua.profiles.capabilities import known_models
from interlingua.profiles.resolving import aliases
from interlingua.providers.credentials import credentials
from interlingua.providers.endpoint import dialect_for
from interlingua.providers.errors import ProviderSetupError
from interlingua.providers.profiles import ModelLookup
from interlingua.providers.provider import Provider
from interlingua.providers.registry import own_path, providers
from interlingua.routing.registry import ModelEntry, is_model_id, provider_of
from interlingua.routing.router import PolicyFile, Router
from interlingua.sessions.setting import LOCAL, OpenRegistry
from interlingua.sessions.setting import registry as known_registry

BOX = "local"
"""The provider of the bundled local model."""
FIRST = ("sonnet", "gpt", "gemini", "mistral-medium", "grok", "deepseek", "gpt-oss", "nova")
"""Where there are keys and no rules, the first of these whose provider has one is the default."""


class OwnRegistry(OpenRegistry):
    """Every model of every provider that there is, those of the user's file included."""

    def __init__(self, entries: Iterable[ModelEntry], providers: Iterable[str]) -> None:
        super().__init__(entries)
        self.providers = frozenset(providers)

    @property
    def more_providers(self) -> tuple[str, ...]:
        return tuple(self.providers)

    def __contains__(self, model: object) -> bool:
        if isinstance(model, str) and is_model_id(model):
            return model in self.entries or provider_of(model) in self.providers
        return False


class Setup:
    """What is configured on this machine. Nothing is asked of anybody."""

    def __init__(
        self, environ: Mapping[str, str] | None = None, prices: PriceTable | None = None
    ) -> None:
        self.environ = os.environ if environ is None else environ
        self.prices = prices
        self.providers: dict[str, Provider] = providers(own_path())
        self.model_lookup = ModelLookup(self.providers)
        self.registry = OwnRegistry(known_registry().entries.values(), self.providers)
        self.rules = PolicyFile(config.rules_path(), self.registry)
        self.router = Router(
            self.registry,
            self.model_lookup.capabilities,
            rules=self.rules,
            global_default=self.first_model(),
        )

    def first_model(self) -> str:
        """The default where the rules name none: a model with a key, else the bundled one."""
        short = aliases()
        for alias in FIRST:
            if self.has_key(provider_of(short[alias])):
                return short[alias]
        return LOCAL

    def default_model(self, workspace: str) -> str:
        """The model of a session that has none of its own."""
        everywhere = self.router.config().policy.everywhere.default
        return self.workspace_default(workspace) or everywhere or self.first_model()

    def workspace_default(self, workspace: str) -> str | None:
        """The default that the rules have for a folder alone."""
        return self.router.config().policy.scope(workspace).default

    def has_key(self, provider: str) -> bool:
        """Whether a key is configured for it."""
        try:
            found = credentials(self.providers[provider], self.environ)
        except (KeyError, ProviderSetupError):
            return False
        return found.secret is not None

    def problem(self, model: str) -> str | None:
        """Why this model cannot be called from here, as far as is known without a call."""
        provider = self.providers.get(provider_of(model))
        if provider is None:
            return f"unknown provider {provider_of(model)!r}"
        try:
            credentials(provider, self.environ)
        except ProviderSetupError as error:
            return str(error)
        return None

    def usable(self) -> list[str]:
        """Models that can be asked now; a server of the user's own is asked what it has."""
        return of_reachable(self.reached(), known_models())

    def reached(self) -> Reached:
        """The providers that can be asked now."""
        return reachable(Targets(self.providers, environ=self.environ))

    def client(self) -> AsyncClient:
        """A client that starts the bundled local model when it is first asked."""
        places: dict[str, Place] = {}
        keys: dict[str, Key] = {}
        if self.provides_box():
            places[BOX], keys[BOX] = _box_url, _box_key
        return AsyncClient(self.providers, environ=self.environ, base_urls=places, keys=keys)

    def provides_box(self) -> bool:
        """Whether the bundled local model is ours to start, and not where the user says."""
        box = self.providers[BOX]
        named = any(self.environ.get(name) for name in box.base_url_env)
        return box.base_url is None and not named


class DialectByModel(dict[str, str]):
    """Model to the dialect that was requested; models of providers in the user's file use the
    dialect in that file."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        super().__init__()
        self._providers = providers

    def __bool__(self) -> bool:
        return True  # also while nothing was asked for

    def get(self, model: str, default: Any = None) -> Any:
        if model in self:
            return self[model]
        provider = self._providers.get(provider_of(model))
        if provider is None or provider.source is None or not is_model_id(model):
            return default
        return dialect_for(model, provider)


def _box_url() -> str:
    from interlingua.local import shared

    return shared().base_url


def _box_key() -> str:
    from interlingua.local import shared

    return shared().key.reveal()
