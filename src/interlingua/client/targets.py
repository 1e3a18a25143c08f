"""The target of a call: from a model id to a provider, its dialect, and the HTTP request."""

from __future__ import annotations

import asyncio
import http.client
import os
import time
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Literal, Protocol, cast
from urllib.parse import urlsplit

import msgspec

from interlingua.adapt.caching import Caching, require_caching
from interlingua.adapt.converter import write_remembered
from interlingua.adapt.fit.answers import AnswerAdapter
from interlingua.adapt.fit.tools import dialect_for_request
from interlingua.adapt.history.compacted import is_from
from interlingua.adapt.history.retell import require_instructions
from interlingua.adapt.remembered import History, WrittenTurns
from interlingua.adapt.request import adapt, write
from interlingua.adapt.target import Instructions, find_target
from interlingua.adapt.target import Target as Target
from interlingua.client.errors import NetworkError
from interlingua.client.transport import HttpRequest
from interlingua.dialects.anthropic.tables import BETA_HEADER as HEADER
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.record import Written
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import CompactionBlock
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Role
from interlingua.model.reasons import because
from interlingua.profiles.capabilities import known_models
from interlingua.profiles.names import model_name
from interlingua.profiles.overlay import ProfileSource
from interlingua.profiles.resolving import resolve
from interlingua.providers.cloud import CLOUDS, CloudLogin
from interlingua.providers.credentials import AuthorisedRequest, Credentials, authorise, credentials
from interlingua.providers.endpoint import Endpoint, endpoint
from interlingua.providers.profiles import ModelLookup
from interlingua.providers.provider import (
    Kind,
    Provider,
    ProviderSetupError,
    Secret,
    UnknownProviderError,
)
from interlingua.providers.read import own_path
from interlingua.providers.read import providers as known_providers

_MOST = 1000
"""Models whose target and address are cached."""
AGENT = "interlingua"
"""Our User-Agent; some providers turn away requests without one."""

Key = str | Secret | Callable[[], str]
"""A key or a token, or a function that returns one, for those that expire."""


class Server(Protocol):
    """A server that was started for us."""

    base_url: str
    key: Secret


Address = str | Callable[[], str | Server]
"""A base URL, or a function that has it, for servers that are started when they are needed."""
LOCAL = "local"


class Prepared(msgspec.Struct, frozen=True, eq=False):
    """A request ready to be sent, and its losses."""

    target: Target
    http: HttpRequest
    report: Report
    answer_adapter: AnswerAdapter | None = None
    """Translates the answer back if the request was changed for the model."""
    turns: WrittenTurns | None = None
    """The turns of its body, where they are remembered."""

    def with_headers(self, extra: Mapping[str, str]) -> Prepared:
        http = msgspec.structs.replace(self.http, headers={**self.http.headers, **extra})
        return msgspec.structs.replace(self, http=http)


OLLAMA = "ollama"
LEAST_CONTEXT = 4096
"""The default context of Ollama without `num_ctx`, on the smallest machine."""


def _report_cut(request: Request, target: Target, report: Report) -> None:
    """Reports a prompt that the server will truncate silently, by our estimate of its tokens."""
    own = (request.raw or {}).get(OLLAMA)
    options = own.get("options") if isinstance(own, dict) else None
    limit = options.get("num_ctx") if isinstance(options, dict) else None
    from interlingua.profiles.estimate.estimator import estimate_input_tokens

    tokens = estimate_input_tokens(list(request.messages), request.tools, target.model)
    if isinstance(limit, int) and limit > 0:
        if tokens > limit:
            reason = because("prompt_cut", tokens=tokens, limit=limit)
            report.add("approximated", "$.messages", reason)
    elif tokens > LEAST_CONTEXT:
        reason = because("prompt_may_be_cut", tokens=tokens, limit=LEAST_CONTEXT)
        report.add("approximated", "$.messages", reason)


def _by_key(providers: Iterable[Any]) -> dict[str, Provider]:
    found = list(providers)
    if not all(isinstance(each, Provider) for each in found):
        raise TypeError(f"providers are a mapping or a list of providers; found {providers!r}")
    return {each.key: each for each in found}


class Targets:
    """Finds targets and their addresses. Keys and URLs in the environment are looked up once, when
    a model is first used."""

    def __init__(
        self,
        providers: Mapping[str, Provider] | Iterable[Provider] | None = None,
        *,
        aliases: Mapping[str, str] | None = None,
        environ: Mapping[str, str] | None = None,
        keys: Mapping[str, Key] | None = None,
        base_urls: Mapping[str, Address] | None = None,
        profiles: ProfileSource | Literal[False] = None,
        instructions: Instructions = "place",
        caching: Caching = "auto",
    ) -> None:
        """`profiles` are rules of what models accept, on top of the package's; without them, those
        of this machine's user; with False, requests are not adapted to any model. With
        `instructions="hoist"`, later instructions are moved to the front."""
        require_instructions(instructions)
        self._instructions, self._caching = instructions, require_caching(caching)
        if providers is None:
            providers = known_providers(own_path())
        elif not isinstance(providers, Mapping):
            providers = _by_key(providers)
        self.providers = providers
        self._provider_names = tuple(providers)
        self.model_lookup = ModelLookup(providers, profiles)
        self._aliases = aliases
        self.environ = os.environ if environ is None else environ
        self._keys, self._places = keys or {}, dict(base_urls or {})
        slow = [key for key, place in self._places.items() if callable(place)]
        slow += [key for key, each in providers.items() if each.credentials in CLOUDS]
        self.started = frozenset([LOCAL, *slow])
        """Providers whose server may have to be started, or whose credentials have to be fetched,
        before a request."""
        self.client_keys = any(each.credentials == "client" for each in providers.values())
        """Whether some of them are called with keys of the gateway's clients."""
        self._logins: dict[str, CloudLogin] = {}
        self._started: dict[str, tuple[str, Secret | None]] = {}
        self._found: dict[tuple[str, str | None, bool], Target] = {}
        self._ready: dict[tuple[str, tuple[Any, ...], str, Kind, bool], HttpRequest] = {}
        self._credentials: dict[tuple[str, tuple[Any, ...]], Credentials] = {}

    def find(
        self, model: str, dialect: str | None = None, *, dialect_is_default: bool = False
    ) -> Target:
        """The target of a model id or an alias. With `dialect_is_default` requests that need
        another dialect may use it."""
        dialect_is_default = dialect_is_default or dialect is None
        found = self._found.get((model, dialect, dialect_is_default))
        if found is None:
            id = self.id_of(model)
            key = model_name(id).provider
            if key not in self.providers:
                raise UnknownProviderError(key, self.providers)
            found = find_target(
                self.model_lookup,
                id,
                dialect,
                dialect_is_default=dialect_is_default,
                instructions=self._instructions,
                caching=self._caching,
            )
            if len(self._found) < _MOST:
                self._found[model, dialect, dialect_is_default] = found
        return found

    def id_of(self, name: str, first: str | None = None) -> str:
        """The model id for a name; names of the provider `first` are its own."""
        return resolve(name, self._aliases, self._provider_names, first)

    def for_request(self, target: Target, request: Request) -> Target:
        """The same model, in the dialect that this request needs."""
        if not target.dialect_is_default or target.profile is None:
            return target
        other = _compacting_dialect(target, request)
        rules = target.profile.speaks
        if other is None and (request.tools or request.raw):
            if rules.tools_dialect is None and rules.server_dialect is None:
                return target
            other = dialect_for_request(target.profile, request, target.provider.dialects)
        if other is None:
            return target
        found = self.find(target.model, other)
        if target.provider is not found.provider:
            found = found.deployed(target.deployment, target.provider)
        found = found.with_caching(target.caching)
        return found.fitted_to(target.profile) if target.fixed else found

    def key(self, provider: str) -> Key | None:
        """The key that a program gave for a provider."""
        return self._keys.get(provider)

    def place(self, provider: str) -> Address | None:
        """The address that a program gave for a provider."""
        return self._places.get(provider)

    def base_url(self, provider: Provider) -> str | None:
        """The address that a file or the environment has for a provider."""
        named = (self.environ.get(name) for name in provider.base_url_env)
        return provider.base_url or next((url for url in named if url), None)

    async def start(self, target: Target) -> None:
        """Starts the server, if it is one that is started on demand, and fetches the credentials if
        necessary."""
        key = target.provider.key
        if target.provider.credentials in CLOUDS and key not in self._keys:
            await self._log_in(target.provider)
        place = self._places.get(key)
        if place is None and key == LOCAL:
            place = self._local(target.provider)
        if callable(place):
            server = await asyncio.to_thread(place)
            found = (server, None) if isinstance(server, str) else (server.base_url, server.key)
            self._started[key] = found

    async def _log_in(self, provider: Provider) -> None:
        login = self._logins.get(provider.key)
        if login is None:
            login = self._logins[provider.key] = CloudLogin(provider)
        pending = login.begin()
        if pending is not None:
            with suppress(TimeoutError):  # then there are no credentials yet
                fetched = asyncio.shield(asyncio.wrap_future(pending))
                await asyncio.wait_for(fetched, provider.timeouts.first_byte)
        try:
            login.credentials()
        except ProviderSetupError as error:  # another provider may be asked meanwhile
            failed = NetworkError(error.problem, provider=provider.key)
            failed.phase, failed.sent = "connect", False
            raise failed from error

    def _local(self, provider: Provider) -> Address | None:
        """Starts the bundled local model, unless an address is configured."""
        if self.base_url(provider):
            return None
        from interlingua.local.server import shared

        self._places[LOCAL] = lambda: shared()
        return self._places[LOCAL]

    def prepare(
        self,
        request: Request,
        target: Target,
        stream: bool,
        source: str | None = None,
        conversation: History | None = None,
        owner: str | None = None,
    ) -> Prepared:
        """The request in the target's dialect, adapted to the model. `source` is the dialect that
        it was read from, if known, `conversation` the memory of earlier turns; `owner` is as for
        `adapt`."""
        target = self.for_request(target, request)
        requested = target.asking(request, stream)
        if conversation is not None:
            remembered = write_remembered(conversation, requested, target, source, owner=owner)
            if remembered is not None:
                written, body, turns = remembered
                return self.ready(written, target, stream, body, turns)
        written = write(adapt(requested, target, source, owner=owner))
        if target.dialect.name == OLLAMA and target.provider.key != LOCAL:
            _report_cut(requested, target, written.report)
        return self.ready(written, target, stream)

    def ready(
        self,
        written: Written,
        target: Target,
        stream: bool,
        body: bytes | None = None,
        turns: WrittenTurns | None = None,
    ) -> Prepared:
        """The HTTP request for a wire. `body` is its JSON, and `turns` the memory of it, if
        available."""
        wire = written.wire
        http = self.address(target, wire, "request", stream, body)
        paths = target.provider.dialects.get(target.dialect.name)
        if paths is not None and paths.older is not None and "messages" not in wire:
            url = http.url.removesuffix(paths.request) + paths.older
            http = msgspec.structs.replace(http, url=url)
        find = target.dialect.betas_of
        betas = find(wire) if turns is None else turns.betas(wire, find)
        if betas:
            http = _with_betas(http, betas)
        return Prepared(target, http, written.report, written.answer_adapter, turns)

    def address(
        self,
        target: Target,
        wire: Wire,
        kind: Kind,
        stream: bool = False,
        body: bytes | None = None,
        path: str | None = None,
    ) -> HttpRequest:
        """The HTTP request for a wire, with authentication. `path` is one besides those of the
        dialect."""
        provider, body = target.provider, encode(wire) if body is None else body
        access = target.own_access if target.deployment else ()
        which = (target.model, access, path or target.dialect.name, kind, stream)
        known_request = self._ready.get(which)
        if known_request is not None:
            return HttpRequest(
                known_request.url, known_request.headers, body, known_request.secrets
            )
        place = self._endpoint(target, kind, stream, path)
        known = self._credentials_of(target)
        ready = authorise(place, provider, known, body)
        packed = "identity" if stream else "gzip, deflate"
        headers = {"user-agent": AGENT, "accept-encoding": packed, **ready.headers}
        made = HttpRequest(ready.url, headers, body, _secrets(known, ready.headers))
        if self._may_keep(provider, known) and len(self._ready) < _MOST:
            self._ready[which] = HttpRequest(made.url, made.headers, b"", made.secrets)
        return made

    def _may_keep(self, provider: Provider, known: Credentials) -> bool:
        """Whether the next request will have the same address and headers: not if it is signed, or
        if either is computed for each request."""
        moving = callable(self._keys.get(provider.key)) or callable(self._places.get(provider.key))
        fetched = provider.credentials is not None
        return known.style != "aws-sigv4" and not moving and not fetched

    def _endpoint(
        self, target: Target, kind: Kind, stream: bool, path: str | None = None
    ) -> Endpoint:
        place = self._places.get(target.provider.key)
        if callable(place):
            place = self._started[target.provider.key][0]
        login = self._logins.get(target.provider.key)
        environ = self.environ
        if login is not None and login.variables:
            environ = ChainMap({}, cast("dict[str, str]", environ), login.variables)
        return endpoint(
            target.model,
            kind,
            stream,
            environ=environ,
            provider=target.provider,
            dialect=target.dialect.name,
            base_url=place,
            path=path,
        )

    def _credentials_of(self, target: Target) -> Credentials:
        provider, which = target.provider, (target.provider.key, target.own_access)
        if provider.credentials in CLOUDS and provider.key in self._logins:
            return self._logins[provider.key].credentials()
        known = self._credentials.get(which)
        if known is None:
            key = None if target.deployment else self._keys.get(provider.key)
            if key is None and provider.key in self._started:
                return credentials(provider, self.environ, self._started[provider.key][1])
            known = credentials(provider, self.environ, key)
            if not callable(key) and provider.credentials is None:
                self._credentials[which] = known
        return known


COMPACTING = {"openai": "openai-responses", "azure": "openai-responses"}
"""Providers that compact a conversation, in a dialect that need not be their usual one."""


def _compacting_dialect(target: Target, request: Request) -> str | None:
    """The dialect for a request that asks for compaction, or that contains the provider's own
    compaction."""
    dialect = COMPACTING.get(target.provider.key)
    if dialect is None or dialect == target.dialect.name or dialect not in target.provider.dialects:
        return None
    if request.options.compaction is not None or any(
        type(block) is CompactionBlock and is_from(block, dialect)
        for message in request.messages
        if message.role is Role.ASSISTANT
        for block in message.content
    ):
        return dialect
    return None


def _with_betas(http: HttpRequest, betas: list[str]) -> HttpRequest:
    """The request with the beta headers that its body needs."""
    already = http.headers.get(HEADER)
    names = [already, *betas] if already else betas
    headers = {**http.headers, HEADER: ",".join(names)}
    return HttpRequest(http.url, headers, http.body, http.secrets)


def _secrets(known: Credentials, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Header values that must not be shown."""
    held = (known.secret, known.session_token)
    texts = [each.reveal() for each in held if each is not None]
    authorization = headers.get("authorization")
    return (*texts, authorization) if authorization else tuple(texts)


PATIENCE = 0.5
"""Seconds that a server has for each step of its answer."""
REMEMBERED = 10.0
MOST_BYTES = 4 << 20

Reached = Mapping[str, tuple[str, ...] | None]
"""Each provider's model names as its server lists them; None if it has all known ones."""
_cache: dict[tuple[str, int], tuple[float, tuple[str, ...] | None]] = {}


def askable(targets: Targets) -> list[str]:
    """Ids of the models usable now, known ones first."""
    return of_reachable(reachable(targets), known_models())


def of_reachable(there: Reached, known: Iterable[str]) -> list[str]:
    """The known ids that these providers serve, and those that servers list themselves."""
    ours = [id for id in known if there.get(id.partition(":")[0], ()) is None]
    return [*ours, *[f"{key}:{name}" for key, names in there.items() for name in names or ()]]


def reachable(targets: Targets) -> Reached:
    """The providers that are usable now."""
    found: dict[str, tuple[str, ...] | None] = {}
    requests: dict[str, AuthorisedRequest] = {}
    for key, provider in targets.providers.items():
        if _runs_here(provider) and not callable(targets.place(key)):
            place = _list_of(targets, provider)
            if place is not None:
                requests[key] = place
        elif _is_configured(targets, provider):
            found[key] = None
    if requests:
        with ThreadPoolExecutor(len(requests)) as threads:
            listed = zip(requests, threads.map(_names, requests.values()), strict=True)
            found |= {key: names for key, names in listed if names is not None}
    return found


def _runs_here(provider: Provider) -> bool:
    """Whether it is a server that users run themselves, without a key."""
    return provider.key != LOCAL and any(
        auth.optional or auth.style == "none" for auth in provider.auth
    )


def _is_configured(targets: Targets, provider: Provider) -> bool:
    """Whether key and address of the provider are configured."""
    key = provider.key
    if targets.place(key) is not None or targets.key(key) is not None:
        return True
    if key == LOCAL and not targets.base_url(provider):
        return find_spec("xllamacpp") is not None
    try:
        credentials(provider, targets.environ)
        endpoint(f"{key}:x", environ=targets.environ, provider=provider)
    except InterlinguaError:
        return False
    return True


def _list_of(targets: Targets, provider: Provider) -> AuthorisedRequest | None:
    """The request for the server's list of models."""
    place = targets.place(provider.key)
    base_url = place if isinstance(place, str) else None
    id, environ = f"{provider.key}:x", targets.environ
    try:
        known = credentials(provider, environ, targets.key(provider.key))
        where = endpoint(id, "models", environ=environ, provider=provider, base_url=base_url)
        return authorise(where, provider, known)
    except InterlinguaError:
        return None


def _names(ready: AuthorisedRequest) -> tuple[str, ...] | None:
    """The names in a server's list; None if it does not answer."""
    which = (ready.url, hash(tuple(sorted(ready.headers.items()))))
    at, names = _cache.get(which, (-REMEMBERED, None))
    if time.monotonic() - at >= REMEMBERED:
        names = _fetch_names(ready)
        _cache[which] = (time.monotonic(), names)
    return names


def _fetch_names(ready: AuthorisedRequest) -> tuple[str, ...] | None:
    place = urlsplit(ready.url)
    is_secure = place.scheme == "https"
    connection = http.client.HTTPSConnection if is_secure else http.client.HTTPConnection
    way = connection(place.netloc, timeout=PATIENCE)
    try:
        way.request("GET", place.path, headers={"user-agent": AGENT, **ready.headers})
        reply = way.getresponse()
        body = reply.read(MOST_BYTES)
        return _read(body) if reply.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        way.close()


def _read(body: bytes) -> tuple[str, ...] | None:
    """The names in a list, as Ollama (`models`) or OpenAI (`data`) has it."""
    try:
        reply = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None
    entries: Any = reply.get("models") or reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(entries, list):
        return None if entries is not None else ()
    named = [each.get("model") or each.get("id") for each in entries if isinstance(each, dict)]
    return tuple(dict.fromkeys([each for each in named if isinstance(each, str) and each]))
