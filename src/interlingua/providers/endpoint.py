"""Addresses of requests. Pure functions of a provider, a model and an environment; keys come later
(`credentials.py`), and `adapt/request.py` writes the body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import quote, urlsplit

import msgspec

from interlingua.dialects.registry import traits_of
from interlingua.profiles.names import model_name
from interlingua.profiles.profile import Profile, profile_of
from interlingua.providers.provider import (
    Kind,
    MissingSettingError,
    Paths,
    Provider,
    ProviderSetupError,
)
from interlingua.providers.read import provider as find_provider
from interlingua.providers.read import url_problem

_VARIABLE = re.compile(r"\{([a-z_]+)\}")
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]*")
_ACCEPTED = {
    "aws": "application/vnd.amazon.eventstream",
    "ndjson": "application/x-ndjson",
    "sse": "text/event-stream",
}
_DOTS = re.compile(r"\.+")


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One address to ask, without credentials. `model` is the name as the wire has it."""

    method: Literal["GET", "POST"]
    url: str
    headers: dict[str, str]
    provider: str
    dialect: str
    model: str | None
    kind: Kind
    stream: bool
    region: str | None = None
    """The region to sign for, if the provider signs requests."""


def endpoint(
    model: str,
    kind: Kind = "request",
    stream: bool = False,
    *,
    environ: Mapping[str, str] | None = None,
    provider: Provider | None = None,
    dialect: str | None = None,
    base_url: str | None = None,
    path: str | None = None,
) -> Endpoint:
    """The endpoint of `<provider>:<name>`. Without `provider` it is the package's own of that name.

    `path` is one beside those that `kind` stands for. `base_url` comes before `environ`, and that
    before the provider's own address.
    """
    named = model_name(model)
    provider = provider or find_provider(named.provider)
    if provider.key != named.provider:
        raise ProviderSetupError(provider.key, f"{model!r} is a model of {named.provider!r}")
    dialect = dialect or dialect_for(model, provider)
    paths = _paths(provider, dialect)
    path = path or _path(provider, paths, kind, stream, dialect)
    environ = environ or {}
    values = _variables(provider, environ, path, _base(provider, environ, base_url, {})[1])
    base = _base(provider, environ, base_url, values)[0]
    values["model"] = _wire_name(provider, dialect, named.name)
    filled = _VARIABLE.sub(lambda found: quote(values[found[1]], safe=""), path)
    return Endpoint(
        method="GET" if kind == "models" else "POST",
        url=filled if filled.startswith("https://") else base.rstrip("/") + filled,
        headers=_headers(provider, dialect, kind, stream, paths.framing),
        provider=provider.key,
        dialect=dialect,
        model=None if kind == "models" else named.name,
        kind=kind,
        stream=stream and kind == "request",
        region=values.get("region"),
    )


def dialect_for(model: str, provider: Provider, profile: Profile | None = None) -> str:
    """The default dialect for a model. `profile` defaults to that of the package's rules."""
    name = model_name(model).name
    for pattern, dialect in provider.dialect_of.items():
        if fnmatchcase(name, pattern):
            return dialect
    if profile is None:
        like = provider.profile.like if provider.profile else None
        profile = profile_of(name, like or provider.key)
    rules = profile.speaks
    preferred = rules.dialect if rules.dialect in provider.dialects else provider.dialect
    if rules.dialects is None or preferred in rules.dialects:
        return preferred
    return next((each for each in rules.dialects if each in provider.dialects), preferred)


def speaks(provider: Provider, dialect: str, model: str) -> bool:
    """Whether a model accepts this dialect at this provider."""
    paths = provider.dialects.get(dialect)
    if paths is None:
        return False
    name = model_name(model).name
    for pattern, only in provider.dialect_of.items():
        if fnmatchcase(name, pattern):
            return dialect == only
    return not paths.models or any(fnmatchcase(name, pattern) for pattern in paths.models)


def _paths(provider: Provider, dialect: str) -> Paths:
    if dialect not in provider.dialects:
        supported = ", ".join(provider.dialects)
        raise ProviderSetupError(provider.key, f"does not support {dialect!r}, only {supported}")
    return provider.dialects[dialect]


def _path(provider: Provider, paths: Paths, kind: Kind, stream: bool, dialect: str) -> str:
    if kind == "request":
        return (paths.stream or paths.request) if stream else paths.request
    path = provider.models if kind == "models" else paths.count_tokens
    if path is None:
        what = "list its models" if kind == "models" else f"count tokens in {dialect}"
        raise ProviderSetupError(provider.key, f"no endpoint to {what}")
    return path


def _base(
    provider: Provider, environ: Mapping[str, str], base_url: str | None, values: Mapping[str, str]
) -> tuple[str, str]:
    """The base address, filled in as far as values are known, and as it was before that."""
    named = next((environ[name] for name in provider.base_url_env if environ.get(name)), None)
    if base_url or named:
        url = _whole(base_url or named or "", provider)
    else:
        by = provider.elsewhere
        known = by.urls.get(values.get(by.variable, "")) if by else None
        url = known or provider.base_url or ""
    if not url:
        raise MissingSettingError(
            provider.key, "address", provider.base_url_env, provider.source, "base_url"
        )
    filled = _VARIABLE.sub(lambda found: values.get(found[1], "x"), url)
    problem = url_problem(filled)
    if problem:
        raise ProviderSetupError(provider.key, f"base address: {problem}")
    return filled, url


def _whole(url: str, provider: Provider) -> str:
    """An address without a scheme gets scheme and port of the provider's own (`OLLAMA_HOST`)."""
    if "://" in url:
        return url
    base = urlsplit(provider.base_url or "https://x")
    host, slash, path = url.partition("/")
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    if not host or host.startswith(":"):
        host = f"{base.hostname}{host}"
    if port is None and base.port:
        host = f"{host}:{base.port}"
    if host.startswith("0.0.0.0:"):  # what a server listens on is no address to ask
        host = "127.0.0.1" + host.removeprefix("0.0.0.0")
    return f"{base.scheme}://{host}{slash}{path}"


def _variables(
    provider: Provider, environ: Mapping[str, str], path: str, base: str
) -> dict[str, str]:
    values: dict[str, str] = {}
    by = provider.elsewhere
    variables = {*_VARIABLE.findall(path), *_VARIABLE.findall(base)}
    for name, variable in provider.variables.items():
        value = next((environ[each] for each in variable.env if environ.get(each)), None)
        value = value or variable.default
        if value is not None:
            if not _NAME.fullmatch(value):
                raise ProviderSetupError(provider.key, f"{name} may hold letters, digits and -")
            values[name] = value
        elif name in variables or (by and by.variable == name):
            field = f'variables.{name} = {{ default = "…" }}'
            raise MissingSettingError(provider.key, name, variable.env, provider.source, field)
    return values


def _wire_name(provider: Provider, dialect: str, name: str) -> str:
    name = name.removeprefix(traits_of(dialect).model_prefix)
    if _DOTS.fullmatch(name):
        raise ProviderSetupError(provider.key, f"{name!r} is not a model name")
    return name


def _headers(
    provider: Provider, dialect: str, kind: Kind, stream: bool, framing: str | None
) -> dict[str, str]:
    accept = "application/json"
    if stream and kind == "request":
        accept = _ACCEPTED[framing or traits_of(dialect).framing]
    headers = {"accept": accept}
    if kind != "models":
        headers["content-type"] = "application/json"
    return {**headers, **{name.lower(): value for name, value in provider.headers.items()}}
