"""One TOML file as `Settings`, and everything that is wrong with it, each with its place.

    default_model = "local"              # where a request names none
    store = "postgresql://…"             # unless INTERLINGUA_STORE names one; else your own file
    [listen]     host, port, workers, hosts, origins, notice_seconds, drain_seconds
    [limits]     body, answer, headers, header_seconds, body_seconds, …
    [retry]      max_retries, first, longest, jitter, patience
    [telemetry]  trace, metrics, spans, log, log_level, loss_seconds
    [tasks]      folders, servers, confirm_seconds, rounds, delegate, delegate_models, …
    [retention]  requests, losses, events, answers (days; 0: for ever), request_rows, …
    [compaction] model, summary_tokens
    [routes.fast]
    model = "anthropic:claude-haiku-4-5"
    fallbacks = ["openai:gpt-5-mini"]
    [routes.pool]
    models = [{model = "openai:gpt-5", weight = 3}, {model = "azure:gpt-5", key = "env:AZURE_KEY"}]
    [providers.openai]
    keys = ["env:OPENAI_KEY_1", "env:OPENAI_KEY_2"]

Keys of providers are not here: they are in the environment, or in the file of providers. Checking
the file sends no requests.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import msgspec

from interlingua import config
from interlingua.adapt.caching import CACHINGS
from interlingua.client.retry import RetryPolicy
from interlingua.client.targets import LOCAL, Target, Targets
from interlingua.costs.table import PriceTable, bundled, own_table
from interlingua.dialects.registry import dialects
from interlingua.errors import InterlinguaError, found
from interlingua.gateway.pools import Member, members_of
from interlingua.gateway.settings import (
    REDACTIONS,
    WILDCARD,
    AlertSettings,
    BatchSettings,
    Compaction,
    Limits,
    Listen,
    PoolMember,
    ProviderSettings,
    Retention,
    RouteSettings,
    Settings,
    Tasks,
    Telemetry,
    find_route,
)
from interlingua.model.exchange import ErrorKind
from interlingua.providers.credentials import credentials
from interlingua.providers.endpoint import endpoint
from interlingua.providers.provider import Provider
from interlingua.providers.read import own_path, providers

MOST_BYTES = 1 << 20
DEFAULT_MODEL = "local"
"""The model for requests without one: always available."""
_SECTIONS: dict[str, type] = {
    "listen": Listen,
    "limits": Limits,
    "retry": RetryPolicy,
    "telemetry": Telemetry,
    "tasks": Tasks,
    "retention": Retention,
    "compaction": Compaction,
    "batches": BatchSettings,
    "alerts": AlertSettings,
}
_PLAIN = (
    "default_model",
    "store",
    "providers_file",
    "fallback_on",
    "routes",
    "providers",
    "repair",
    "fetch_media",
    "transcripts",
    "caching",
    "redaction",
)
_ROUTE = [field.name for field in fields(RouteSettings)]
_NUMBERS = (
    *("retries", "timeout", "first_byte_timeout", "deadline"),
    *("default_max_tokens", "max_max_tokens"),
)
_VARIABLE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"(?=[A-Za-z0-9*])[A-Za-z0-9._/@:-]{0,199}\*?")
_MOST_WORKERS = 256


class Problem(NamedTuple):
    """The problem, and its place."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class ConfigError(InterlinguaError):
    """A file that cannot be used; `problems` are all of them."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self.file = file
        self.problems = problems
        super().__init__("\n".join([f"{file}: {problem}" for problem in problems]))


def load(path: Path | None = None) -> Settings:
    """The settings of a file; without a name those of the usual file, or the defaults."""
    file = path or config.gateway_path()
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        if path is None:
            return Settings(default_model=DEFAULT_MODEL)
        raise ConfigError(str(file), [Problem("file", "no such file")]) from None
    except OSError as error:
        text = f"cannot be read: {error.strerror or error}"
        raise ConfigError(str(file), [Problem("file", text)]) from None
    return read(data, file)


def read(data: bytes, file: Path) -> Settings:
    """Parses the text of a settings file."""
    reader = _Reader(file)
    settings = reader.read(data)
    if reader.problems:
        raise ConfigError(str(file), reader.problems)
    return settings


class _Reader:
    """Collects all that is wrong, not only the first thing."""

    def __init__(self, file: Path) -> None:
        self.problems: list[Problem] = []
        self._file = file

    def read(self, data: bytes) -> Settings:
        table = self._toml(data)
        self._known(table, "", (*_SECTIONS, *_PLAIN))
        made = {name: self._section(table, name, kind) for name, kind in _SECTIONS.items()}
        return Settings(
            **made,
            routes=self._routes(self._table(table, "routes", "")),
            providers=self._providers(self._table(table, "providers", "")),
            default_model=self._value(table, "default_model", str, DEFAULT_MODEL),
            store=config.store_address() or self._value(table, "store", str, None),
            providers_file=self._path(table),
            fallback_on=self._kinds(table),
            repair=self._value(table, "repair", bool, True),
            fetch_media=self._value(table, "fetch_media", bool, False),
            transcripts=self._value(table, "transcripts", bool, True),
            caching=self._word(table, "caching", CACHINGS, "") or "auto",
            redaction=self._word(table, "redaction", REDACTIONS, "") or "off",
            path=self._file,
        )

    def _toml(self, data: bytes) -> dict[str, Any]:
        if len(data) > MOST_BYTES:
            self._add("file", f"larger than {MOST_BYTES} bytes")
            return {}
        try:
            return tomllib.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            self._add("file", f"not TOML in UTF-8: {error}")
            return {}

    def _section(self, table: Mapping[str, Any], name: str, kind: type) -> Any:
        section = self._table(table, name, "")
        hints = get_type_hints(kind)
        names = [f.name for f in fields(kind)] if is_dataclass(kind) else list(hints)
        self._known(section, f"{name}.", names)
        made = {
            key: self._value(section, key, hints[key], None, f"{name}.")
            for key in names
            if key in section
        }
        for key, value in made.items():
            self._check(f"{name}.{key}", value)
        return kind(**{key: value for key, value in made.items() if value is not None})

    def _check(self, place: str, value: Any) -> None:
        """Numbers that make no sense."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return
        may_be_zero = place in _MAY_BE_ZERO
        if not (value >= 0 if may_be_zero else value > 0) or value == float("inf"):
            least = "0 or more" if may_be_zero else "more than 0"
            self._add(place, f"expected {least}, found {value}")
        elif place == "listen.port" and value > 65535:
            self._add(place, f"expected a port, found {value}")
        elif place == "listen.workers" and value > _MOST_WORKERS:
            self._add(place, f"expected at most {_MOST_WORKERS}, found {value}")

    def _routes(self, table: Mapping[str, Any]) -> dict[str, RouteSettings]:
        routes: dict[str, RouteSettings] = {}
        for name, raw_route in table.items():
            place = f"routes.{name}"
            if not _NAME.fullmatch(name):
                text = "a name has letters, digits and . _ / @ : - only, and may end in *"
                self._add(place, text)
            if not isinstance(raw_route, dict):
                self._add(place, f"expected a table, found {found(raw_route)}")
                continue
            route = self._route(raw_route, f"{place}.")
            if route is not None:
                routes[name] = route
        return routes

    def _word(self, table: Mapping[str, Any], name: str, words: Sequence[str], place: str) -> Any:
        """One of several words; None if it is not set."""
        found = self._value(table, name, str, None, place)
        if found is not None and found not in words:
            self._add(f"{place}{name}", f"expected one of {', '.join(words)}, found {found!r}")
            return None
        return found

    def _route(self, table: Mapping[str, Any], place: str) -> RouteSettings | None:
        self._known(table, place, _ROUTE)
        hints = get_type_hints(RouteSettings)
        made = {
            name: self._value(table, name, hints[name], None, place)
            for name in _ROUTE
            if name in table and name not in ("models", "caching")
        }
        for name in _NUMBERS:
            self._check(f"routes.{name}", made.get(name))
        dialect = made.get("dialect")
        if dialect is not None and dialect not in dialects():
            self._add(f"{place}dialect", f"unknown dialect {dialect!r}")
            made["dialect"] = None
        made["caching"] = self._word(table, "caching", CACHINGS, place)
        pool = self._pool(table, place)
        if ("model" in table) == bool(table.get("models")):
            self._add(f"{place}model", "expected exactly one of `model` and `models`")
            return None
        if pool:
            made.update(model=pool[0].model, models=pool)
        if not made.get("model"):
            return None
        return RouteSettings(**{key: value for key, value in made.items() if value is not None})

    def _pool(self, table: Mapping[str, Any], place: str) -> tuple[PoolMember, ...]:
        pool = []
        for number, raw in enumerate(self._value(table, "models", list[Any], [], place)):
            where = f"{place}models[{number}]"
            if isinstance(raw, str):
                raw = {"model": raw}
            try:
                member = msgspec.convert(raw, PoolMember)
            except msgspec.ValidationError as error:
                self._add(where, str(error).lower())
                continue
            self._known(raw, f"{where}.", [field.name for field in fields(PoolMember)])
            for name in ("weight", "rpm", "tpm"):
                self._check(f"{where}.{name}", getattr(member, name))
            self._variable(f"{where}.key", member.key)
            pool.append(member)
        return tuple(pool)

    def _providers(self, table: Mapping[str, Any]) -> dict[str, ProviderSettings]:
        known = {}
        for name, raw in table.items():
            place = f"providers.{name}."
            if not isinstance(raw, dict):
                self._add(f"providers.{name}", f"expected a table, found {found(raw)}")
                continue
            hints = get_type_hints(ProviderSettings)
            self._known(raw, place, hints, "; `base_url`, `key` and the rest go in providers.toml")
            made = {key: self._value(raw, key, hints[key], None, place) for key in hints}
            keys = made["keys"] = made["keys"] or ()
            for number, key in enumerate(keys):
                self._variable(f"{place}keys[{number}]", key)
            if keys and made["credentials"]:
                self._add(f"{place}credentials", "expected only one of `keys` and `credentials`")
            known[name] = ProviderSettings(**made)
        return known

    def _variable(self, place: str, text: str | None) -> None:
        """Keys themselves do not belong into this file."""
        if text is not None and not _VARIABLE.fullmatch(text):
            self._add(place, "expected env:NAME, the variable that holds the key")

    def _path(self, table: Mapping[str, Any]) -> Path | None:
        path = self._value(table, "providers_file", str, None)
        return None if path is None else self._file.parent / Path(path).expanduser()

    def _kinds(self, table: Mapping[str, Any]) -> frozenset[ErrorKind]:
        usual = Settings().fallback_on
        return frozenset(self._value(table, "fallback_on", list[ErrorKind], usual))

    def _table(self, table: Mapping[str, Any], name: str, place: str) -> dict[str, Any]:
        value = table.get(name, {})
        if isinstance(value, dict):
            return value
        self._add(place + name, f"expected a table, found {found(value)}")
        return {}

    def _value(
        self, table: Mapping[str, Any], name: str, kind: Any, usual: Any, place: str = ""
    ) -> Any:
        if name not in table:
            return usual
        try:
            return msgspec.convert(table[name], kind)
        except msgspec.ValidationError as error:
            self._add(place + name, str(error).lower().replace(" - at `$", " at `"))
            return usual

    def _known(self, table: Mapping[str, Any], place: str, names: Any, hint: str = "") -> None:
        for name in table:
            if name not in names:
                self._add(place + name, f"unknown setting; known: {', '.join(names)}{hint}")

    def _add(self, place: str, text: str) -> None:
        self.problems.append(Problem(place, text))


_MAY_BE_ZERO = frozenset(
    {
        *("listen.port", "listen.notice_seconds", "listen.drain_seconds"),
        *("retry.max_retries", "retry.jitter", "retry.first", "retry.patience", "routes.retries"),
        *[f"retention.{field.name}" for field in fields(Retention)],
    }
)


class Row(NamedTuple):
    """One line of the routing table: a name's target, and why it is unavailable."""

    name: str
    model: str
    dialect: str
    problem: str | None = None


def targets_of(settings: Settings) -> Targets:
    """The available targets. A provider with several keys also has one of its own, for requests
    outside of pools: lists of models, turns of sessions and tasks."""
    known = dict(providers(settings.providers_file or own_path()))
    for name, own in settings.providers.items():
        if own.keys and name in known and known[name].auth:
            first, *others = known[name].auth
            variables = tuple([key.removeprefix("env:") for key in own.keys])
            first = msgspec.structs.replace(first, env=(*variables, *first.env))
            known[name] = msgspec.structs.replace(known[name], auth=(first, *others))
        if own.credentials and name in known:
            source = {"credentials": own.credentials, "aws_profile": own.aws_profile}
            source["api_key"] = None
            known[name] = msgspec.structs.replace(known[name], **source)
    return Targets(known)


def table(settings: Settings, targets: Targets | None = None) -> list[Row]:
    """The routes of a gateway, each with its fallbacks; then every provider. A missing key is no
    error, because it may be set later."""
    targets = targets or targets_of(settings)
    rows: list[Row] = []
    try:
        prices = own_table()
    except InterlinguaError:  # which `check` reports
        prices = bundled()
    keys = {name: each.keys for name, each in settings.providers.items()}
    if settings.default_model:
        rows += _rows("(no model named)", _default_route(settings), targets, keys, prices)
    for name, route in settings.routes.items():
        rows += _rows(name, route, targets, keys, prices)
    for key, each in targets.providers.items():
        names = ", ".join(each.dialects)
        rows.append(Row(f"{key}:…", f"any model of {key}", names, _unset(each)))
    return rows


def _default_route(settings: Settings) -> RouteSettings:
    name = settings.default_model or DEFAULT_MODEL
    return find_route(settings.routes, name) or RouteSettings(name)


def check(settings: Settings) -> list[Problem]:
    """The problems of settings that can be read: routes without a target."""
    try:
        targets = targets_of(settings)
    except InterlinguaError as error:
        return [Problem("providers_file", str(error))]
    problems: list[Problem] = []
    try:
        own_table()
    except InterlinguaError as error:
        problems.append(Problem(config.prices_path().name, str(error)))
    named = {f"routes.{name}": route for name, route in settings.routes.items()}
    if settings.default_model and settings.default_model not in settings.routes:
        named["default_model"] = _default_route(settings)
    unknown = [name for name in settings.providers if name not in targets.providers]
    problems += [Problem(f"providers.{name}", "no such provider") for name in unknown]
    for place, route in named.items():
        first: Provider | None = None
        size = len(route.models) or 1
        for number, model in enumerate(_models(route)):
            try:
                found = targets.find(model, route.dialect if number < size else None)
            except InterlinguaError as error:
                problems.append(Problem(place, str(error)))
                continue
            first = first or found.provider
            problems += [Problem(place, text) for text in _target_problems(found, first)]
    return problems


def warnings(settings: Settings) -> list[Problem]:
    """Settings that have no effect with the variables of this environment."""
    variable = settings.alerts.secret.removeprefix("env:")
    if not settings.alerts.url or os.environ.get(variable):
        return []
    return [Problem("alerts", f"not sent until {variable} has the secret that signs them")]


def _target_problems(target: Target, first: Provider) -> list[str]:
    """The problems of a route's target whose first provider is known."""
    found, provider = [], target.provider
    if target.dialect.name not in provider.dialects:
        found.append(f"{provider.key} does not support {target.dialect.name}")
    if provider.credentials == "client" and provider.key != first.key:
        found.append(
            f"{target.model} is never used: a client's own key is sent only to the first provider"
            f" of a route, here {first.key}"
        )
    return found


def _models(route: RouteSettings) -> tuple[str, ...]:
    """The models of a route's pool, then its fallbacks."""
    return (
        *([each.model for each in route.models] or [route.model]),
        *route.fallbacks,
        *route.larger,
    )


def _rows(
    name: str,
    route: RouteSettings,
    targets: Targets,
    keys: Mapping[str, tuple[str, ...]],
    prices: PriceTable,
) -> list[Row]:
    """The deployments of a route's pool, then its fallbacks."""
    rows: list[Row] = []
    for each in route.models or (PoolMember(route.model),):
        try:
            pool = [(each, targets.find(each.model, route.dialect))]
        except InterlinguaError as error:
            rows.append(Row("", each.model, "", str(error)))
            continue
        shows_weight = len(route.models) > 1
        rows += [_member_row(made, shows_weight, prices) for made in members_of(pool, keys)]
    pool_size = len(rows)
    for model in (*route.fallbacks, *route.larger):
        try:
            found = targets.find(model)
        except InterlinguaError as error:
            rows.append(Row("", model, "", str(error)))
            continue
        rows.append(Row("", found.model, found.dialect.name, _problem(found, prices)))
    names = [name, *[f"  or {n}" if n < pool_size else f"  then {n}" for n in range(1, len(rows))]]
    return [row._replace(name=label) for label, row in zip(names, rows, strict=True)]


def _member_row(member: Member, shows_weight: bool, prices: PriceTable) -> Row:
    """One deployment, with the variable of its own key, and with its weight in a pool."""
    target, provider = member.target, member.target.provider
    own = [] if not target.deployment else [name for auth in provider.auth for name in auth.env]
    facts = [*own, *([f"weight {member.weight:g}"] if shows_weight else [])]
    text = f"{target.model} ({', '.join(facts)})" if facts else target.model
    problem = _problem(target, prices)
    if own and problem is not None and problem.startswith("no key"):
        problem = f"no key: set {' or '.join(own)}"
    return Row("", text, target.dialect.name, problem)


def _problem(target: Target, prices: PriceTable) -> str | None:
    """Why a target of a route cannot be used, by any key or by some."""
    problem = _unset(target.provider, target)
    if problem is None and WILDCARD not in target.model and target.model not in prices:
        return "no price, so keys with a cap skip it; set one in prices.toml"
    return problem


def _unset(provider: Provider, target: Target | None = None) -> str | None:
    """The setting that is missing for a provider; of a target, its address as well."""
    try:
        credentials(provider, os.environ)
        if target is not None and provider.key != LOCAL:
            dialect = target.dialect.name
            endpoint(target.model, environ=os.environ, provider=provider, dialect=dialect)
    except InterlinguaError as error:
        return str(error).partition(": ")[2]
    return None
