"""Token counts. The three input counts are disjoint on the wire too; thinking is part of output."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.kept import form_of, mine_of, pack, put_back
from interlingua.dialects.anthropic.tables import NAME, SAID_USAGE
from interlingua.dialects.base import Scribe, Wire, count
from interlingua.dialects.kernel.usage import clamped
from interlingua.dialects.shape import ShapeError, merge
from interlingua.model.metadata import Diagnostic, Usage

_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cached_input_tokens",
    "cache_creation_input_tokens": "cache_creation_input_tokens",
}
_REQUIRED = ("input_tokens", "output_tokens")
_CONTRADICTS = (Diagnostic("usage_contradicts"),)


def read_usage(wire: Any) -> tuple[Usage | None, tuple[Diagnostic, ...]]:
    if wire is None:
        return None, ()
    if type(wire) is not dict:
        raise ShapeError(".usage", "an object", wire)
    fresh, output = wire.get("input_tokens"), wire.get("output_tokens")
    if len(wire) == 2:
        if type(fresh) is type(output) is int and fresh >= 0 and output >= 0:
            return Usage(fresh, output), ()
    elif len(wire) == 4:
        read, made = wire.get("cache_read_input_tokens"), wire.get("cache_creation_input_tokens")
        whole = type(fresh) is type(output) is type(read) is type(made) is int
        if whole and fresh >= 0 and output >= 0 and read >= 0 and made >= 0:  # type: ignore[operator]  # integers
            return Usage(fresh, output, read, made), ()
    elif len(wire) > 4 and (usage := _read_common(wire)) is not None:
        return usage, ()
    rest: Wire = {}
    form: Wire = {}
    spelled: Wire = {}
    counts: dict[str, int] = {}
    for key, value in wire.items():
        if key in _COUNTS and (tokens := count(value)) is not None:
            counts[_COUNTS[key]] = tokens
        elif key == "output_tokens_details" and type(value) is dict:
            _read_details(value, counts, rest, form)
        elif value is None:
            spelled[key] = None
        elif key == "$form":
            form["$form"] = value
        else:
            rest[key] = value
    missing = [key for key in _REQUIRED if key not in wire]
    if missing:
        form["without"] = missing
    if "cache_creation" in rest and not _adds_up(rest["cache_creation"], counts):
        form["uneven"] = True
    agreeing = clamped(counts)
    if agreeing is counts:
        return Usage(**counts, raw=pack(rest, spelled, form)), ()  # type: ignore[arg-type]  # counts
    form["wire"] = wire
    return Usage(**agreeing, raw=pack({}, {}, form)), _CONTRADICTS  # type: ignore[arg-type]  # counts


_SPECIAL = frozenset({"output_tokens_details", "$form"})


def _read_common(wire: Wire) -> Usage | None:
    """All four counts, and more that is only kept; None for any other form."""
    fresh, output = wire.get("input_tokens"), wire.get("output_tokens")
    read, made = wire.get("cache_read_input_tokens"), wire.get("cache_creation_input_tokens")
    if not type(fresh) is type(output) is type(read) is type(made) is int:
        return None
    if fresh < 0 or output < 0 or read < 0 or made < 0 or not _SPECIAL.isdisjoint(wire):
        return None
    rest = {key: value for key, value in wire.items() if key not in _COUNTS}
    if None in rest.values():
        return None
    if "cache_creation" in rest and not _adds_up(
        rest["cache_creation"],
        {"cache_creation_input_tokens": made},
    ):
        rest["$form"] = {"uneven": True}
    return Usage(fresh, output, read, made, raw={NAME: rest})


def _read_details(details: Wire, counts: dict[str, int], rest: Wire, form: Wire) -> None:
    tokens = count(details.get("thinking_tokens"))
    if tokens is None:
        rest["output_tokens_details"] = details
        return
    counts["reasoning_tokens"] = tokens
    extra = {key: item for key, item in details.items() if key != "thinking_tokens"}
    if extra:
        rest["output_tokens_details"] = extra


def _adds_up(split: Any, counts: dict[str, int]) -> bool:
    """Whether the counts by time to live are those of the whole."""
    return type(split) is dict and sum(
        [tokens for tokens in split.values() if type(tokens) is int]
    ) == counts.get("cache_creation_input_tokens", 0)


def write_usage(usage: Usage, scribe: Scribe) -> Wire:
    mine, form = mine_of(usage.raw), form_of(usage.raw)
    wire = form.get("wire")
    if type(wire) is dict and read_usage(wire)[0] == usage:
        return wire
    out: Wire = {}
    absent = {*mine, *form.get("without", ()), *form.get("spelled", ())}
    for key, name in _COUNTS.items():
        tokens = getattr(usage, name)
        if tokens is not None:
            out[key] = tokens
        elif key in _REQUIRED and key not in absent:
            out[key] = 0
    if usage.reasoning_tokens is not None:
        if usage.output_tokens is not None and usage.reasoning_tokens > usage.output_tokens:
            scribe.lost(usage, "reasoning_tokens", "more than all output", kind="approximated")
        details = {"thinking_tokens": usage.reasoning_tokens}
        kept = mine.get("output_tokens_details")
        out["output_tokens_details"] = merge(kept, details) if type(kept) is dict else details
    if usage.raw is not None:
        _put_rest(out, usage, mine, form, scribe)
    if usage.cost_usd is not None or usage.latency_ms is not None or usage.estimated:
        scribe.unsaid(usage, SAID_USAGE)
    return out


def _put_rest(out: Wire, usage: Usage, mine: Wire, form: Wire, scribe: Scribe) -> None:
    put_back(out, usage, usage.raw or {}, scribe)
    if "cache_creation" in mine and not form.get("uneven"):
        written = {"cache_creation_input_tokens": usage.cache_creation_input_tokens or 0}
        if not _adds_up(mine["cache_creation"], written):
            out.pop("cache_creation", None)  # the split of another sum


def hour_cache_tokens(usage: Usage) -> int:
    """How many of the tokens written to the cache stay there for an hour, which costs more."""
    split = mine_of(usage.raw).get("cache_creation")
    tokens = split.get("ephemeral_1h_input_tokens") if type(split) is dict else None
    written = usage.cache_creation_input_tokens or 0
    return tokens if type(tokens) is int and 0 <= tokens <= written else 0
