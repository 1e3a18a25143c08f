"""Prices from public collections, which are packages of a registry: figures, none of their code.

`litellm` has its prices as JSON in its wheel, `genai-prices` as Python literals, which are read as
a syntax tree. What both list alike is taken; where they differ, a model keeps the price it has.
"""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from interlingua.costs.cost import EXACT
from interlingua.costs.table import PriceTable
from interlingua.errors import ReadError

Entry = dict[str, Any]
_MOST_BYTES = 64 << 20
"""Bytes of a file inside a wheel that are read at the most."""
_MTOK = "_per_mtok_usd"


class Collection(NamedTuple):
    """Prices of one package, in the form of a price table, and the package with its version."""

    package: str
    models: dict[str, Entry]


def read_collection(path: Path, today: date) -> Collection:
    """The prices in a wheel of a known package."""
    try:
        with zipfile.ZipFile(path) as wheel:
            names = set(wheel.namelist())
            for package, (member, read) in PACKAGES.items():
                if member in names:
                    data = _member(wheel, member)
                    found = re.search(r"-(\d[^-]*)-", path.name)
                    version = f"{package} {found[1]}" if found else package
                    return Collection(version, dict(read(data, today)))
    except (OSError, zipfile.BadZipFile, ValueError, SyntaxError, msgspec.DecodeError) as error:
        raise ReadError(f"price collection {path.name}", found=str(error)) from None
    expected = f"a wheel of {' or '.join(PACKAGES)}"
    raise ReadError(f"price collection {path.name}", expected=expected, found="another file")


def _member(wheel: zipfile.ZipFile, name: str) -> bytes:
    if wheel.getinfo(name).file_size > _MOST_BYTES:
        raise ValueError(f"{name} is larger than {_MOST_BYTES} bytes")
    return wheel.read(name)


# litellm: one flat JSON object; dollars for one token, and a suffix for each condition

_LITELLM = {
    "anthropic": ("anthropic", ""),
    "azure": ("azure", "azure/"),
    "bedrock": ("bedrock", "bedrock/"),
    "bedrock_converse": ("bedrock", "bedrock/"),
    "cerebras": ("cerebras", "cerebras/"),
    "cohere_chat": ("cohere", ""),
    "deepseek": ("deepseek", "deepseek/"),
    "fireworks_ai": ("fireworks", "fireworks_ai/"),
    "gemini": ("gemini", "gemini/"),
    "groq": ("groq", "groq/"),
    "mistral": ("mistral", "mistral/"),
    "openai": ("openai", ""),
    "openrouter": ("openrouter", "openrouter/"),
    "perplexity": ("perplexity", "perplexity/"),
    "together_ai": ("together", "together_ai/"),
    "vertex_ai-anthropic_models": ("vertex", "vertex_ai/"),
    "vertex_ai-language-models": ("vertex", "vertex_ai/"),
    "xai": ("xai", "xai/"),
}
"""LiteLLM's names of providers: our name, and LiteLLM's prefix of model names."""
_KEYS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
    "cache_write_12h": "cache_creation_input_token_cost_above_12hr",
    "audio_input": "input_cost_per_audio_token",
    "audio_output": "output_cost_per_audio_token",
    "image_input": "input_cost_per_image_token",
    "image_output": "output_cost_per_image_token",
}
_SUFFIXES = {"batches": "batch", "flex": "flex", "priority": "priority", "ultrafast": "ultrafast"}
_FACTORS = ("fast", "us")
"""Faster answers and a region, which have factors in place of rates."""
_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


def _litellm(data: bytes, today: date) -> Iterator[tuple[str, Entry]]:
    listed = msgspec.json.Decoder(float_hook=Decimal).decode(data)
    for key, one in listed.items():
        place = _LITELLM.get(one.get("litellm_provider"))
        if place is None or one.get("mode") not in ("chat", "responses"):
            continue
        provider, before = place
        rates = _flat(one, "")
        if "input" in rates and "output" in rates:
            entry = _named(rates)
            if tiers := [_tier(one, name) for name in one if _ABOVE.fullmatch(name)]:
                entry["tiers"] = sorted(tiers, key=lambda tier: int(tier["above_prompt_tokens"]))
            modes = {word: _factor(rates, _flat(one, f"_{end}")) for end, word in _SUFFIXES.items()}
            factors = one.get("provider_specific_entry") or {}
            modes |= {
                word: Decimal(factors[word]) for word in _FACTORS if _is_price(factors.get(word))
            }
            yield f"{provider}:{key.removeprefix(before)}", _with(entry, modes, _uses(one))


def _flat(one: Mapping[str, Any], suffix: str) -> dict[str, Decimal]:
    """Rates of a million tokens under keys with this suffix."""
    found = {name: one.get(f"{key}{suffix}") for name, key in _KEYS.items()}
    return {name: _times(rate, 6) for name, rate in found.items() if _is_price(rate)}


def _tier(one: Mapping[str, Any], key: str) -> Entry:
    size = _ABOVE.fullmatch(key)
    assert size is not None
    rates = {**_flat(one, ""), **_flat(one, f"_above_{size[1]}k_tokens")}
    return {"above_prompt_tokens": int(size[1]) * 1000, **_named(rates)}


def _uses(one: Mapping[str, Any]) -> dict[str, Decimal]:
    by_size = set((one.get("search_context_cost_per_query") or {}).values())
    searches = by_size.pop() if len(by_size) == 1 else None
    uses = {"web_search": searches, "maps": one.get("google_maps_grounding_cost_per_query")}
    return {kind: _times(cost, 3) for kind, cost in uses.items() if _is_price(cost)}


def _is_price(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and value >= 0


def _times(rate: Any, zeros: int) -> Decimal:
    """So many times ten as much, in plain digits."""
    return Decimal(f"{EXACT.normalize(EXACT.scaleb(Decimal(rate), zeros)):f}")


# genai-prices: constructors with literals; dollars for a million tokens or a thousand uses

_GENAI = {
    "anthropic": "anthropic",
    "aws": "bedrock",
    "azure": "azure",
    "cerebras": "cerebras",
    "cohere": "cohere",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "google": "gemini",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
    "together": "together",
    "x-ai": "xai",
}
_GENAI_KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "audio_input": "input_audio_mtok",
    "audio_output": "output_audio_mtok",
    "image_input": "input_image_mtok",
    "image_output": "output_image_mtok",
}


def _genai(data: bytes, today: date) -> Iterator[tuple[str, Entry]]:
    providers = next(
        node.value
        for node in ast.parse(data).body
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "providers"
    )
    for provider in _value(providers) if providers is not None else ():
        name = _GENAI.get(provider["id"])
        for model in provider["models"] if name else ():
            prices = _today(model["prices"], today)
            rates = {ours: prices[key] for ours, key in _GENAI_KEYS.items() if key in prices}
            if "input" in rates and "output" in rates:
                yield f"{name}:{model['id']}", _genai_entry(rates, prices, model, today)


def _genai_entry(rates: Entry, prices: Entry, model: Entry, today: date) -> Entry:
    base = {name: _base(rate) for name, rate in rates.items()}
    entry = _named(base)
    starts = {tier["start"] for rate in rates.values() for tier in _tiers(rate)}
    if starts:
        entry["tiers"] = [
            {
                "above_prompt_tokens": start,
                **_named({name: _base(rate, start) for name, rate in rates.items()}),
            }
            for start in sorted(starts)
        ]
    modes: dict[str, Decimal | None] = {}
    for variant in model.get("price_variants") or ():
        words = {"batch": {"processing": "batch"}, "fast": {"speed": "fast"}}
        word = next((word for word, when in words.items() if when == variant["when"]), None)
        if word is not None and _starts(variant) <= today:
            other = {name: variant["prices"].get(key) for name, key in _GENAI_KEYS.items()}
            known = {name: _base(rate) for name, rate in other.items() if rate is not None}
            modes[word] = _factor(base, known)
    searches = prices.get("web_searches_kcount")
    return _with(entry, modes, {"web_search": searches} if isinstance(searches, Decimal) else {})


def _today(prices: Any, today: date) -> Entry:
    """The latest of several dated prices that is in effect."""
    if isinstance(prices, dict):
        return prices
    begun = [each for each in prices if _starts(each) <= today]
    plain = [each for each in begun if not _has_hours(each)]
    return max(plain or begun, key=_starts)["prices"] if begun else {}


def _starts(conditional: Entry) -> date:
    constraint = conditional.get("constraint") or {}
    start = constraint.get("start_date")
    return start if isinstance(start, date) else date.min


def _has_hours(conditional: Entry) -> bool:
    return any(name in (conditional.get("constraint") or {}) for name in ("start_time", "end_time"))


def _tiers(rate: Any) -> list[Entry]:
    return rate["tiers"] if isinstance(rate, dict) else []


def _base(rate: Any, above: int = 0) -> Decimal:
    """The price of a prompt of so many tokens."""
    if not isinstance(rate, dict):
        return Decimal(rate)
    reached = [tier["price"] for tier in rate["tiers"] if tier["start"] <= above]
    return Decimal(reached[-1] if reached else rate["base"])


def _value(node: ast.expr) -> Any:
    """A literal, or a call of a constructor with literals as a dict of its arguments."""
    match node:
        case ast.Call(func=ast.Name(id="Decimal"), args=[ast.Constant(value=str() as text)]):
            return Decimal(text)
        case ast.Call(func=ast.Attribute(attr="date"), args=[year, month, day]):
            return date(_value(year), _value(month), _value(day))
        case ast.Call():
            return {each.arg: _value(each.value) for each in node.keywords}
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return [_value(each) for each in elements]
        case ast.Dict():
            keys = [None if key is None else _value(key) for key in node.keys]
            return dict(zip(keys, map(_value, node.values), strict=True))
        case ast.Constant():
            return node.value
    return None  # an expression that is no literal


PACKAGES: dict[str, tuple[str, Callable[[bytes, date], Iterator[tuple[str, Entry]]]]] = {
    "litellm": ("litellm/model_prices_and_context_window_backup.json", _litellm),
    "genai-prices": ("genai_prices/data.py", _genai),
}
"""The packages that are read: the file with their prices, and its reader."""


def _named(rates: Mapping[str, Decimal]) -> Entry:
    return {f"{name}{_MTOK}": rate for name, rate in rates.items()}


def _with(entry: Entry, modes: Mapping[str, Decimal | None], uses: Mapping[str, Decimal]) -> Entry:
    known = {word: factor for word, factor in modes.items() if factor is not None}
    if known:
        entry["modes"] = known
    if uses:
        entry["uses_per_thousand_usd"] = dict(uses)
    return entry


def _factor(base: Mapping[str, Decimal], other: Mapping[str, Decimal]) -> Decimal | None:
    """The factor of all rates in another mode; None if they differ."""
    if not {"input", "output"} <= other.keys() or not base["input"]:
        return None
    factor = (other["input"] / base["input"]).quantize(Decimal("0.001")).normalize()
    same = all(EXACT.multiply(base[name], factor) == rate for name, rate in other.items())
    return factor if same else None


# Two collections against each other


class Refreshed(NamedTuple):
    """A new table, and the changes of models: `differ` lists models that the collections price
    differently, which keep their old price, if any."""

    table: PriceTable
    new: list[str]
    changed: list[str]
    differ: list[str]


def refreshed(current: PriceTable, collections: list[Collection], today: date) -> Refreshed:
    """The current table with the prices on which the collections agree, or that only one of them
    has."""
    data = current.to_dict()
    models: dict[str, Any] = data["models"]
    found = Refreshed(current, [], [], [])
    for id in dict.fromkeys(id for each in collections for id in each.models):
        listed = [(at, each.models[id]) for at, each in enumerate(collections) if id in each.models]
        entries = [entry for _, entry in listed]
        if any(_rates(each) != _rates(entries[0]) for each in entries[1:]):
            found.differ.append(id)
            continue
        entry = _merged(entries)
        entry["source"] = "agree" if len(listed) > 1 else collections[listed[0][0]].package
        _put(models, id, entry, current, found)
    sources = {each.package: f"{each.package}; read {today}" for each in collections}
    both = " and ".join(sources)
    sources["agree"] = f"{both}, which agree; read {today}"
    data["pricing_version"] = ".".join([str(today), *(name.replace(" ", "-") for name in sources)])
    data["pricing_version"] = data["pricing_version"].removesuffix(".agree")
    data["sources"] = {**current.sources, **sources}
    return found._replace(table=PriceTable.from_dict(data))


def _put(
    models: dict[str, Any], id: str, entry: Entry, current: PriceTable, found: Refreshed
) -> None:
    old = models.get(id)
    if old is None:
        known = models.get(current.find(id)) if id in current else None
        if id not in current or (known is not None and _rates(known) != _rates(entry)):
            models[id] = entry
            found.new.append(id)
        return  # another name, or an edition, of a model that has this price
    same = _rates(old) == _rates(entry)
    if old.get("hours") or old.get("other_periods"):  # which is more specific than the collections
        if same:
            models[id] = {**entry, **old, "source": entry["source"]}
        else:
            found.differ.append(id)
        return
    models[id] = {**{key: old[key] for key in ("also",) if key in old}, **entry}
    if not same:
        found.changed.append(id)


def _rates(entry: Mapping[str, Any]) -> tuple[Decimal, ...]:
    """The rates on which two collections have to agree: those of nearly all requests."""
    found = (entry.get(f"{name}{_MTOK}") for name in ("input", "output", "cached_read"))
    return tuple(Decimal(-1) if rate is None else Decimal(str(rate)) for rate in found)


def _merged(entries: list[Entry]) -> Entry:
    """The first with the details that only others have."""
    whole: Entry = {}
    for entry in reversed(entries):
        nested: Entry = {
            key: {**whole.get(key, {}), **entry.get(key, {})}
            for key in ("modes", "uses_per_thousand_usd")
            if key in whole or key in entry
        }
        whole = {**whole, **entry, **nested}
    return whole
