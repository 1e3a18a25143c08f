"""Token counts of Chat Completions and the Responses API. On the wire the prompt includes cached
tokens, and the output the reasoning; some hosts leave the reasoning out of the output, which the
total shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from msgspec.structs import astuple

from interlingua.dialects.kernel import preserved as kernel
from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.preserved import (
    FORM,
    NOTHING,
    Preserved,
    fill,
    merge,
    raw_of,
    restore,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import (
    MODALITIES,
    Split,
    count,
    fresh_input,
    report_unknown,
    within,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.metadata import Diagnostic, Usage
from interlingua.model.reasons import because

TOTAL = "total_tokens"
_CACHED, _WRITTEN = "cached_input_tokens", "cache_creation_input_tokens"
_INPUTS = {"cached_tokens": _CACHED, "cache_write_tokens": _WRITTEN}
_OUTPUTS = {"reasoning_tokens": "reasoning_tokens"}
_TIER = Usage.__struct_fields__.index("service_tier")
_COUNTS_ALONE = astuple(Usage())[5:]
_NO_MORE = astuple(Usage())[5:_TIER] + astuple(Usage())[_TIER + 1 : -1]
_COUNT_FIELDS = frozenset({*Usage.__struct_fields__[:5], "service_tier"})
_NAMES = (*_INPUTS, *_OUTPUTS)
_CACHE_WRITE = "cache_write_tokens"


Splits = Mapping[tuple[str, ...], Split]
"""Breakdowns, by the keys on the way to their object."""
SERVED_TIERS: Final[TwoWay[str, str]] = TwoWay(
    {tier: tier for tier in ("default", "flex", "priority", "scale", "fast", "ultrafast")}
)
"""The tier that served a request, beside the usage."""
_INSIDE: Final[TwoWay[str, str]] = TwoWay({"standard": "default", "priority": "priority"})
"""The same inside the usage, as Mistral has it (`mistralai` 3.7.0, read 2026-11-18)."""


def by_modality(attr: str) -> Split:
    return Split(attr, TwoWay({f"{kind}_tokens": kind for kind in MODALITIES[:4]}))


class Counts:
    """How one of the two APIs names its counts. `repeated` are additional keys under which hosts
    have a count, or repeat it; with `demanded`, all details are required, 0 where they are
    unknown; with `apart`, hosts leave the reasoning out of the output. `splits` are breakdowns;
    `beside` are fields of a response beside its usage."""

    def __init__(
        self,
        prompt: str,
        output: str,
        repeated: Mapping[str, str] = NOTHING,
        demanded: bool = False,
        apart: bool = False,
        splits: Splits = NOTHING,  # type: ignore[assignment]  # it is empty
        beside: Collection[str] = (),
    ) -> None:
        self.prompt, self.output, self.sums = prompt, output, (prompt, output, TOTAL)
        self.inputs, self.outputs = f"{prompt}_details", f"{output}_details"
        self.details = {self.inputs: _INPUTS, self.outputs: _OUTPUTS}
        self.repeated, self.apart, self.splits = repeated, apart, splits
        self.beside = tuple(beside)
        self.written = _COUNT_FIELDS.union(beside, [split.attr for split in splits.values()])
        self.demanded = _NAMES if demanded else ()
        self.filled = [name for name in self.demanded if name != _CACHE_WRITE]
        self.usual = (
            {FORM: {"inside": {self.inputs: {"absent": [_CACHE_WRITE]}}}} if demanded else None
        )
        """The raw data of a usage without cache writes, as most are."""


# -- reading --------------------------------------------------------------------------------------


def read_usage(wire: Any, dialect: str, words: Counts) -> tuple[Usage, Diagnostic | None]:
    """Usage, and a diagnostic where its numbers contradict each other."""
    usage, odd = _read_plainly(require(wire, dict, ".usage"), dialect, words), None
    if usage is None:
        usage, odd = _read_slowly(wire, dialect, words)
    own_raw = raw_of(dialect, usage.raw)
    return (_read_splits(usage, own_raw, dialect, words) if own_raw else usage), odd


def _read_splits(usage: Usage, own_raw: Wire, dialect: str, words: Counts) -> Usage:
    """The usage with the breakdowns that are among what no count holds. Counts by modality are
    left there where all are 0, as nearly all are."""
    found: Wire = {}
    for path, split in words.splits.items():
        at: Any = own_raw
        for key in path:
            at = at.get(key) if type(at) is dict else None
        is_whole = type(at) is dict and all(word in at for word in split.demanded)
        counts = split.read(at) if is_whole else None
        if counts and (any(counts.values()) or not split.attr.endswith("modalities")):
            found[split.attr] = counts
            own_raw = _without(own_raw, path, split)
    if words.apart and (tier := _INSIDE.read(own_raw.get("service_tier"))) is not None:  # type: ignore[arg-type]  # any value
        found["service_tier"] = tier
        own_raw = {key: item for key, item in own_raw.items() if key != "service_tier"}
        own_raw[FORM] = {**spelling_in(own_raw), "tier": True}
    return usage.replace(**found, raw={dialect: own_raw} if own_raw else None) if found else usage


def _without(own_raw: Wire, path: tuple[str, ...], split: Split) -> Wire:
    """The members that no count holds, without the counts of a breakdown."""
    key, *others = path
    inner = own_raw[key]
    if others:
        inner = _without(inner, tuple(others), split)
    else:
        taken = [word for word in inner if split.read({word: inner[word]})]
        inner = {word: item for word, item in inner.items() if word not in taken}
    return {
        name: inner if name == key else own_raw[name] for name in own_raw if name != key or inner
    }


def read_tier(usage: Usage, wire: Wire, words: TwoWay[str, str] = SERVED_TIERS) -> Usage:
    """The usage with the tier beside it; unchanged without a tier."""
    tier = wire.get("service_tier")
    if type(tier) is not str or usage.service_tier is not None or words.read(tier) is None:
        return usage
    return usage.replace(service_tier=tier)


def write_tier(usage: Usage, dialect: str, out: Wire, recorder: LossRecorder) -> None:
    """Write the tier of the request beside the usage, unless it is inside."""
    tier = usage.service_tier
    if tier is None or _tier_inside(usage, dialect) is not None:
        return
    if SERVED_TIERS.read(tier) is None:
        recorder.lost(usage, "service_tier")
    else:
        out["service_tier"] = tier


def _read_plainly(wire: Wire, dialect: str, words: Counts) -> Usage | None:
    """A usage in OpenAI's own form, with numbers that add up; None for any other."""
    prompt, output, total = wire.get(words.prompt), wire.get(words.output), wire.get(TOTAL)
    if not (type(prompt) is int and type(output) is int and total == prompt + output):
        return None
    if type(total) is not int:
        return None
    rest: Wire = {}
    found: dict[str, int] = {}
    there = 3
    for key, names in words.details.items():
        if key in wire:
            there += 1
            if not _read_inner(wire[key], key, names, found, rest):
                return None
        elif words.demanded:
            return None
    if len(wire) != there:
        return None
    cached, written, thought = [found.get(name) for name in _NAMES]
    fresh = prompt - (cached or 0) - (written or 0)
    if fresh < 0 or output < (thought or 0) or min(cached or 0, written or 0, thought or 0) < 0:
        return None
    if words.demanded and len(found) < len(_NAMES):
        rest[FORM] = {"inside": _absent(words, found)}
    return Usage(fresh, output, cached, written, thought, raw={dialect: rest} if rest else None)


def _read_inner(
    inner: Any, key: str, names: dict[str, str], found: dict[str, int], rest: Wire
) -> bool:
    """Take the counts of details, and keep others in `rest`; whether all of them are counts."""
    if type(inner) is not dict or not inner:
        return False
    for name, value in inner.items():
        if type(value) is not int:
            return False
        if name in names:
            found[name] = value
        else:
            rest.setdefault(key, {})[name] = value
    return True


def _absent(words: Counts, found: dict[str, int]) -> Wire:
    gone = {key: [n for n in names if n not in found] for key, names in words.details.items()}
    return {key: {"absent": names} for key, names in gone.items() if names}


def _read_slowly(wire: Wire, dialect: str, words: Counts) -> tuple[Usage, Diagnostic | None]:
    preserved = Preserved()
    prompt, output, total = sums = [count(wire.get(key)) for key in words.sums]
    missing = wire.get(words.prompt if prompt is None else words.output) is None
    if total is not None and missing and (left := _left(prompt, output, total)):
        preserved.spelling["derived"] = left
        prompt, output = (left, output) if prompt is None else (prompt, left)
    parts = _parts(wire, words, preserved.spelling)
    odd = _oddity(prompt, output, total, parts, words)
    if odd is not None:
        fields = _disjoint(prompt, output, parts)
        raw = {dialect: {FORM: {"wire": wire}}}
        return Usage(**fields, raw=raw), Diagnostic("usage_contradicts", odd)
    if words.apart:
        output = _whole(prompt, output, total, parts, preserved.spelling)
    least = parts.get("reasoning_tokens", 0) if output is None else output
    extra = 0 if total is None else total - (prompt or 0) - least
    alone = prompt is output is None and not parts
    if extra and not alone:
        preserved.spelling["total"] = extra
    fields = _disjoint(prompt, output, parts)
    taken = {key for key, number in zip(words.sums, sums, strict=True) if number is not None}
    if alone:  # a total that no count explains is content
        taken.discard(TOTAL)
    taken |= _keep_details(wire, words, preserved)
    also = [key for key in words.repeated if _repeats(wire, key, fields, words)]
    if also:
        preserved.spelling["also"] = also
    preserved.add_others(wire, taken.union(also), (*words.sums, *words.details))
    preserved.mark_any_absent(wire, words.sums)
    return Usage(**fields, raw=preserved.raw(dialect)), None


def _left(prompt: int | None, output: int | None, total: int) -> int:
    """The missing count, if the other one and the total are there; else 0."""
    known = output if prompt is None else prompt
    if known is None or known < 0 or (prompt is not None and output is not None):
        return 0
    return max(total - known, 0)


def _keep_details(wire: Wire, words: Counts, preserved: Preserved) -> set[str]:
    """Preserves the details beside counts."""
    taken = set()
    if words.demanded:
        preserved.mark_any_absent(wire, words.details)
    for key, names in words.details.items():
        details = wire.get(key)
        if type(details) is dict and details:
            taken.add(key)
            inner = Preserved()
            inner.add_others(
                details, {n for n in names if count(details.get(n)) is not None}, details
            )
            if words.demanded:
                inner.mark_any_absent(details, names)
            preserved.absorb(key, inner)
    return taken


def _repeats(wire: Wire, key: str, fields: dict[str, Any], words: Counts) -> bool:
    tokens = fields[words.repeated[key]]
    return tokens is not None and key in wire and count(wire[key]) == tokens


def _parts(wire: Wire, words: Counts, spelling: Wire) -> dict[str, int]:
    """Counts of parts by their fields: the first detail with a field wins. `$form.aside`
    records fields whose counts are outside all details."""
    parts: dict[str, int] = {}
    for key, names in (*words.details.items(), (None, words.repeated)):
        inner: Any = wire if key is None else wire.get(key)
        known = set(parts)
        for name, field in names.items() if type(inner) is dict else ():
            tokens = count(inner.get(name))
            if tokens is not None and field not in parts and field != "input_tokens":
                parts[field] = tokens
        if key is None and parts.keys() > known:
            spelling["aside"] = [field for field in parts if field not in known]
    return parts


def _oddity(
    prompt: int | None, output: int | None, total: int | None, parts: dict[str, int], words: Counts
) -> str | None:
    """The inconsistency of the numbers, if any."""
    prompt, output = prompt or 0, output or 0
    if min(prompt, output, *parts.values()) < 0:
        return "a count is negative"
    if parts.get(_CACHED, 0) + parts.get(_WRITTEN, 0) > prompt:
        return "more cached tokens than prompt tokens"
    thought = parts.get("reasoning_tokens", 0)
    if thought > output and not (words.apart and total == prompt + output + thought):
        return "more reasoning tokens than output tokens"
    return None


def _whole(
    prompt: int | None, output: int | None, total: int | None, parts: dict[str, int], spelling: Wire
) -> int | None:
    """The output with the reasoning that it leaves out, if the total counts it."""
    if prompt is None or output is None or (total or 0) <= prompt + output:
        return output
    missing = (total or 0) - prompt - output
    if "reasoning_tokens" not in parts:  # Google: in the total alone (recorded 2026-11)
        spelling["reasoning"] = "hidden"
        parts["reasoning_tokens"] = missing
    elif parts["reasoning_tokens"] == missing:  # xAI (recorded 2026-11)
        spelling["reasoning"] = "apart"
    else:
        return output
    return output + missing


def _disjoint(prompt: int | None, output: int | None, parts: dict[str, int]) -> dict[str, Any]:
    """The canonical counts, clamped."""
    prompt, output = within(prompt, None), within(output, None)
    cached = within(parts.get(_CACHED), prompt)
    written = within(parts.get(_WRITTEN), None if prompt is None else prompt - (cached or 0))
    return {
        "input_tokens": fresh_input(prompt, cached, written),
        "output_tokens": output,
        _CACHED: cached,
        _WRITTEN: written,
        "reasoning_tokens": within(parts.get("reasoning_tokens"), output),
    }


# -- writing --------------------------------------------------------------------------------------


def write_usage(usage: Usage, dialect: str, words: Counts, recorder: LossRecorder) -> Wire | None:
    """The wire's usage; None if no count is known."""
    counts = astuple(usage)
    fresh, output, _, _, thought = counts[:5]
    is_plain = counts[5:] == _COUNTS_ALONE and fresh is not None and output is not None
    if is_plain and (thought is None or thought <= output):
        return _write_plainly(counts, words, words.demanded)
    out = _write_counts(usage, dialect, words, recorder)
    for path, split in words.splits.items() if out is not None else ():
        if getattr(usage, split.attr) and (breakdown := split.write(usage, recorder)) is not None:
            for key in reversed(path):
                breakdown = {key: breakdown}
            out = merge(out or {}, breakdown)
    if out and usage.service_tier and (word := _tier_inside(usage, dialect)) is not None:
        out["service_tier"] = word
    return out


def _tier_inside(usage: Usage, dialect: str) -> str | None:
    """The tier inside the usage, if it was read there and has a word."""
    if "tier" not in spelling_in(raw_of(dialect, usage.raw)):
        return None
    return _INSIDE.write(usage.service_tier or "")


def _write_counts(usage: Usage, dialect: str, words: Counts, recorder: LossRecorder) -> Wire | None:
    counts = astuple(usage)
    fresh, output, _, _, thought = counts[:5]
    known = fresh is not None and output is not None
    if known and thought is not None and thought > output:
        reason = because("reasoning_exceeds_output")
        recorder.lost(usage, "reasoning_tokens", reason, kind="approximated")
    is_all, raw = counts[5:_TIER] + counts[_TIER + 1 : -1] == _NO_MORE, usage.raw
    if known and is_all and raw is None:
        return _write_plainly(counts, words, words.demanded)
    own_raw = raw_of(dialect, raw)
    if known and is_all and raw is not None and own_raw == words.usual and len(raw) == 1:
        return _write_plainly(counts, words, words.filled if own_raw else words.demanded)
    if known and own_raw.keys() <= words.details.keys() and not words.demanded:
        if not own_raw or len(raw or ()) > 1 or not is_all:
            recorder.unwritten(usage, words.written)
        return restore(_write_plainly(counts, words, ()), own_raw)
    spelling = spelling_in(own_raw)
    if "wire" in spelling and _still_says(usage, spelling["wire"], dialect, words):
        wire: Wire = spelling["wire"]
        return wire
    recorder.unwritten(usage, words.written)
    out = _write_slowly(usage, own_raw, spelling, words)
    if not known and out is not None:
        report_unknown(usage, out, words.prompt, words.output, recorder)
    return out


def _still_says(usage: Usage, wire: Wire, dialect: str, words: Counts) -> bool:
    """Whether contradictory counts still belong to the usage, apart from the members beside
    them."""
    again = read_usage(wire, dialect, words)[0]
    beside = {name: getattr(usage, name) for name in ("service_tier", *words.beside)}
    return again.replace(**beside) == usage


def _write_plainly(counts: tuple[Any, ...], words: Counts, filled: Collection[str]) -> Wire:
    """Only counts; `filled` are those written as 0 because they are unknown."""
    fresh, output, cached, written, thought = counts[:5]
    prompt = fresh + (cached or 0) + (written or 0)
    wire: Wire = {words.prompt: prompt, words.output: output, TOTAL: prompt + output}
    inputs: Wire = {}
    if cached is not None or "cached_tokens" in filled:
        inputs["cached_tokens"] = cached or 0
    if written is not None or "cache_write_tokens" in filled:
        inputs["cache_write_tokens"] = written or 0
    if inputs:
        wire[words.inputs] = inputs
    if thought is not None or "reasoning_tokens" in filled:
        wire[words.outputs] = {"reasoning_tokens": thought or 0}
    return wire


def _write_slowly(usage: Usage, own_raw: Wire, spelling: Wire, words: Counts) -> Wire | None:
    prompt, output = usage.prompt_tokens, usage.output_tokens
    if prompt is output is usage.reasoning_tokens is None and not own_raw:
        return None
    apart = (usage.reasoning_tokens or 0) if "reasoning" in spelling else 0
    out: Wire = {}
    derived = spelling.get("derived")
    if usage.input_tokens is not None:  # a count of cached tokens alone is no prompt
        out[words.prompt] = prompt
    if output is not None:
        out[words.output] = max(output - apart, 0)
    for key in (words.prompt, words.output):
        if derived is not None and out.get(key) == derived and kernel.was_absent(own_raw, key):
            del out[key]
    extra = spelling.get("total", 0)
    if type(extra) is list:  # stored values of Responses may have the sum and the total
        extra = extra[1] - (extra[0] or 0)
    total = (prompt or 0) + (usage.reasoning_tokens or 0 if output is None else output) + extra
    if out and count(own_raw.get(TOTAL)) is not None:  # it was read alone, before there were counts
        out[TOTAL] = total
    least = max((usage.reasoning_tokens or 0) - apart, 0)
    fill(out, own_raw, {words.prompt: prompt or 0, words.output: least, TOTAL: total})
    _write_details(usage, out, own_raw, spelling, words)
    for key in spelling.get("also", ()):
        out[key] = getattr(usage, words.repeated[key])
    return restore(out, own_raw)


def _write_details(usage: Usage, out: Wire, own_raw: Wire, spelling: Wire, words: Counts) -> None:
    hidden = {"reasoning_tokens"} if spelling.get("reasoning") == "hidden" else set()
    left_out = hidden.union(spelling.get("aside", ()))
    for key, names in words.details.items():
        found = {name: getattr(usage, field) for name, field in names.items()}
        details = {n: v for n, v in found.items() if v is not None and names[n] not in left_out}
        if words.demanded and not _is_gone(own_raw, key):
            out[key] = fill(details, kernel.raw_inside(own_raw, key), dict.fromkeys(names, 0))
        elif details:
            out[key] = details


def _is_gone(own_raw: Wire, key: str) -> bool:
    return kernel.was_absent(own_raw, key) or type(own_raw.get(key, NOTHING)) is not dict
