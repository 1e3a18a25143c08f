"""Where a call goes: from a model id to a provider, its dialect, and the HTTP request for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, Protocol

import msgspec

from interlingua.client.transport import HttpRequest
from interlingua.dialects.anthropic.tables import BETA_HEADER as HEADER
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.record import Written
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.fitting.back import Back
from interlingua.fitting.dialect_choice import dialect_for_request
from interlingua.losses import Report
from interlingua.model.exchange import Request
from interlingua.models.names import model_name
from interlingua.models.overlay import ProfileSource
from interlingua.models.resolving import resolve
from interlingua.outbound import NO_OPTIONS as NO_OPTIONS
from interlingua.outbound import Target as Target
from interlingua.outbound import host_of, write_for
from interlingua.providers.credentials import Credentials, authorise, credentials
from interlingua.providers.endpoint import Endpoint, endpoint
from interlingua.providers.errors import UnknownProviderError
from interlingua.providers.profiles import ModelLookup
from interlingua.providers.provider import Kind, Provider
from interlingua.providers.registry import own_path
from interlingua.providers.registry import providers as known_providers
from interlingua.providers.secret import Secret

_MOST = 1000
"""Models whose address is kept."""
AGENT = "interlingua"
"""How we call ourselves to providers; some turn away who has no name."""

Key = str | Secret | Callable[[], str]
"""A key or a token, or a function that has one, for those that expire."""


class Server(Protocol):
    """A server that was started for us."""

    base_url: str
    key: Secret


Place = str | Callable[[], str | Server]
"""A base URL, or a function that has it, for servers that are started when they are needed."""
LOCAL = "local"


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """A request ready to be sent, and what it could not say."""

    target: Target
    http: HttpRequest
    report: Report
    back: Back | None = None
    """How to read the answer, where the model had to be asked in another way."""

    def with_headers(self, extra: Mapping[str, str]) -> Prepared:
        http = msgspec.structs.replace(self.http, headers={**self.http.headers, **extra})
        return msgspec.structs.replace(self, http=http)


class Targets:
    """Finds targets, and addresses for them. Keys and places in the environment are looked up when
    a model is first asked, and then kept."""

    def __init__(
        self,
        providers: Mapping[str, Provider] | Iterable[Provider] | None = None,
        *,
        aliases: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        keys: Mapping[str, Key] | None = None,
        base_urls: Mapping[str, Place] | None = None,
        profiles: ProfileSource | Literal[False] = None,
    ) -> None:
        """`profiles` are rules of what models take, laid over the package's; without them, those of
        this machine's user. With False, requests are not fitted to any model."""
        if providers is None:
            providers = known_providers(own_path())
        elif not isinstance(providers, Mapping):
            providers = {each.key: each for each in providers}
        self.providers = providers
        self._provider_names = tuple(providers)
        self.model_lookup = ModelLookup(providers, profiles)
        self._aliases = aliases
        self.environ = os.environ if environ is None else environ
        self._keys = keys or {}
        self._places = dict(base_urls or {})
        self._started: dict[str, tuple[str, Secret | None]] = {}
        self._found: dict[tuple[str, str | None, bool], Target] = {}
        self._ready: dict[tuple[str, str, Kind, bool], HttpRequest] = {}
        self._credentials: dict[str, Credentials] = {}

    def find(self, model: str, dialect: str | None = None, *, usual: bool = False) -> Target:
        """The target of a model id or an alias. A dialect that is only the `usual` one may be
        another for requests that need it."""
        usual = usual or dialect is None
        found = self._found.get((model, dialect, usual))
        if found is None:
            id = self.id_of(model)
            key, name = model_name(id)
            provider = self.providers.get(key)
            if provider is None:
                raise UnknownProviderError(key, self.providers)
            spoken = dialect_of(dialect or self.model_lookup.dialect(id))
            images = self.model_lookup.capabilities(id, spoken.name).supports_images
            profile = self.model_lookup.profile(id, spoken.name)
            host = host_of(provider, spoken)
            found = Target(id, name, provider, spoken, images, profile, usual, host=host)
            if len(self._found) < _MOST:
                self._found[model, dialect, usual] = found
        return found

    def id_of(self, name: str, first: str | None = None) -> str:
        """The model id that a name means; names of the provider that comes `first` are its own."""
        return resolve(name, self._aliases, self._provider_names, first)

    def for_request(self, target: Target, request: Request) -> Target:
        """The same model, in the dialect that this request needs."""
        if not target.usual or target.profile is None or not (request.tools or request.raw):
            return target
        speaks = target.provider.dialects
        other = dialect_for_request(target.profile, request, speaks)
        if other is None:
            return target
        found = self.find(target.model, other)
        return found.fitted_to(target.profile) if target.fixed else found

    def key(self, provider: str) -> Key | None:
        """The key that a program gave for a provider."""
        return self._keys.get(provider)

    def place(self, provider: str) -> Place | None:
        """The address that a program gave for a provider."""
        return self._places.get(provider)

    def base_url(self, provider: Provider) -> str | None:
        """The address that a file or the environment has for a provider."""
        named = (self.environ.get(name) for name in provider.base_url_env)
        return provider.base_url or next((url for url in named if url), None)

    def starts(self, target: Target) -> bool:
        """Whether its server may have to be started."""
        key = target.provider.key
        return key == LOCAL or callable(self._places.get(key))

    async def start(self, target: Target) -> None:
        """Have the server at hand, where it is one that is started when it is needed."""
        key = target.provider.key
        place = self._places.get(key)
        if place is None and key == LOCAL:
            place = self._local(target.provider)
        if callable(place):
            server = await asyncio.to_thread(place)
            told = (server, None) if isinstance(server, str) else (server.base_url, server.key)
            self._started[key] = told

    def _local(self, provider: Provider) -> Place | None:
        """The bundled local model runs by itself unless somebody says where it is."""
        if self.base_url(provider):
            return None
        from interlingua.local.server import shared

        self._places[LOCAL] = lambda: shared()
        return self._places[LOCAL]

    def prepare(
        self, request: Request, target: Target, stream: bool, source: str | None = None
    ) -> Prepared:
        """Say the request in the target's dialect: retold, since history may be from anywhere.
        `source` is the dialect it was read from, where that is known."""
        target = self.for_request(target, request)
        return self.ready(write_for(request, target, stream, source), target, stream)

    def ready(self, written: Written, target: Target, stream: bool) -> Prepared:
        """A body, with everything that its provider wants to be sent along."""
        wire = written.wire
        asked = self.address(target, wire, "request", stream)
        betas = target.dialect.betas_of(wire)
        if betas:
            asked = _with_betas(asked, betas)
        return Prepared(target, asked, written.report, written.back)

    def address(self, target: Target, wire: Wire, kind: Kind, stream: bool = False) -> HttpRequest:
        """The request for a wire, with who is asking on it."""
        provider, body = target.provider, encode(wire)
        which = (target.model, target.dialect.name, kind, stream)
        kept = self._ready.get(which)
        if kept is not None:
            return HttpRequest(kept.url, kept.headers, body, kept.secrets)
        place = self._endpoint(target, kind, stream)
        known = self._credentials_of(provider)
        ready = authorise(place, provider, known, body)
        packed = "identity" if stream else "gzip, deflate"
        headers = {"user-agent": AGENT, "accept-encoding": packed, **ready.headers}
        made = HttpRequest(ready.url, headers, body, _secrets(known, ready.headers))
        if self._may_keep(provider, known) and len(self._ready) < _MOST:
            self._ready[which] = HttpRequest(made.url, made.headers, b"", made.secrets)
        return made

    def _may_keep(self, provider: Provider, known: Credentials) -> bool:
        """Whether the next request will have the same address and headers: not where it is signed,
        or where either is asked for each time."""
        moving = callable(self._keys.get(provider.key)) or callable(self._places.get(provider.key))
        return known.style != "aws-sigv4" and not moving

    def _endpoint(self, target: Target, kind: Kind, stream: bool) -> Endpoint:
        place = self._places.get(target.provider.key)
        if callable(place):
            place = self._started[target.provider.key][0]
        return endpoint(
            target.model,
            kind,
            stream,
            environ=self.environ,
            provider=target.provider,
            dialect=target.dialect.name,
            base_url=place,
        )

    def _credentials_of(self, provider: Provider) -> Credentials:
        known = self._credentials.get(provider.key)
        if known is None:
            key = self._keys.get(provider.key)
            if key is None and provider.key in self._started:
                return credentials(provider, self.environ, self._started[provider.key][1])
            known = credentials(provider, self.environ, key)
            if not callable(key):
                self._credentials[provider.key] = known
        return known


def _with_betas(asked: HttpRequest, betas: list[str]) -> HttpRequest:
    """The same request, and what it has to ask for besides."""
    already = asked.headers.get(HEADER)
    names = [already, *betas] if already else betas
    headers = {**asked.headers, HEADER: ",".join(names)}
    return HttpRequest(asked.url, headers, asked.body, asked.secrets)


def _secrets(known: Credentials, headers: Mapping[str, str]) -> tuple[str, ...]:
    """What may not be seen of these headers."""
    held = (known.secret, known.session_token)
    texts = [each.reveal() for each in held if each is not None]
    said = headers.get("authorization")
    return (*texts, said) if said else tuple(texts)
