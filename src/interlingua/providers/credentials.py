"""Credentials: finds a key, and puts it on a request at the last moment.

Keys are wrapped in `Secret`; a request that is ready to send does not show its headers when
printed.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn
from urllib.parse import quote, unquote, urlsplit

import msgspec

from interlingua.errors import a_type
from interlingua.providers.endpoint import Endpoint
from interlingua.providers.provider import (
    HIDDEN,
    Auth,
    MissingSettingError,
    Provider,
    ProviderSetupError,
    Secret,
    Style,
)
from interlingua.providers.read import own_path

ALGORITHM = "AWS4-HMAC-SHA256"


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    access_key: str,
    secret_key: str,
    session_token: str | None = None,
    region: str,
    service: str = "bedrock",
    at: datetime,
) -> dict[str, str]:
    """The headers to add to a request. All of `headers` are signed, and must be sent unchanged.

    `at` may be a few minutes off; AWS refuses more."""
    stamp = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    added = {"x-amz-date": stamp}
    if session_token is not None:
        added["x-amz-security-token"] = session_token
    signed = {"host": _host(url), **{k.lower(): v for k, v in headers.items()}, **added}
    signed = {name: " ".join(signed[name].split()) for name in sorted(signed)}
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    request = _canonical(method, url, signed, body)
    text = "\n".join((ALGORITHM, stamp, scope, hashlib.sha256(request).hexdigest()))
    key = signing_key(secret_key, stamp[:8], region, service)
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return {
        **added,
        "authorization": f"{ALGORITHM} Credential={access_key}/{scope}, "
        f"SignedHeaders={';'.join(signed)}, Signature={signature}",
    }


def signing_key(secret_key: str, day: str, region: str, service: str) -> bytes:
    """The secret, bound to a day, a region and a service."""
    key = b"AWS4" + secret_key.encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


def _canonical(method: str, url: str, signed: Mapping[str, str], body: bytes) -> bytes:
    parts = urlsplit(url)
    # The path is encoded once more than it is sent (every service but S3).
    path = quote(parts.path or "/", safe="/-_.~")
    lines = [f"{name}:{value}" for name, value in signed.items()]
    digest = hashlib.sha256(body).hexdigest()
    query = _query(parts.query)
    return "\n".join((method, path, query, *lines, "", ";".join(signed), digest)).encode()


def _query(query: str) -> str:
    pairs = [each.partition("=") for each in query.split("&") if each]
    encoded = [(_encoded(name), _encoded(value)) for name, _, value in pairs]
    return "&".join(f"{name}={value}" for name, value in sorted(encoded))


def _encoded(text: str) -> str:
    return quote(unquote(text), safe="-_.~")


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = parts.hostname or ""
    default_port = {"https": 443, "http": 80}.get(parts.scheme)
    return host if parts.port in (None, default_port) else f"{host}:{parts.port}"


_HEADERS: dict[Style, str] = {
    "x-api-key": "x-api-key",
    "x-goog-api-key": "x-goog-api-key",
    "api-key": "api-key",
}


_NOT_HERE = {
    "adc": "application default credentials must be fetched first, which clients and gateways do",
    "aws": "credentials of AWS must be fetched first, which clients and gateways do",
    "client": "requires the client's own key, and this request has none: send the key of the"
    " provider where its SDK puts it, and the key of the gateway as x-interlingua-key",
}
"""Why a request cannot be sent, by the source of its credentials."""


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """One set of credentials. `source` names the place of the secret."""

    style: Style
    source: str
    secret: Secret | None = None
    access_key: str | None = None
    session_token: Secret | None = None
    headers: dict[str, str] = {}
    """Sent along."""


class AuthorisedRequest:
    """A request with credentials on it. Printing, logging or pickling it does not show them."""

    __slots__ = ("headers", "method", "url")

    def __init__(self, method: str, url: str, headers: dict[str, str]) -> None:
        self.method = method
        self.url = url
        self.headers = headers

    def __repr__(self) -> str:
        url = self.url.partition("?")[0]
        return f"Ready({self.method} {url}, headers={HIDDEN})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a request with credentials is not pickled")


def credentials(
    provider: Provider,
    environ: Mapping[str, str],
    token: Callable[[], str] | str | Secret | None = None,
) -> Credentials:
    """The first credentials that are available: `token`, then the file, then variables in order.
    Those of a provider with `credentials` are fetched for each request: nothing can be sent with
    what is returned for it.

    `token` is a key or an access token, or a function that returns one (for those that expire). A
    `MissingSettingError` names every variable that was tried."""
    if token is not None:
        return _given(provider, token() if callable(token) else token)
    if provider.credentials is not None and provider.api_key is None:
        return Credentials(style=provider.auth[0].style, source=provider.credentials)
    if provider.api_key is not None:
        return Credentials(
            style=_first(provider).style, source=provider.source or "", secret=provider.api_key
        )
    for auth in provider.auth:
        found = _from_environment(provider, auth, environ)
        if found is not None:
            return found
    if any(auth.optional or auth.style == "none" for auth in provider.auth):
        return Credentials(style="none", source="")
    tried = [name for auth in provider.auth for name in auth.env]
    file = provider.source or str(own_path())
    ways = [way for auth in provider.auth for way in _ways(auth)]
    raise MissingSettingError(provider.key, "key", tried, file, "key", ways)


def authorise(
    endpoint: Endpoint,
    provider: Provider,
    credentials: Credentials,
    body: bytes = b"",
    at: datetime | None = None,
) -> AuthorisedRequest:
    """The request as it is sent. A signature is for this body and this moment (`at`, else now)."""
    headers, url = {**endpoint.headers, **credentials.headers}, endpoint.url
    if credentials.secret is None and provider.credentials is not None:
        raise ProviderSetupError(provider.key, _NOT_HERE[provider.credentials])
    if credentials.style == "none" or credentials.secret is None:
        return AuthorisedRequest(endpoint.method, url, headers)
    _refuse_open_air(url, provider)
    secret = credentials.secret.reveal()
    match credentials.style:
        case "bearer" | "google-token":
            headers["authorization"] = f"Bearer {secret}"
        case "query":
            url += f"{'&' if '?' in url else '?'}key={quote(secret, safe='')}"
        case "aws-sigv4":
            headers |= _signed(endpoint, provider, credentials, secret, body, at)
        case style:
            headers[_HEADERS[style]] = secret
    return AuthorisedRequest(endpoint.method, url, headers)


def with_client_key(provider: Provider, style: Style, key: Secret) -> Provider:
    """The provider with the key of one client, in the header that the client used, if the provider
    accepts it there."""
    key = _sendable(provider, key.reveal(), "the client")
    styles = [auth.style for auth in provider.auth]
    if style == "bearer" and "google-token" in styles:
        style = "google-token"
    chosen = Auth(style=style if style in styles else _first(provider).style)
    return msgspec.structs.replace(provider, auth=(chosen,), api_key=key)


def _signed(
    endpoint: Endpoint,
    provider: Provider,
    credentials: Credentials,
    secret: str,
    body: bytes,
    at: datetime | None,
) -> dict[str, str]:
    if endpoint.region is None or credentials.access_key is None:
        raise ProviderSetupError(provider.key, "signing needs a region and an access key id")
    return sign(
        endpoint.method,
        endpoint.url,
        endpoint.headers,
        body,
        access_key=credentials.access_key,
        secret_key=secret,
        session_token=credentials.session_token.reveal() if credentials.session_token else None,
        region=endpoint.region,
        at=at or datetime.now(UTC),
    )


def _given(provider: Provider, token: str | Secret | Any) -> Credentials:
    text = token.reveal() if isinstance(token, Secret) else token
    if not isinstance(text, str):
        problem = f"a token has to be a string, found {a_type(text)}"
        raise ProviderSetupError(provider.key, problem)
    return Credentials(
        style=_first(provider).style, source="the caller", secret=_sendable(provider, text, "key")
    )


def _first(provider: Provider) -> Auth:
    """The way to go with a single key; a signature needs more than that."""
    ways = [auth for auth in provider.auth if auth.style not in ("aws-sigv4", "none")]
    if not ways:
        raise ProviderSetupError(provider.key, "does not take an API key")
    return ways[0]


def _from_environment(
    provider: Provider, auth: Auth, environ: Mapping[str, str]
) -> Credentials | None:
    if auth.style == "none":
        return Credentials(style="none", source="")
    if auth.style == "aws-sigv4":
        return _aws(provider, auth, environ)
    for name in auth.env:
        text = environ.get(name, "").strip()
        if text:
            secret = _sendable(provider, text, name)
            return Credentials(style=auth.style, source=name, secret=secret)
    return None


def _ways(auth: Auth) -> list[str]:
    """The remedies: one of several variables; the id and the secret of a signature together."""
    if auth.style != "aws-sigv4" or len(auth.env) < 2:
        return list(auth.env)
    session = [f" (with {name}, if they are temporary)" for name in auth.env[2:]]
    return [f"both {' and '.join(auth.env[:2])}{''.join(session)}"]


def _aws(provider: Provider, auth: Auth, environ: Mapping[str, str]) -> Credentials | None:
    """The three variables in order: the id, the secret, and a token that may be missing."""
    access, secret, session = (*auth.env, "", "", "")[:3]
    if not environ.get(access) or not environ.get(secret):
        return None
    token = environ.get(session)
    return Credentials(
        style="aws-sigv4",
        source=secret,
        secret=_sendable(provider, environ[secret].strip(), secret),
        access_key=environ[access].strip(),
        session_token=_sendable(provider, token.strip(), session) if token else None,
    )


def _sendable(provider: Provider, text: str, source: str) -> Secret:
    """Checks that a key contains nothing that would end a header. The error does not show the
    key."""
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        problem = f"the key from {source} is empty or has invalid characters"
        raise ProviderSetupError(provider.key, problem)
    return Secret(text)


def _refuse_open_air(url: str, provider: Provider) -> None:
    """Keys go over https, to this machine, or over http if the user allows it."""
    parts = urlsplit(url)
    if parts.scheme == "https" or provider.insecure or _is_loopback(parts.hostname or ""):
        return
    problem = (
        "a key is not sent over plain http to another machine; set insecure = true to allow it"
    )
    raise ProviderSetupError(provider.key, problem)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
