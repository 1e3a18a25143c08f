"""Tokens. The prompt's count includes what came from the cache; the answer's excludes the thoughts;
what server tools added to the prompt is counted apart, and stays apart. The total is repeated, so
that these keys hang together:

    wire   counts that contradict each other
    total  a total that is not the sum, and the sum that it stood for; None where there was none
"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.google import Counts
from interlingua.dialects.kernel.fields import Table
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, count
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.base import same
from interlingua.model.metadata import Diagnostic, Usage

PROMPT = "promptTokenCount"
CACHED = "cachedContentTokenCount"
CANDIDATES = "candidatesTokenCount"
THOUGHTS = "thoughtsTokenCount"
TOOLS = "toolUsePromptTokenCount"
TOTAL = "totalTokenCount"
_COUNTS = Counts(PROMPT, CACHED, CANDIDATES, THOUGHTS)
_FIELDS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")
_SAID = frozenset({*_FIELDS, "raw"})
_OURS = frozenset({*_COUNTS, TOTAL})
_SNAKES = frozenset(snake_case(name) for name in _OURS)
USAGE = Table(None, beside=_OURS, also_named=snake_case)


def quick_usage(wire: Wire) -> Usage | None:
    """Counts in the plain spelling that nearly all have; None for any other."""
    prompt, total, spoken = wire.get(PROMPT), wire.get(TOTAL), wire.get(CANDIDATES)
    cached, thoughts, rest = wire.get(CACHED), wire.get(THOUGHTS), {}
    if type(prompt) is not int or type(total) is not int or prompt < 0:
        return None
    for key, item in wire.items():
        if key in _OURS:
            if type(item) is not int or item < 0:
                return None
        elif item is None or key in _SNAKES:
            return None
        else:
            rest[key] = item
    if (thoughts is not None and spoken is None) or (cached or 0) > prompt:
        return None
    output = None if spoken is None else spoken + (thoughts or 0)
    if total != prompt + (output or 0) + (count(rest.get(TOOLS)) or 0):
        return None
    raw = {NAME: rest} if rest else None
    return Usage(prompt - (cached or 0), output, cached, None, thoughts, raw=raw)


def read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    usage = quick_usage(wire)
    return _read_usage(wire) if usage is None else (usage, ())


def _read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    kept = Kept()
    counted = USAGE.usual(wire, kept)
    USAGE.read(counted, kept)
    given = {name: number for name in _COUNTS if (number := _take(counted, name, kept)) is not None}
    total = _take(counted, TOTAL, kept)
    usage = _COUNTS.read(given)
    written = _COUNTS.write(usage)
    diagnostics: tuple[Diagnostic, ...] = ()
    if any(written.get(name) != number for name, number in given.items()):
        kept.form["wire"] = given
        diagnostics = (CONTRADICTS,)
    else:
        for name in written.keys() - given.keys():
            kept.miss(name)
    if total is None:
        kept.form["total"] = None
    elif total != (sum_of := _total(written, kept.rest)) or not written:
        kept.form["total"] = [total, sum_of]
    return usage.replace(raw=kept.raw(NAME)), diagnostics


def _take(wire: Wire, name: str, kept: Kept) -> int | None:
    """A count; what is none stays where it is."""
    tokens = count(wire.get(name))
    if tokens is None and name in wire:
        kept.add(name, wire[name])
    return tokens


def _total(counts: Wire, rest: Wire) -> int:
    """The sum that the wire repeats, with the server tools' share."""
    names = (PROMPT, CANDIDATES, THOUGHTS)
    return sum(counts.get(name) or 0 for name in names) + (count(rest.get(TOOLS)) or 0)


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, usage.raw)
    form = form_in(mine)
    recorder.unwritten(usage, _SAID)
    counts: Wire = _COUNTS.write(usage)
    total, before = _total(counts, mine), form.get("total", ())
    if "wire" in form and _differing(_COUNTS.read(form["wire"]), usage) == []:
        counts = dict(form["wire"])
    else:
        for name in _differing(_COUNTS.read(counts), usage):
            if getattr(usage, name) is not None:
                reason = f"{NAME} counts otherwise: see what was written"
                recorder.lost(usage, name, reason, kind="approximated")
        for name in form.get("absent", ()):
            if not counts.get(name) or (name == PROMPT and usage.input_tokens is None):
                counts.pop(name, None)
    if before and before[1] == total:
        counts[TOTAL] = before[0]
    elif counts and before is not None:
        counts[TOTAL] = total
    return counts if usage.raw is None else put_back(counts, usage, usage.raw, recorder)


def _differing(one: Usage, other: Usage) -> list[Any]:
    return [name for name in _FIELDS if not same(getattr(one, name), getattr(other, name))]
