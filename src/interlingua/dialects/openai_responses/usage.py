"""Token counts. On the wire the input includes what was read from and written to the cache."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import astuple

from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, inside, plain
from interlingua.dialects.kernel.kept import NOTHING, Kept, restore
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import count, fresh_input, within
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.openai_responses.text import form, is_kept, own
from interlingua.model.metadata import Diagnostic, Usage


class Counts(msgspec.Struct):
    """The counts as the wire has them."""

    prompt: int | None = None
    output: int | None = None
    total: int | None = None
    cached: int | None = None
    written: int | None = None
    reasoning: int | None = None


def _counted(key: str, attr: str) -> Field:
    """A count, which is demanded. What is none goes home, and says nothing."""

    def read(given: Any) -> Reading:
        tokens = count(given)
        return NOT_OURS if tokens is None else {attr: tokens}

    return plain(key, attr, int, fill=lambda _: 0)._replace(read=read)


_COUNTS = Table(
    Counts,
    _counted("input_tokens", "prompt"),
    _counted("output_tokens", "output"),
    _counted("total_tokens", "total"),
    inside(
        "input_tokens_details",
        _counted("cached_tokens", "cached"),
        _counted("cache_write_tokens", "written"),
    ),
    inside("output_tokens_details", _counted("reasoning_tokens", "reasoning")),
    blank=True,
)
_DETAILS = ("input_tokens_details", "output_tokens_details")
_SAID = frozenset(Usage.__struct_fields__[:5])
_ODD = Diagnostic("usage_contradicts", "a part is larger than its whole, or negative")


def read_usage(wire: Wire) -> tuple[Usage, list[Diagnostic]]:
    """The counts, and what contradicts in them. A total that is no sum is remembered with the sum
    that it stood for (`$form.total`)."""
    kept = Kept()
    given = wire
    for key in _DETAILS:
        if key not in wire:
            kept.miss(key)
        elif type(wire[key]) is not dict and wire[key] is not None:
            kept.rest[key] = wire[key]
            given = {name: each for name, each in given.items() if name != key}
    counts = Counts(**_COUNTS.read(given, kept))
    usage, is_odd = _disjoint(counts)
    if is_odd:
        return usage.replace(raw={NAME: {"$form": {"wire": wire}}}), [_ODD]
    if counts.total is not None and counts.total != usage.total_tokens:
        kept.form["total"] = [usage.total_tokens, counts.total]
    raw = kept.raw(NAME)
    return usage if raw is None else usage.replace(raw=raw), []


def _disjoint(counts: Counts) -> tuple[Usage, bool]:
    """Parts that add up; and whether the counts said otherwise."""
    prompt, output = within(counts.prompt, None), within(counts.output, None)
    cached = within(counts.cached, prompt)
    written = within(counts.written, None if prompt is None else prompt - (cached or 0))
    thought = within(counts.reasoning, output)
    again = Counts(prompt, output, within(counts.total, None), cached, written, thought)
    return Usage(fresh_input(prompt, cached, written), output, cached, written, thought), (
        again != counts
    )


_GONE = {"input_tokens_details": {"absent": ["cache_write_tokens"]}}
_USUAL = {NAME: {"$form": {"inside": _GONE}}}
"""What is kept of a usage that says nothing of tokens written to the cache, as most do."""
_NO_MORE = astuple(Usage())[5:-1]


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    fresh, output, cached, written, thought, *more, raw = astuple(usage)
    if raw is not None and (raw != _USUAL or written is not None or None in (cached, thought)):
        return _write_usage(usage, recorder)
    if fresh is None or output is None or (thought or 0) > output or tuple(more) != _NO_MORE:
        return _write_usage(usage, recorder)
    prompt, inputs = fresh + (cached or 0) + (written or 0), {"cached_tokens": cached or 0}
    if raw is None:
        inputs["cache_write_tokens"] = written or 0
    return {
        "input_tokens": prompt,
        "output_tokens": output,
        "total_tokens": prompt + output,
        "input_tokens_details": inputs,
        "output_tokens_details": {"reasoning_tokens": thought or 0},
    }


def _write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    recorder.unwritten(usage, _SAID)
    mine, spelling = own(usage.raw), form(usage.raw)
    if usage.output_tokens is not None and (usage.reasoning_tokens or 0) > usage.output_tokens:
        reason = "reasoning is a part of the output, and larger"
        recorder.lost(usage, "reasoning_tokens", reason, kind="approximated")
    recorded = spelling.get("wire")
    if type(recorded) is dict and read_usage(recorded)[0] == Usage(*astuple(usage)[:5]):
        return recorded
    gone = {*spelling.get("absent", ()), *spelling.get("spelled", ())}
    gone |= {key for key in _DETAILS if type(mine.get(key, NOTHING)) is not dict}
    out: Wire = {key: {} for key in _DETAILS if key not in gone}
    _COUNTS.write(_counts(usage), out, mine, recorder)
    out |= {key: out.pop(key) for key in _DETAILS if key in out}  # behind the sums
    return restore(out, mine)


def _counts(usage: Usage) -> Counts:
    total = usage.total_tokens
    remembered = form(usage.raw).get("total")
    if remembered is not None and remembered[0] == total:
        total = remembered[1]
    elif is_kept(usage.raw, "total_tokens"):
        total = None
    is_known = usage.input_tokens is not None or not is_kept(usage.raw, "input_tokens")
    return Counts(
        usage.prompt_tokens if is_known else None,
        usage.output_tokens,
        total,
        usage.cached_input_tokens,
        usage.cache_creation_input_tokens,
        usage.reasoning_tokens,
    )
