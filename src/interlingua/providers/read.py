"""Providers from TOML: those of the package, and a user's file laid over them.

Both have the same form, so one reader checks both. A user's entry adds a provider, or changes some
fields of one that is there: tables are laid over field by field, anything else is replaced.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from interlingua.config import PROVIDERS, config_folder
from interlingua.dialects.openai_chat.tables import HOSTS
from interlingua.dialects.registry import dialects, traits_of
from interlingua.errors import found
from interlingua.model.ids import IdGrammar
from interlingua.providers.provider import (
    Provider,
    ProvidersFileError,
    Secret,
    ToolIds,
    UnknownProviderError,
)

MOST_BYTES = 1 << 20
MOST_ID = 4096
"""Characters of a tool id."""
_KEY = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_VARIABLE = re.compile(r"\{([a-z_]+)\}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class _FieldError(Exception):
    """The problem, and the keys that lead to it."""

    def __init__(self, problem: str, *path: str) -> None:
        self.problem = problem
        self.path = path


def read_providers(
    data: bytes, file: str, base: Mapping[str, dict[str, Any]] | None = None
) -> tuple[dict[str, Provider], dict[str, dict[str, Any]]]:
    """The providers of a file over those of `base`, and the tables they were made of.

    With a `base` this is a user's file: its entries are marked as the user's, and it may hold keys.
    """
    text = _text(data, file)
    try:
        entries = _entries(text)
        tables = {key: dict(table) for key, table in (base or {}).items()}
        made: dict[str, Provider] = {}
        for key, entry in entries.items():
            spelled = entry if base is None else _spelled_out(entry)
            under = tables.get(key) or ({} if base is None else _defaults(key, entry))
            tables[key] = _laid_over(under, spelled)
            made[key] = _provider(key, tables[key], file if base is not None else None)
    except tomllib.TOMLDecodeError as wrong:
        line = re.search(r"line (\d+)", str(wrong))
        raise ProvidersFileError(
            file, f"not TOML: {wrong}", None, int(line[1]) if line else None
        ) from None
    except _FieldError as wrong:
        field = ".".join(wrong.path) or None
        raise ProvidersFileError(file, wrong.problem, field, _line(text, wrong.path)) from None
    return made, tables


def read_file(
    path: Path, base: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, Provider], dict[str, dict[str, Any]]]:
    """The same from a path; a missing file is empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}, {}
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise ProvidersFileError(str(path), f"cannot be read: {reason}", None, None) from None
    return read_providers(data, str(path), base)


def compatible(key: str, base_url: str, dialect: str = "openai-chat", **fields: Any) -> Provider:
    """A provider for any server with a known dialect, from its address (`http://…/v1`)."""
    entry = {"base_url": base_url, "dialect": dialect, **fields}
    try:
        return _provider(key, _laid_over(_defaults(key, entry), _spelled_out(entry)), None)
    except _FieldError as wrong:
        field = ".".join(wrong.path)
        raise ProvidersFileError(f"provider {key!r}", wrong.problem, field, None) from None


def _text(data: bytes, file: str) -> str:
    if len(data) > MOST_BYTES:
        raise ProvidersFileError(file, f"larger than {MOST_BYTES} bytes", None, None)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        raise ProvidersFileError(file, "not UTF-8", None, line) from None


def _entries(text: str) -> dict[str, dict[str, Any]]:
    try:
        whole = tomllib.loads(text)
    except RecursionError:
        raise _FieldError("nested too deeply") from None
    for other in whole.keys() - {"providers"}:
        raise _FieldError("unknown field; providers are [providers.<key>]", other)
    entries = whole.get("providers", {})
    if not isinstance(entries, dict):
        raise _FieldError(f"expected tables, found {found(entries)}", "providers")
    for key, entry in entries.items():
        if not _KEY.fullmatch(key):
            raise _FieldError("a key is of a-z, 0-9, _, . and -", "providers", key)
        if not isinstance(entry, dict):
            raise _FieldError(f"expected a table, found {found(entry)}", "providers", key)
    return entries


def _defaults(key: str, entry: dict[str, Any]) -> dict[str, Any]:
    """Defaults for a provider that the package does not have."""
    dialect = entry.get("dialect", "openai-chat")
    traits = traits_of(dialect if isinstance(dialect, str) else "")
    variable = re.sub(r"[^A-Z0-9]", "_", key.upper())
    return {
        "auth": [{"style": "bearer", "env": [f"{variable}_API_KEY"], "optional": True}],
        "dialect": "openai-chat",
        "dialects": {dialect: traits.paths} if traits.paths else {},
        "models": traits.models_path,
        "switches": {"stream_usage": True, "max_tokens": "max_tokens", "developer": False},
    }


def _spelled_out(entry: dict[str, Any]) -> dict[str, Any]:
    """The short forms of a user's file: `key` is the key itself, and an address in it wins over
    the environment and the region."""
    entry = dict(entry)
    if "base_url" in entry:
        entry.setdefault("base_url_env", [])
        entry.setdefault("elsewhere", None)
    if "key" in entry:
        entry["api_key"] = entry.pop("key")
    return entry


def _laid_over(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for name, value in over.items():
        below = merged.get(name)
        both = isinstance(below, dict) and isinstance(value, dict)
        merged[name] = _laid_over(below or {}, value) if both else value
    return merged


def _provider(key: str, table: dict[str, Any], source: str | None) -> Provider:
    at = ("providers", key)
    if "source" in table:
        raise _FieldError("unknown field", *at, "source")
    secret = table.get("api_key")
    if secret is not None and not (isinstance(secret, str) and secret.strip()):
        raise _FieldError("expected a key as a string", *at, "key")
    plain = {name: value for name, value in table.items() if name != "api_key"}
    try:
        made = msgspec.convert({**plain, "key": key}, Provider)
    except msgspec.ValidationError as wrong:
        problem, _, place = str(wrong).partition(" - at `$")
        steps = re.findall(r"[^.\[\]`]+", place)
        named = re.search(r"(?:unknown|required) field `([^`]+)`", problem)
        raise _FieldError(problem, *at, *steps, *([named[1]] if named else [])) from None
    _check(made, at, bool(secret))
    return msgspec.structs.replace(
        made, api_key=Secret(secret.strip()) if secret else None, source=source
    )


def _check(provider: Provider, at: tuple[str, ...], has_key: bool) -> None:
    known = dialects()
    for dialect in provider.dialects:
        if dialect not in known:
            problem = f"no dialect {dialect!r}; there are {', '.join(known)}"
            raise _FieldError(problem, *at, "dialects", dialect)
    for field, dialect in [("dialect", provider.dialect), *provider.dialect_of.items()]:
        if dialect not in provider.dialects:
            problem = f"{dialect!r} has no paths; give them in dialects"
            where = (field,) if field == "dialect" else ("dialect_of", field)
            raise _FieldError(problem, *at, *where)
    if not provider.auth:
        raise _FieldError("expected at least one way; `none` is one", *at, "auth")
    if provider.credentials is not None and has_key:
        raise _FieldError("expected `key` or `credentials`, one of them", *at, "credentials")
    if provider.base_url is None and not provider.base_url_env:
        raise _FieldError("a base URL is required", *at, "base_url")
    if provider.base_url is not None:
        _check_url(provider.base_url, at, "base_url")
    for value, url in (provider.elsewhere.urls if provider.elsewhere else {}).items():
        _check_url(url, at, "elsewhere", "urls", value)
    for name, text in provider.headers.items():
        if not _HEADER.fullmatch(name) or not text.isprintable() or not text.isascii():
            raise _FieldError("not a header", *at, "headers", name)
    if provider.switches.host is not None and provider.switches.host not in HOSTS:
        problem = f"no host {provider.switches.host!r}; there are {', '.join(HOSTS)}"
        raise _FieldError(problem, *at, "switches", "host")
    if provider.switches.ids is not None:
        problem = _ids_problem(provider.switches.ids)
        if problem:
            raise _FieldError(problem, *at, "switches", "ids")
    _check_variables(provider, at)


def _ids_problem(ids: ToolIds) -> str:
    if not re.fullmatch(r"\[[^\^\[\]\\][^\[\]\\]*\]", ids.alphabet):
        return f"expected a character class as [a-zA-Z0-9_-], found {ids.alphabet[:80]!r}"
    if not 1 <= ids.shortest <= ids.longest <= MOST_ID:
        return f"expected lengths from 1 to {MOST_ID}, found {ids.shortest} and {ids.longest}"
    try:
        IdGrammar(ids.alphabet, ids.shortest, ids.longest).fit("")
    except (re.error, ValueError) as error:
        return f"the alphabet cannot be used: {error}"
    return ""


def _check_variables(provider: Provider, at: tuple[str, ...]) -> None:
    places: list[tuple[tuple[str, ...], str | None]] = [(("models",), provider.models)]
    places.append((("base_url",), provider.base_url))
    for number, each in enumerate(provider.embeddings):
        places.append((("embeddings", str(number)), each.path))
    for name, paths in provider.dialects.items():
        for field in ("request", "stream", "count_tokens"):
            places.append((("dialects", name, field), getattr(paths, field)))
    for where, text in places:
        if text is not None and where != ("base_url",) and not text.startswith(("/", "https://")):
            raise _FieldError("a path begins with /", *at, *where)
        for variable in _VARIABLE.findall(text or ""):
            if variable != "model" and variable not in provider.variables:
                raise _FieldError(f"{{{variable}}} is not in variables", *at, *where)


def _check_url(url: str, at: tuple[str, ...], *field: str) -> None:
    problem = url_problem(_VARIABLE.sub("x", url))
    if problem:
        raise _FieldError(problem, *at, *field)


def url_problem(url: str) -> str | None:
    """Why a base address cannot be used; None where it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "not an address"
    if parts.scheme not in ("http", "https") or not host or not url.isascii():
        return "expected an address of http or https"
    if any(c.isspace() or not c.isprintable() for c in url):
        return "an address has no spaces"
    if "@" in parts.netloc:
        return "an address may not contain a user name or a password"
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "a base address has no query and no fragment"
    return None


def _line(text: str, path: tuple[str, ...]) -> int | None:
    """The line of a field, or of the nearest table around it."""
    best: int | None = None
    depth = 0
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\s*\[+([^\]]+)\]+", line)
        if head:
            table = _names(head[1])
            full = table
        elif "=" in line:
            full = (*table, *_names(line.split("=", 1)[0]))
        else:
            continue
        common = min(len(full), len(path))
        if full[:common] == path[:common] and common > depth:
            best, depth = number, common
    return best


def _names(text: str) -> tuple[str, ...]:
    found_names = re.findall(r'"([^"]*)"|\'([^\']*)\'|([A-Za-z0-9_-]+)', text)
    return tuple(next(part for part in each if part) for each in found_names if any(each))


def own_path() -> Path:
    """The user's file of providers."""
    return config_folder() / PROVIDERS


def providers(file: Path | None = None) -> dict[str, Provider]:
    """Every provider by key. `file` is the user's, which need not exist; None: only ours."""
    bundled, tables = _bundled()
    if file is None:
        return dict(bundled)
    return {**bundled, **read_file(file, tables)[0]}


def provider(key: str, file: Path | None = None) -> Provider:
    """One provider; an `UnknownProviderError` names similar ones."""
    known = providers(file)
    if key not in known:
        raise UnknownProviderError(key, known, str(file) if file else None)
    return known[key]


@cache
def _bundled() -> tuple[dict[str, Provider], dict[str, dict[str, Any]]]:
    file = resources.files(__package__).joinpath("data", "providers.toml")
    made, tables = read_providers(file.read_bytes(), "providers.toml")
    return made, tables
