"""Token counts. On the wire the input includes what was read from and written to the cache."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, count, fresh_input
from interlingua.dialects.openai_responses.spelling import (
    absent,
    form,
    is_kept,
    own,
    put_back,
    spare,
)
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.model.metadata import Diagnostic, Usage

_COUNTS = frozenset({"input_tokens", "output_tokens", "total_tokens"})
_DETAILS: dict[str, tuple[str, ...]] = {
    "input_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "output_tokens_details": ("reasoning_tokens",),
}
_SAID = frozenset(
    {"input_tokens", "output_tokens", "cached_input_tokens", "cache_creation_input_tokens"}
    | {"reasoning_tokens"}
)


def read_usage(wire: Wire) -> tuple[Usage, list[Diagnostic]]:
    """The counts, and what contradicts in them."""
    counts: dict[str, int | None] = {key: count(wire.get(key)) for key in _COUNTS}
    for key, names in _DETAILS.items():
        details = wire.get(key)
        for name in names:
            counts[name] = count(details.get(name)) if type(details) is dict else None
    usage, is_odd = _disjoint(counts)
    if is_odd:
        said = Diagnostic("usage_contradicts", "a part is larger than its whole, or negative")
        return usage.replace(raw={NAME: {"$form": {"wire": wire}}}), [said]
    return usage.replace(raw=_raw(wire, counts, usage)), []


def _disjoint(counts: dict[str, int | None]) -> tuple[Usage, bool]:
    """Parts that add up; and whether the counts said otherwise."""
    total, output = counts["input_tokens"], counts["output_tokens"]
    cached, written = counts["cached_tokens"], counts["cache_write_tokens"]
    reasoning = counts["reasoning_tokens"]
    is_odd = any(value is not None and value < 0 for value in counts.values())
    total, output, cached, written, reasoning = [
        None if value is None else max(value, 0)
        for value in (total, output, cached, written, reasoning)
    ]
    if total is not None and (cached or 0) + (written or 0) > total:
        is_odd = True
        cached = None if cached is None else min(cached, total)
        written = None if written is None else min(written, total - (cached or 0))
    if output is not None and (reasoning or 0) > output:
        is_odd = True
        reasoning = output
    return Usage(fresh_input(total, cached, written), output, cached, written, reasoning), is_odd


def _raw(wire: Wire, counts: dict[str, int | None], usage: Usage) -> Wire | None:
    """What the wire says beside the counts, and what of ours it does not say."""
    rest, spelled = spare(wire, [key for key in _COUNTS if counts[key] is not None])
    spelling: Wire = {}
    gone = [key for key in _COUNTS if key not in wire]
    for key, names in _DETAILS.items():
        details = wire.get(key)
        if type(details) is not dict:
            gone += [key] if key not in wire else []
            continue
        inner, inner_spelled = spare(details, [n for n in names if counts[n] is not None])
        rest.pop(key, None)
        spelled.pop(key, None)
        if inner:
            rest[key] = inner
        if inner_spelled:
            spelling[key] = inner_spelled
        gone += [f"{key}.{name}" for name in names if name not in details]
    if gone:
        spelling["absent"] = gone
    if spelled:
        spelling["spelled"] = spelled
    total = counts["total_tokens"]
    if total is not None and total != usage.total_tokens:
        spelling["total"] = [usage.total_tokens, total]
    mine = {**rest, "$form": spelling} if spelling else rest
    return {NAME: mine} if mine else None


def write_usage(usage: Usage, scribe: Scribe) -> Wire:
    scribe.unsaid(usage, _SAID)
    if usage.output_tokens is not None and (usage.reasoning_tokens or 0) > usage.output_tokens:
        reason = "reasoning is a part of the output, and larger"
        scribe.lost(usage, "reasoning_tokens", reason, kind="approximated")
    spelling = form(usage.raw)
    recorded = spelling.get("wire")
    if type(recorded) is dict and read_usage(recorded)[0] == _bare(usage):
        return recorded
    total: Any = usage.total_tokens
    remembered = spelling.get("total")
    if remembered is not None and remembered[0] == total:
        total = remembered[1]
    elif is_kept(usage.raw, "total_tokens"):
        total = None
    is_known = usage.input_tokens is not None or not is_kept(usage.raw, "input_tokens")
    prompt = usage.prompt_tokens if is_known else None
    counts = {"input_tokens": prompt, "output_tokens": usage.output_tokens}
    wire = _written({**counts, "total_tokens": total}, usage.raw, "", own(usage.raw))
    cache = usage.cached_input_tokens, usage.cache_creation_input_tokens
    _write_details(wire, "input_tokens_details", cache, usage)
    _write_details(wire, "output_tokens_details", (usage.reasoning_tokens,), usage)
    return put_back(wire, usage.raw)


def _write_details(wire: Wire, key: str, values: tuple[int | None, ...], usage: Usage) -> None:
    kept = own(usage.raw).get(key)
    is_gone = absent(form(usage.raw), key) or key in (form(usage.raw).get("spelled") or ())
    if (is_gone or not (kept is None or type(kept) is dict)) and not any(values):
        return
    more = {**(kept if type(kept) is dict else {}), **form(usage.raw).get(key, {})}
    named = dict(zip(_DETAILS[key], values, strict=True))
    wire[key] = {**more, **_written(named, usage.raw, f"{key}.", more)}


def _written(counts: dict[str, int | None], raw: Any, prefix: str, more: Wire) -> Wire:
    """The counts; 0 for one that is not known, where the wire did not do without."""
    spelling = form(raw)
    spelled = spelling.get("spelled") or {}
    wire: Wire = {}
    for name, value in counts.items():
        if value is not None:
            wire[name] = value
        elif not (absent(spelling, prefix + name) or name in more or name in spelled):
            wire[name] = 0
    return wire


def _bare(usage: Usage) -> Usage:
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_input_tokens,
        usage.cache_creation_input_tokens,
        usage.reasoning_tokens,
    )
