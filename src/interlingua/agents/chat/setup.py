"""The models available on this machine: providers, keys, rules, prices, and the bundled local
model; and what a request would be, without sending it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from interlingua import config
from interlingua.client.client import AsyncClient
from interlingua.client.targets import (
    Address,
    Key,
    Prepared,
    Reached,
    Targets,
    of_reachable,
    reachable,
)
from interlingua.costs.ahead import Ahead, ahead
from interlingua.costs.table import PriceTable
from interlingua.model.losses import Report
from interlingua.profiles.capabilities import known_models
from interlingua.profiles.names import nearest
from interlingua.profiles.resolving import aliases
from interlingua.providers.cloud import CLOUDS
from interlingua.providers.credentials import credentials
from interlingua.providers.endpoint import dialect_for
from interlingua.providers.profiles import ModelLookup
from interlingua.providers.provider import HIDDEN, MissingSettingError, Provider, ProviderSetupError
from interlingua.providers.read import own_path, providers
from interlingua.routing.registry import ModelEntry, is_model_id, provider_of
from interlingua.routing.router import PolicyFile, Router
from interlingua.sessions.session import AsyncCall, AsyncTurn
from interlingua.sessions.setting import LOCAL, OpenRegistry
from interlingua.sessions.setting import registry as known_registry

BOX = "local"
"""The provider of the bundled local model."""
FIRST = ("sonnet", "gpt", "gemini", "mistral-medium", "grok", "deepseek", "gpt-oss", "nova")
"""Without rules, the default is a model of the first of these whose provider has a key."""


Routes = Callable[[str], str | None]
"""Returns the model for a name in the gateway's settings."""


class OwnRegistry(OpenRegistry):
    """Every model of every provider that there is, those of the user's file included."""

    def __init__(
        self,
        entries: Iterable[ModelEntry],
        providers: Iterable[str],
        routes: Routes = lambda name: None,
        route_names: Iterable[str] = (),
    ) -> None:
        super().__init__(entries)
        self.providers = frozenset(providers)
        self._routes = routes
        self._route_names = tuple(route_names)

    def _find(self, name: str) -> str | None:
        return self._routes(name) or super()._find(name)

    def near(self, name: str) -> list[str]:
        return nearest(name, [*self._route_names, *self.aliases, *self.entries])

    @property
    def more_providers(self) -> tuple[str, ...]:
        return tuple(self.providers)

    def __contains__(self, model: object) -> bool:
        if isinstance(model, str) and is_model_id(model):
            return model in self.entries or provider_of(model) in self.providers
        return False


class Setup:
    """The configuration of this machine. Makes no requests."""

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        prices: PriceTable | None = None,
        known: Mapping[str, Provider] | None = None,
        routes: Routes = lambda name: None,
        route_names: Iterable[str] = (),
        default: str | None = None,
        routed: Callable[[AsyncClient], AsyncClient] = lambda client: client,
    ) -> None:
        """`known`, `routes`, `route_names` and `default` are those of the gateway's settings, if
        there are any; `routed` returns a client that uses all of a route's pool and fallbacks."""
        self.environ = os.environ if environ is None else environ
        self.prices = prices
        self._default = default
        self._routed = routed
        self.providers: dict[str, Provider] = dict(known or providers(own_path()))
        self.model_lookup = ModelLookup(self.providers)
        entries = known_registry().entries.values()
        self.registry = OwnRegistry(entries, self.providers, routes, route_names)
        self.rules = PolicyFile(config.rules_path(), self.registry)
        self.router = Router(
            self.registry,
            self.model_lookup.capabilities,
            rules=self.rules,
            global_default=self.first_model(),
        )

    def first_model(self) -> str:
        """The default where the rules name none: that of the gateway's settings, else a model with
        a key, else the bundled one."""
        if self._default is not None:
            return self._default
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
        return found.secret is not None or found.source in CLOUDS

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
        """The usable models; the user's own servers are asked for their lists."""
        return of_reachable(self.reached(), known_models())

    def reached(self) -> Reached:
        """The providers that are usable now."""
        return reachable(Targets(self.providers, environ=self.environ))

    def client(self) -> AsyncClient:
        """A client that starts the bundled local model on first use."""
        places: dict[str, Address] = {}
        keys: dict[str, Key] = {}
        if self.provides_box():
            places[BOX], keys[BOX] = _box_url, _box_key
        client = AsyncClient(self.providers, environ=self.environ, base_urls=places, keys=keys)
        return self._routed(client)

    def provides_box(self) -> bool:
        """Whether this program starts the bundled local model, and the user has not set another
        place for it."""
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


_NO_KEY = "none-yet"
_SHORTEST = 6
"""A secret of fewer characters is hidden in headers, and not looked for in text."""
_TELLING = ("auth", "cookie", "key", "password", "secret", "token")
"""Parts of header names whose values are hidden."""
_ADDRESS = "http://127.0.0.1"


class DryRequest(NamedTuple):
    """A request with its secrets masked. `notes` list what would be different if it were sent."""

    method: str
    url: str
    headers: dict[str, str]
    body: str
    report: Report
    notes: list[str]
    ahead: Ahead | None = None
    """The predicted cache read of the prompt, and its cost."""

    def text(self, pretty: bool = False) -> str:
        """The request as sent: the first line has the whole address."""
        body = msgspec.json.format(self.body, indent=2) if pretty else self.body
        head = [f"{self.method} {self.url}"]
        head += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\n".join([*head, "", body, ""])

    def as_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "url": self.url,
            "headers": self.headers,
            "body": msgspec.Raw(self.body.encode()),
            "losses": self.report.losses,
            "notes": self.report.notes,
            "predicted": None if self.ahead is None else self.ahead._asdict(),
        }


def dry(setup: Setup, turn: AsyncTurn, call: AsyncCall) -> DryRequest:
    """The request of this call, without sending it."""
    notes: list[str] = []
    places: dict[str, Address] = {}
    keys: dict[str, Key] = {}
    provider = turn.model.partition(":")[0]
    if provider == BOX and setup.provides_box():
        places[BOX], keys[BOX] = _ADDRESS, _NO_KEY
        notes.append("the bundled local model has a port and a key once it runs")
    while True:
        targets = Targets(setup.providers, environ=setup.environ, base_urls=places, keys=keys)
        target = targets.find(turn.model, call.adapter.dialect.name)
        streams = call.request.options.stream
        try:
            request = _masked(targets.prepare(call.request, target, bool(streams)), notes)
            how = (datetime.now(UTC), call.adapter.prices, call.adapter.caching)
            return request._replace(ahead=ahead(call.request, turn.model, *how))
        except MissingSettingError as error:
            if error.what != "key" or provider in keys:
                raise
            notes.append(str(error))
            keys[provider] = _NO_KEY


def _masked(prepared: Prepared, notes: list[str]) -> DryRequest:
    http = prepared.http
    secrets = [text for text in http.secrets if text]
    headers = {name: _header(name, value, secrets) for name, value in http.headers.items()}
    found = [text for text in secrets if len(text) >= _SHORTEST]
    found += [quote(text, safe="") for text in found]
    url, body = http.url, http.body.decode()
    for text in found:
        url, body = url.replace(text, HIDDEN), body.replace(text, HIDDEN)
    return DryRequest("POST", url, headers, body, prepared.report, notes)


def _header(name: str, value: str, secrets: list[str]) -> str:
    """The value with secrets hidden; the scheme of a key (`Bearer`) stays. A header from a user's
    file may hold a secret unknown to us, so its name counts too."""
    shown = value
    for text in sorted(secrets, key=len):
        shown = shown.replace(text, HIDDEN)
    safe = shown != value or not any(word in name.lower() for word in _TELLING)
    return shown if safe else HIDDEN
