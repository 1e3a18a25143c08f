"""Token counts. On the wire the prompt includes what was cached, and the completion the reasoning;
some hosts leave the reasoning out of the completion, which the total tells."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.kept import NOTHING, Kept, fill, form_in, mine_of, restore
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import count, fresh_input
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.tables import REPEATED_COUNTS, Tables
from interlingua.model.metadata import Diagnostic, Usage

PROMPT, COMPLETION, TOTAL = "prompt_tokens", "completion_tokens", "total_tokens"
INPUT_DETAILS, OUTPUT_DETAILS = "prompt_tokens_details", "completion_tokens_details"
_CACHED, _WRITTEN = "cached_input_tokens", "cache_creation_input_tokens"
_DETAILS: dict[str, dict[str, str]] = {
    INPUT_DETAILS: {"cached_tokens": _CACHED, "cache_write_tokens": _WRITTEN},
    OUTPUT_DETAILS: {"reasoning_tokens": "reasoning_tokens"},
}
_SUMS = (PROMPT, COMPLETION, TOTAL)
_USUAL = frozenset({*_SUMS, *_DETAILS})
_NO_MORE = astuple(Usage())[5:]
_SAID = frozenset({"input_tokens", "output_tokens", _CACHED, _WRITTEN, "reasoning_tokens"})


# -- reading --------------------------------------------------------------------------------------


def read_usage(wire: Any, t: Tables) -> tuple[Usage, Diagnostic | None]:
    """Usage, and a diagnostic where its numbers contradict each other."""
    plain = _read_plainly(want(wire, dict, ".usage"), t)
    return _read_slowly(wire, t) if plain is None else (plain, None)


def _read_plainly(wire: Wire, t: Tables) -> Usage | None:
    """Usage as OpenAI itself says it, with numbers that add up; None for any other."""
    prompt, output, total = wire.get(PROMPT), wire.get(COMPLETION), wire.get(TOTAL)
    if not (type(prompt) is int and type(output) is int and total == prompt + output):
        return None
    if not wire.keys() <= _USUAL or type(total) is not int:
        return None
    rest: Wire = {}
    inputs = _read_inner(wire, INPUT_DETAILS, rest)
    outputs = _read_inner(wire, OUTPUT_DETAILS, rest)
    if inputs is None or outputs is None:
        return None
    cached, written = inputs.get("cached_tokens"), inputs.get("cache_write_tokens")
    reasoning = outputs.get("reasoning_tokens")
    fresh = prompt - (cached or 0) - (written or 0)
    if fresh < 0 or output < (reasoning or 0) or min(cached or 0, written or 0, reasoning or 0) < 0:
        return None
    return Usage(fresh, output, cached, written, reasoning, raw={t.name: rest} if rest else None)


def _read_inner(wire: Wire, key: str, rest: Wire) -> dict[str, int] | None:
    """The counts of the details at `key`, the others kept in `rest`; None where one is no count."""
    inner = wire.get(key, NOTHING)
    if type(inner) is not dict or (not inner and key in wire):
        return None
    found: dict[str, int] = {}
    for name, value in inner.items():
        if type(value) is not int:
            return None
        if name in _DETAILS[key]:
            found[name] = value
        else:
            rest.setdefault(key, {})[name] = value
    return found


def _read_slowly(wire: Wire, t: Tables) -> tuple[Usage, Diagnostic | None]:
    kept = Kept()
    prompt, completion, total = sums = [count(wire.get(key)) for key in _SUMS]
    parts = _parts(wire, kept.form)
    odd = _oddity(prompt or 0, completion or 0, total, parts)
    if odd is not None:
        raw = {t.name: {"$form": {"wire": wire}}}
        fields = _disjoint(prompt, completion, parts)
        return Usage(**fields, raw=raw), Diagnostic("usage_contradicts", odd)
    completion = _whole(prompt, completion, total, parts, kept.form)
    extra = 0 if total is None else total - (prompt or 0) - (completion or 0)
    if extra:
        kept.form["total"] = extra
    fields = _disjoint(prompt, completion, parts)
    taken = {key for key, number in zip(_SUMS, sums, strict=True) if number is not None}
    for key, names in _DETAILS.items():
        inner = wire.get(key)
        if type(inner) is dict and inner:
            taken.add(key)
            kept.add_inside(wire, key, {n for n in names if count(inner.get(n)) is not None})
    also = [key for key in REPEATED_COUNTS if _repeats(wire, key, fields)]
    if also:
        kept.form["also"] = also
    kept.add_others(wire, taken.union(also), _USUAL)
    kept.miss_any(wire, _SUMS)
    return Usage(**fields, raw=kept.raw(t.name)), None


def _repeats(wire: Wire, key: str, fields: dict[str, Any]) -> bool:
    said = fields[REPEATED_COUNTS[key]]
    return said is not None and key in wire and count(wire[key]) == said


def _parts(wire: Wire, form: Wire) -> dict[str, int]:
    """Counts of parts by their fields: the first who says one is believed. Those that no details
    say stand aside."""
    parts: dict[str, int] = {}
    for key, names in (*_DETAILS.items(), (None, REPEATED_COUNTS)):
        inner: Any = wire if key is None else wire.get(key)
        known = set(parts)
        for name, field in names.items() if type(inner) is dict else ():
            tokens = count(inner.get(name))
            if tokens is not None and field not in parts and field != "input_tokens":
                parts[field] = tokens
        if key is None and parts.keys() > known:
            form["aside"] = [field for field in parts if field not in known]
    return parts


def _oddity(prompt: int, completion: int, total: int | None, parts: dict[str, int]) -> str | None:
    """What is odd about the numbers."""
    if min(prompt, completion, *parts.values()) < 0:
        return "a count is negative"
    if parts.get(_CACHED, 0) + parts.get(_WRITTEN, 0) > prompt:
        return "more of the prompt was cached than there is"
    reasoning = parts.get("reasoning_tokens", 0)
    if reasoning > completion and total != prompt + completion + reasoning:
        return "more was reasoned than said"
    return None


def _whole(
    prompt: int | None, completion: int | None, total: int | None, parts: dict[str, int], form: Wire
) -> int | None:
    """The output with the reasoning that the completion leaves out, if the total counts it."""
    if prompt is None or completion is None or (total or 0) <= prompt + completion:
        return completion
    missing = (total or 0) - prompt - completion
    if "reasoning_tokens" not in parts:  # Google: in the total alone (recorded 2026-11)
        form["reasoning"] = "hidden"
        parts["reasoning_tokens"] = missing
    elif parts["reasoning_tokens"] == missing:  # xAI (recorded 2026-11)
        form["reasoning"] = "apart"
    else:
        return completion
    return completion + missing


def _disjoint(prompt: int | None, output: int | None, parts: dict[str, int]) -> dict[str, Any]:
    """The canonical counts, clamped."""
    prompt, output = _within(prompt, None), _within(output, None)
    cached, written = [_within(parts.get(field), prompt) for field in (_CACHED, _WRITTEN)]
    if prompt is not None and (cached or 0) + (written or 0) > prompt:
        written = prompt - (cached or 0)
    return {
        "input_tokens": fresh_input(prompt, cached, written),
        "output_tokens": output,
        _CACHED: cached,
        _WRITTEN: written,
        "reasoning_tokens": _within(parts.get("reasoning_tokens"), output),
    }


def _within(value: int | None, whole: int | None) -> int | None:
    """A count that is neither negative nor more than the whole."""
    if value is None:
        return None
    return max(value, 0) if whole is None else min(max(value, 0), whole)


# -- writing --------------------------------------------------------------------------------------


def write_usage(usage: Usage, t: Tables, recorder: LossRecorder) -> Wire | None:
    """The wire's usage; None where nothing is known of it."""
    known = usage.input_tokens is not None and usage.output_tokens is not None
    if known and astuple(usage)[5:] == _NO_MORE:
        return _write_plainly(usage)
    mine = mine_of(t.name, usage.raw)
    if known and mine.keys() <= _DETAILS.keys():
        if not mine or len(usage.raw or ()) > 1 or astuple(usage)[5:-1] != _NO_MORE[:-1]:
            recorder.unwritten(usage, _SAID)
        return restore(_write_plainly(usage), mine)
    form = form_in(mine)
    if "wire" in form and read_usage(form["wire"], t)[0] == usage:
        wire: Wire = form["wire"]
        return wire
    recorder.unwritten(usage, _SAID)
    return _write_slowly(usage, mine, form)


def _write_plainly(usage: Usage) -> Wire:
    cached, written = usage.cached_input_tokens, usage.cache_creation_input_tokens
    output = usage.output_tokens or 0
    prompt = (usage.input_tokens or 0) + (cached or 0) + (written or 0)
    wire: Wire = {PROMPT: prompt, COMPLETION: output, TOTAL: prompt + output}
    if cached is not None or written is not None:
        inputs = wire[INPUT_DETAILS] = {}
        if cached is not None:
            inputs["cached_tokens"] = cached
        if written is not None:
            inputs["cache_write_tokens"] = written
    if usage.reasoning_tokens is not None:
        wire[OUTPUT_DETAILS] = {"reasoning_tokens": usage.reasoning_tokens}
    return wire


def _write_slowly(usage: Usage, mine: Wire, form: Wire) -> Wire | None:
    prompt, output = usage.prompt_tokens, usage.output_tokens
    if prompt is None and output is None and not mine:
        return None
    apart = (usage.reasoning_tokens or 0) if "reasoning" in form else 0
    out: Wire = {}
    if usage.input_tokens is not None:  # a count of cached tokens alone is no prompt
        out[PROMPT] = prompt
    if output is not None:
        out[COMPLETION] = max(output - apart, 0)
    total = (prompt or 0) + (output or 0) + form.get("total", 0)
    fill(out, mine, {PROMPT: prompt or 0, COMPLETION: 0, TOTAL: total})
    for key, names in _DETAILS.items():
        for name, field in names.items():
            tokens = getattr(usage, field)
            hidden = key == OUTPUT_DETAILS and form.get("reasoning") == "hidden"
            if tokens is not None and field not in form.get("aside", ()) and not hidden:
                out.setdefault(key, {})[name] = tokens
    for key in form.get("also", ()):
        out[key] = getattr(usage, REPEATED_COUNTS[key])
    return restore(out, mine)
