"""Token counts: `tokens` are the model's input and output, `billed_units` the billed part. Tokens
from a cache are part of the prompt, and counted beside it."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.tables import NAME
from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import Attrs
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw, spelling_in
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, Split, clamped, count, fresh_input
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.metadata import Diagnostic, Usage
from interlingua.model.reasons import because

_COUNTS = {"output_tokens": "output_tokens", "reasoning_tokens": "reasoning_tokens"}
_WRITTEN = frozenset(
    {*_COUNTS, "input_tokens", "cached_input_tokens", "cache_creation_input_tokens", "raw"}
    | {"tool_uses"}
)


def read_usage(value: Any, found: list[Diagnostic]) -> Usage | None:
    if value is None:
        return None
    wire, preserved = require(value, dict, ".usage"), Preserved()
    prompt, counts = _read_tokens(wire, preserved)
    cached = _take_count(wire, "cached_tokens", preserved)
    preserved.add_others(wire, frozenset({"tokens", "cached_tokens"}))
    more = _take_searches(preserved)
    if cached is not None:
        counts["cached_input_tokens"] = cached
    fresh = fresh_input(prompt, cached, None)
    if fresh is not None:
        counts["input_tokens"] = fresh
    attrs: Attrs = clamped(counts)
    if attrs is counts and (prompt is None or (cached or 0) <= prompt):
        return Usage(**attrs, **more, raw=preserved.raw(NAME))
    found.append(CONTRADICTS)
    return Usage(**attrs, **more, raw={NAME: {"$form": {"wire": wire}}})


_TOOL_USES = Split("tool_uses", TwoWay({"search_units": "search_unit"}))


def _take_searches(preserved: Preserved) -> Attrs:
    """Searches that are billed, which are no longer among the rest then."""
    billed: Any = preserved.rest.get("billed_units")
    found = _TOOL_USES.read(billed)
    if found is None:
        return {}
    rest = {key: item for key, item in billed.items() if key != "search_units"}
    del preserved.rest["billed_units"]
    if rest:
        preserved.rest["billed_units"] = rest
    return {"tool_uses": found}


def _read_tokens(wire: Wire, preserved: Preserved) -> tuple[int | None, dict[str, int]]:
    """The whole prompt, and the other counts beside it."""
    tokens = wire.get("tokens")
    if type(tokens) is not dict:
        if "tokens" in wire:
            preserved.add("tokens", tokens)
        return None, {}
    inner = Preserved()
    prompt = _take_count(tokens, "input_tokens", inner)
    found = {name: _take_count(tokens, key, inner) for key, name in _COUNTS.items()}
    inner.add_others(tokens, frozenset({"input_tokens", *_COUNTS}))
    if not tokens:
        preserved.keep_spelling("tokens", {})
    preserved.absorb("tokens", inner)
    return prompt, {name: number for name, number in found.items() if number is not None}


def _take_count(wire: Wire, key: str, preserved: Preserved) -> int | None:
    """A count; other values are preserved."""
    tokens = count(wire.get(key))
    if tokens is None and key in wire:
        preserved.add(key, wire[key])
    return tokens


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, usage.raw)
    wire = spelling_in(own_raw).get("wire")
    if type(wire) is dict and read_usage(wire, []) == usage:
        return wire
    tokens: Wire = {}
    if usage.input_tokens is not None:
        tokens["input_tokens"] = usage.prompt_tokens
    for key, name in _COUNTS.items():
        if getattr(usage, name) is not None:
            tokens[key] = getattr(usage, name)
    out: Wire = {"tokens": tokens} if tokens else {}
    if usage.cached_input_tokens is not None:
        out["cached_tokens"] = usage.cached_input_tokens
    if usage.tool_uses and (billed := _TOOL_USES.write(usage, recorder)) is not None:
        out["billed_units"] = billed
    _report(usage, recorder)
    recorder.unwritten(usage, _WRITTEN)
    return out if usage.raw is None else restore_raw(out, usage, usage.raw, recorder)


def _report(usage: Usage, recorder: LossRecorder) -> None:
    written = usage.cache_creation_input_tokens
    if written is None:
        return
    if usage.input_tokens is None:
        recorder.lost(usage, "cache_creation_input_tokens")
        return
    reason = because("counted_as_fresh")
    recorder.lost(usage, "cache_creation_input_tokens", reason)
    if written:
        recorder.lost(usage, "input_tokens", because("cached_included"), kind="approximated")
