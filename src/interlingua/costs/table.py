"""Price tables: what each model costs for a million tokens, under a version.

The package has tables as data, one file per version; `bundled()` is the newest. A user's own file
(TOML, JSON or YAML) of the same form can be laid over one. Prices are decimals as written,
never floats.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache, lru_cache
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from interlingua import config
from interlingua.errors import MissingExtraError, ReadError
from interlingua.model.codec import dumps
from interlingua.profiles.names import KnownNames, model_name, resolved, unknown

if TYPE_CHECKING:
    from interlingua.costs.cost import Cost


_FINEST = 18
"""Decimal places a price may have, so that every cost is an exact decimal."""
_HIGHEST = Decimal(10) ** 9
_PATH = re.compile(r" - at `\$(.*)`$")

_RENAME = {
    name: f"{name}_per_mtok_usd"
    for name in (
        "input",
        "output",
        "cached_read",
        "cache_write",
        "cache_write_1h",
        "cache_write_12h",
        "audio_input",
        "audio_output",
        "image_input",
        "image_output",
    )
}


class Rates(msgspec.Struct, frozen=True, rename=_RENAME, forbid_unknown_fields=True):
    """US dollars for a million tokens of each kind.

    Where a provider has no price of its own for cached tokens, it bills them as fresh ones; where
    it has none for the longer cache, as a write to the shorter one; where it has none for sound and
    images, as text.
    """

    input: Decimal
    output: Decimal
    cached_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None
    cache_write_12h: Decimal | None = None
    audio_input: Decimal | None = None
    audio_output: Decimal | None = None
    image_input: Decimal | None = None
    image_output: Decimal | None = None

    def __post_init__(self) -> None:
        for name, key in _RENAME.items():
            _check(key, getattr(self, name))


SHORT_LIFETIMES = frozenset({"5m", "30m"})
"""Lifetimes of the cheapest cache writes."""


def _check(key: str, rate: Decimal | None) -> None:
    if rate is None:
        return
    if not rate.is_finite() or not 0 <= rate <= _HIGHEST:
        raise ValueError(f"{key} is not a valid price: {rate}")
    exponent = rate.normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > _FINEST:
        raise ValueError(f"{key} has more than {_FINEST} decimal places")


class Tier(Rates, frozen=True, kw_only=True):
    """Rates of a whole request, output included, whose prompt is larger than this."""

    above_prompt_tokens: int


class Hours(Rates, frozen=True, kw_only=True):
    """Rates at certain hours of every day, in UTC; the end is no part of them."""

    from_utc: time
    until_utc: time

    def holds(self, at: time) -> bool:
        if self.from_utc <= self.until_utc:
            return self.from_utc <= at < self.until_utc
        return at >= self.from_utc or at < self.until_utc


class Period(Rates, frozen=True, kw_only=True):
    """Rates that hold from one day to another; the last day is no part of them."""

    valid_from: date | None = None
    valid_until: date | None = None
    tiers: tuple[Tier, ...] = ()
    hours: tuple[Hours, ...] = ()

    def __post_init__(self) -> None:
        Rates.__post_init__(self)
        if self.tiers and self.hours:
            raise ValueError("prices by prompt size and by hour in one entry are not supported")

    def holds(self, day: date) -> bool:
        return (self.valid_from is None or self.valid_from <= day) and (
            self.valid_until is None or day < self.valid_until
        )


class Extras(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Charges besides the rates: `modes` are factors on all token rates by service tier, `uses` are
    dollars per thousand runs of the provider's own tools, by kind."""

    modes: dict[str, Decimal] = {}
    uses: dict[str, Decimal] = msgspec.field(default={}, name="uses_per_thousand_usd")
    source: str | None = None

    def __post_init__(self) -> None:
        for name, prices in (("modes", self.modes), ("uses_per_thousand_usd", self.uses)):
            for key, rate in prices.items():
                _check(f"{name}.{key}", rate)


class ModelPrice(Period, frozen=True, kw_only=True):
    """One entry of a table: the rates in force at its version, and those of other times."""

    modes: dict[str, Decimal] = {}
    """Factors on all token rates by service tier, where they are not those of the provider."""
    uses: dict[str, Decimal] = msgspec.field(default={}, name="uses_per_thousand_usd")
    """The same for runs of the provider's own tools."""
    source: str | None = None
    """The source of the figures: a key of the table's `sources`, or free text."""
    also: tuple[str, ...] = ()
    """Other names of the model with the same provider."""
    other_periods: tuple[Period, ...] = ()

    def period(self, day: date | None) -> Period | None:
        """The rates on a day; without a day those of the entry itself."""
        if day is None:
            return self
        return next((p for p in (self, *self.other_periods) if p.holds(day)), None)


class _Data(msgspec.Struct, frozen=True):
    pricing_version: str
    models: dict[str, ModelPrice]
    sources: dict[str, str] = {}
    embeddings: dict[str, ModelPrice] = {}
    providers: dict[str, Extras] = {}


class PriceTable:
    """A version and the prices of models, looked up by `<provider>:<name>`."""

    def __init__(
        self,
        version: str,
        models: Mapping[str, ModelPrice],
        sources: Mapping[str, str] | None = None,
        embeddings: Mapping[str, ModelPrice] | None = None,
        providers: Mapping[str, Extras] | None = None,
    ) -> None:
        self.version = version
        self.models = dict(models)
        self.embeddings = dict(embeddings or {})
        """Models that make vectors, which no list of models to talk to has."""
        self.sources = dict(sources or {})
        self.entries = {**self.embeddings, **self.models}
        self.providers = dict(providers or {})
        self._ids: dict[str, str] = {}
        for id, entry in self.entries.items():
            provider = model_name(id).provider
            self._ids.update((f"{provider}:{name}", id) for name in entry.also)
        self._ids.update((id, id) for id in self.entries)
        self._known = KnownNames(self._ids)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PriceTable:
        """A table from parsed JSON, TOML or YAML. Floats count as the decimals they print as."""
        return cls._read(_decimals(data), "price table")

    @classmethod
    def load(cls, path: str | Path | Traversable) -> PriceTable:
        """A table from a file: `.json`, `.yaml` or `.yml`, or TOML."""
        file = Path(path) if isinstance(path, str) else path
        what = f"price table {file.name}"
        try:
            raw = file.read_bytes()
            if file.name.endswith(".json"):
                parsed = msgspec.json.Decoder(float_hook=Decimal).decode(raw)
            elif file.name.endswith((".yaml", ".yml")):
                parsed = _read_yaml(raw.decode())
            else:
                parsed = tomllib.loads(raw.decode(), parse_float=Decimal)
        except OSError as error:
            raise ReadError(what, found=error.strerror or type(error).__name__) from error
        except (msgspec.DecodeError, ValueError) as error:
            raise ReadError(what, found=str(error)) from None
        return cls._read(parsed, what)

    @classmethod
    def _read(cls, parsed: Any, what: str) -> PriceTable:
        try:
            data = msgspec.convert(parsed, _Data, strict=False)
        except msgspec.ValidationError as error:
            raise _read_error(what, parsed, error) from None
        try:
            tables = (data.sources, data.embeddings, data.providers)
            return cls(data.pricing_version, data.models, *tables)
        except ValueError as error:
            raise ReadError(what, "$.models", found=str(error)) from None

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, which `from_dict` reads; prices are texts, digit for digit."""
        models = {id: _entry_dict(entry) for id, entry in self.models.items()}
        data: dict[str, Any] = {"pricing_version": self.version, "models": models}
        if self.embeddings:
            listed = self.embeddings.items()
            data["embeddings"] = {id: _entry_dict(entry) for id, entry in listed}
        if self.sources:
            data["sources"] = dict(self.sources)
        if self.providers:
            data["providers"] = {name: _entry_dict(each) for name, each in self.providers.items()}
        return data

    def under(self, version: str) -> PriceTable:
        """The same prices under another version."""
        return PriceTable(version, self.models, self.sources, self.embeddings, self.providers)

    def overlay(self, other: PriceTable) -> PriceTable:
        """This table with the entries of another added or put in place of its own. The version
        names both."""
        version = f"{self.version}+{other.version}"
        sources = {**self.sources, **other.sources}
        providers = {**self.providers, **other.providers}
        embeddings = {**self.embeddings, **other.embeddings}
        models = {**self.models, **other.models}
        return PriceTable(version, models, sources, embeddings, providers)

    def mode(self, id: str, tier: str) -> Decimal | None:
        """The factor of a service tier for an entry; None where the table has none."""
        own = self.entries[id].modes.get(tier)
        if own is not None:
            return own
        extras = self.providers.get(model_name(id).provider)
        return None if extras is None else extras.modes.get(tier)

    def use(self, id: str, kind: str) -> Decimal | None:
        """Dollars for a thousand runs of one of the provider's own tools; None where the table has
        no price for it."""
        own = self.entries[id].uses.get(kind)
        if own is not None:
            return own
        extras = self.providers.get(model_name(id).provider)
        return None if extras is None else extras.uses.get(kind)

    def find(self, model: str) -> str:
        """The id of a model's entry; raises `UnknownModelError` if there is none."""
        find = self._known.find
        id = find(model, variants=False) or find(resolved(model), variants=False)
        if id is None:
            raise unknown(model, f"price table {self.version}", self._ids)
        return id

    def priced_as(self, model: str, answered_by: str | None) -> str:
        """The model whose price an answer has: the one that answered, if the requested one has no
        price, such as a router."""
        if answered_by is None or model in self.entries or model in self:
            return model
        other = f"{model.partition(':')[0]}:{answered_by}"
        return other if other in self else model

    def __getitem__(self, model: str) -> ModelPrice:
        return self.entries[self.find(model)]

    def __contains__(self, model: str) -> bool:
        return self._known.find(model, variants=False) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    def __repr__(self) -> str:
        return f"PriceTable({self.version!r}, {len(self.models)} models)"

    def cost(
        self,
        model: str,
        *,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_input_tokens: int | None = None,
        cache_creation_input_tokens: int | None = None,
        cache_write_1h_tokens: int = 0,
        at: datetime | date | None = None,
    ) -> Cost:
        """The cost of these tokens. The three input counts are disjoint."""
        from interlingua.costs.cost import cost_of
        from interlingua.model.metadata import Usage

        usage = Usage(input_tokens, output_tokens, cached_input_tokens, cache_creation_input_tokens)
        return cost_of(usage, model, self, at, cache_write_1h_tokens)


def versions() -> list[str]:
    """The versions of the tables in the package, oldest first."""
    return list(_versions())


@cache
def _versions() -> list[str]:
    files = resources.files(__package__).joinpath("data").iterdir()
    return sorted(file.name.removesuffix(".json") for file in files if file.name.endswith(".json"))


@cache
def bundled(version: str | None = None) -> PriceTable:
    """A table of the package: the newest, or the one of a version, to recompute a cost that was
    recorded with it."""
    known = versions()
    if version is not None and version not in known:
        raise ReadError("price table", expected=f"one of {', '.join(known)}", found=repr(version))
    file = resources.files(__package__).joinpath("data", f"{version or known[-1]}.json")
    return PriceTable.load(file)


def _entry_dict(entry: ModelPrice | Extras) -> dict[str, Any]:
    fields = msgspec.to_builtins(entry)
    return {name: value for name, value in fields.items() if value not in (None, (), [], {})}


def _read_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("a price file in YAML", "yaml") from None
    try:
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            if isinstance(event, yaml.AliasEvent):  # a few of them can stand for endless text
                raise ValueError(f"line {event.start_mark.line + 1}: an alias is not supported")
        return _plain(yaml.compose(text, Loader=yaml.BaseLoader))
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{line}{error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _plain(node: Any) -> Any:
    """A node of YAML as plain values. Scalars stay text, so prices are exact decimals, and no word
    becomes a boolean."""
    if node is None:
        return {}
    if node.id == "scalar":
        return None if node.style is None and node.value in ("", "~", "null") else node.value
    if node.id == "sequence":
        return [_plain(item) for item in node.value]
    read: dict[str, Any] = {}
    for key, item in node.value:
        if key.id != "scalar" or key.value in read:
            problem = (
                f"duplicate key {key.value!r}" if key.id == "scalar" else "expected a plain key"
            )
            raise ValueError(f"line {key.start_mark.line + 1}: {problem}")
        read[key.value] = _plain(item)
    return read


def _decimals(value: Any) -> Any:
    """Floats as the shortest decimal that prints the same: 0.3 is three tenths."""
    match value:
        case float():
            return Decimal(repr(value))
        case dict():
            return {key: _decimals(item) for key, item in value.items()}
        case list() | tuple():
            return [_decimals(item) for item in value]
        case _:
            return value


def _read_error(what: str, parsed: Any, error: msgspec.ValidationError) -> ReadError:
    """The error with its place; msgspec reports all of it but the name of the model."""
    text, path = str(error), "$"
    if place := _PATH.search(text):
        text, path = text[: place.start()], f"${place.group(1)}"
    if path.startswith("$.models[...]"):
        path = path.replace("[...]", f"[{_guilty(parsed['models'])!r}]", 1)
    return ReadError(what, path, found=text)


def _guilty(models: Mapping[str, Any]) -> str | None:
    for id, entry in models.items():
        try:
            msgspec.convert(entry, ModelPrice, strict=False)
        except msgspec.ValidationError:
            return id
    return None


def own_table() -> PriceTable:
    """The newest table, of the package or as it was refreshed, with the user's own prices over it
    where there are any."""
    path, newest = config.prices_path(), newest_table()
    return newest.overlay(PriceTable.load(path)) if path.exists() else newest


def newest_table() -> PriceTable:
    """The table that was refreshed on this machine, unless the package has a later one."""
    path = config.refreshed_prices_path()
    try:
        table = _refreshed(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return bundled()
    return table if table.version[:10] >= bundled().version else bundled()


@lru_cache(maxsize=1)
def _refreshed(path: Path, changed: int) -> PriceTable:
    """The table in a file, read again when the file has changed."""
    return PriceTable.load(path)


class PriceStore(Protocol):
    """A store, as far as price tables are concerned."""

    def prices(self, version: str) -> Mapping[str, Any]: ...


def table_of(version: str, store: PriceStore | None = None) -> PriceTable:
    """The table that a cost names: the package's, else the copy that the store made when it was
    used. So a cost can be recomputed long after its prices were changed."""
    if version in versions() or store is None:
        return bundled(version)
    return PriceTable.from_dict(store.prices(version))


def is_bundled(table: PriceTable) -> bool:
    """Whether this table is part of the package, and no copy of it needs to be stored."""
    if table.version not in versions():
        return False
    own = bundled(table.version)
    return table is own or (table.entries, table.providers) == (own.entries, own.providers)


def with_own_version(table: PriceTable) -> PriceTable:
    """The table under a version that no other prices have: for one whose version names others
    already."""
    digest = sha256(dumps(table.to_dict())).hexdigest()[:8]
    return table.under(f"{table.version}.{digest}")
