"""One TOML file as `Settings`, and everything that is wrong with it, each with its place.

    default_model = "local"              # where a request names none
    store = "postgresql://…"             # else the file in your data folder
    [listen]     host, port, workers, hosts, origins, notice_seconds, drain_seconds
    [limits]     body, answer, headers, header_seconds, body_seconds, …
    [retry]      max_retries, first, longest, jitter, patience
    [telemetry]  trace, metrics, spans, log, log_level, loss_seconds
    [tasks]      folders, servers, confirm_seconds, rounds
    [routes.fast]
    model = "anthropic:claude-haiku-4-5"
    fallbacks = ["openai:gpt-5-mini"]

Keys of providers are not here: they are in the environment, or in the file of providers. Nothing is
asked of anybody while the file is checked.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import msgspec

from interlingua import config
from interlingua.client.retry import RetryPolicy
from interlingua.dialects.registry import dialects
from interlingua.errors import InterlinguaError, found
from interlingua.gateway.settings import Limits, Listen, RouteSettings, Settings, Tasks, Telemetry
from interlingua.model.exchange import ErrorKind

MOST_BYTES = 1 << 20
DEFAULT_MODEL = "local"
"""What a request without a model gets: the model that is always there."""
_SECTIONS: dict[str, type] = {
    "listen": Listen,
    "limits": Limits,
    "retry": RetryPolicy,
    "telemetry": Telemetry,
    "tasks": Tasks,
}
_PLAIN = (
    "default_model",
    "store",
    "providers_file",
    "fallback_on",
    "routes",
    "repair",
    "fetch_media",
)
_ROUTE = ("model", "fallbacks", "dialect", "passthrough", "fetch_media")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}")
_MOST_WORKERS = 256


class Problem(NamedTuple):
    """What is wrong, and where."""

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


def usual_path() -> Path:
    """The file that is read when none is named; it need not exist."""
    return config.config_folder() / "gateway.toml"


def load(path: Path | None = None) -> Settings:
    """The settings of a file; of the usual one, or the defaults, where none is named."""
    file = path or usual_path()
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
    """The settings that a file's text says."""
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
            default_model=self._value(table, "default_model", str, DEFAULT_MODEL),
            store=self._value(table, "store", str, None),
            providers_file=self._path(table),
            fallback_on=self._kinds(table),
            repair=self._value(table, "repair", bool, True),
            fetch_media=self._value(table, "fetch_media", bool, False),
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
        said = self._table(table, name, "")
        hints = get_type_hints(kind)
        names = [f.name for f in fields(kind)] if is_dataclass(kind) else list(hints)
        self._known(said, f"{name}.", names)
        made = {
            key: self._value(said, key, hints[key], None, f"{name}.")
            for key in names
            if key in said
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
        for name, said in table.items():
            place = f"routes.{name}"
            if not _NAME.fullmatch(name):
                self._add(place, "a name has letters, digits and . _ / @ : - only")
            if not isinstance(said, dict):
                self._add(place, f"expected a table, found {found(said)}")
                continue
            self._known(said, f"{place}.", _ROUTE)
            if "model" not in said:
                self._add(f"{place}.model", "missing")
            dialect = self._value(said, "dialect", str, None, f"{place}.")
            if dialect is not None and dialect not in dialects():
                self._add(f"{place}.dialect", f"unknown dialect {dialect!r}")
                dialect = None
            routes[name] = RouteSettings(
                self._value(said, "model", str, "", f"{place}."),
                tuple(self._value(said, "fallbacks", list[str], [], f"{place}.")),
                dialect,
                self._value(said, "passthrough", bool, False, f"{place}."),
                self._value(said, "fetch_media", bool, None, f"{place}."),
            )
        return routes

    def _path(self, table: Mapping[str, Any]) -> Path | None:
        said = self._value(table, "providers_file", str, None)
        return None if said is None else self._file.parent / Path(said).expanduser()

    def _kinds(self, table: Mapping[str, Any]) -> frozenset[ErrorKind]:
        usual = Settings().fallback_on
        return frozenset(self._value(table, "fallback_on", list[ErrorKind], usual))

    def _table(self, table: Mapping[str, Any], name: str, place: str) -> dict[str, Any]:
        said = table.get(name, {})
        if isinstance(said, dict):
            return said
        self._add(place + name, f"expected a table, found {found(said)}")
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

    def _known(self, table: Mapping[str, Any], place: str, names: Any) -> None:
        for name in table:
            if name not in names:
                self._add(place + name, f"unknown setting; known: {', '.join(names)}")

    def _add(self, place: str, text: str) -> None:
        self.problems.append(Problem(place, text))


_MAY_BE_ZERO = frozenset(
    {
        *("listen.port", "listen.notice_seconds", "listen.drain_seconds"),
        *("retry.max_retries", "retry.jitter", "retry.first", "retry.patience"),
    }
)
