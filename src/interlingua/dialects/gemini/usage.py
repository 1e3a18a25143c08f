"""Tokens. The prompt's count includes what came from the cache; the answer's excludes the thoughts;
what server tools added to the prompt is counted apart, and stays apart."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, count, fresh_input
from interlingua.dialects.gemini.spelling import SNAKE, Taking, mine, spell
from interlingua.dialects.gemini.tables import NAME
from interlingua.model.base import same
from interlingua.model.metadata import Diagnostic, Usage

PROMPT = "promptTokenCount"
CACHED = "cachedContentTokenCount"
CANDIDATES = "candidatesTokenCount"
THOUGHTS = "thoughtsTokenCount"
TOOLS = "toolUsePromptTokenCount"
TOTAL = "totalTokenCount"
_COUNTS = (PROMPT, CACHED, CANDIDATES, THOUGHTS)
_FIELDS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")
_SAID = frozenset(_FIELDS)
_SNAKES = frozenset(SNAKE[name] for name in (*_COUNTS, TOTAL))
_NONE = object()


def quick_usage(wire: Wire) -> Usage | None:
    """Counts in the plain spelling that nearly all have; None for any other."""
    rest = wire.copy()
    prompt, total = rest.pop(PROMPT, None), rest.pop(TOTAL, None)
    spoken, thoughts = rest.pop(CANDIDATES, _NONE), rest.pop(THOUGHTS, _NONE)
    cached = rest.pop(CACHED, _NONE)
    if type(prompt) is not int or type(total) is not int or prompt < 0:
        return None
    output = reasoned = read = None
    if spoken is not _NONE:
        if type(spoken) is not int or spoken < 0:
            return None
        output = spoken
    if thoughts is not _NONE:
        if type(thoughts) is not int or thoughts < 0 or output is None:
            return None
        output, reasoned = output + thoughts, thoughts
    if cached is not _NONE:
        if type(cached) is not int or not 0 <= cached <= prompt:
            return None
        read = cached
    if total != prompt + (output or 0) + (count(rest.get(TOOLS)) or 0):
        return None
    if not rest:
        return Usage(prompt - (read or 0), output, read, None, reasoned)
    if not _SNAKES.isdisjoint(rest):
        return None
    return Usage(prompt - (read or 0), output, read, None, reasoned, raw={NAME: rest})


def read_usage(wire: Taking) -> tuple[Usage, tuple[Diagnostic, ...]]:
    counts = {name: _take_count(wire, name) for name in _COUNTS}
    total = _take_count(wire, TOTAL)
    usage = _usage(counts)
    written = _counts(usage)
    given = {name: number for name, number in counts.items() if number is not None}
    diagnostics: tuple[Diagnostic, ...] = ()
    if any(written.get(name) != number for name, number in given.items()):
        wire.form["wire"] = given
        diagnostics = (Diagnostic("usage_contradicts"),)
    elif len(written) > len(given):
        wire.form["absent"] = [name for name in written if name not in given]
    if total is None:
        wire.form["totalless"] = True
    elif total != (rebuilt := _total(written, wire.left)) or not written:
        wire.form["total"] = [total, rebuilt]
    return usage.replace(raw=wire.raw()), diagnostics


def _take_count(wire: Taking, name: str) -> int | None:
    """A count; what is none stays where it is."""
    for key in (name, SNAKE[name]):
        if key in wire.left:
            value = count(wire.left[key])
            if value is not None or wire.left[key] is None:
                return wire.take(name, int)
            return None
    return None


def _usage(counts: dict[str, int | None]) -> Usage:
    """The counts as disjoint ones; negative ones are clamped."""
    prompt, cached, candidates, thoughts = [
        None if (n := counts[name]) is None else max(n, 0) for name in _COUNTS
    ]
    output = None
    if candidates is not None or thoughts is not None:
        output = (candidates or 0) + (thoughts or 0)
    return Usage(fresh_input(prompt, cached, None), output, cached, reasoning_tokens=thoughts)


def _counts(usage: Usage) -> dict[str, int]:
    out: dict[str, int] = {}
    if (prompt := usage.prompt_tokens) is not None:
        out[PROMPT] = prompt
    if usage.cached_input_tokens is not None:
        out[CACHED] = usage.cached_input_tokens
    if usage.output_tokens is not None:
        out[CANDIDATES] = max(usage.output_tokens - (usage.reasoning_tokens or 0), 0)
    if usage.reasoning_tokens is not None:
        out[THOUGHTS] = usage.reasoning_tokens
    return out


def _total(counts: Wire, rest: Wire) -> int:
    """The sum that the wire repeats, with the server tools' share."""
    names = (PROMPT, CANDIDATES, THOUGHTS)
    return sum(counts.get(name) or 0 for name in names) + (count(rest.get(TOOLS)) or 0)


def write_usage(usage: Usage, scribe: Scribe) -> Wire:
    rest, form = mine(usage.raw)
    scribe.unsaid(usage, _SAID)
    counts: Wire = _counts(usage)
    total = _total(counts, rest)
    if "wire" in form and _fits(form["wire"], usage):
        out = {**rest, **form["wire"]}
    else:
        _tell(usage, counts, scribe)
        for name in form.get("absent", ()):
            if not counts.get(name) or (name == PROMPT and usage.input_tokens is None):
                counts.pop(name, None)
        out = {**rest, **counts}
    if form.get("total", (None, None))[1] == total:
        out[TOTAL] = form["total"][0]
    elif counts and not form.get("totalless"):
        out[TOTAL] = total
    return spell(out, {key: form[key] for key in ("null", "snake") if key in form})


def spell_usage(usage: Usage) -> Wire | None:
    """The same in the plain case; None for any other, where a look at the losses is due."""
    raw, prompt, output = usage.raw, usage.input_tokens, usage.output_tokens
    kept = None if raw is None else raw.get(NAME)
    if prompt is None or usage.cache_creation_input_tokens is not None:
        return None
    if kept is not None and (type(kept) is not dict or "$form" in kept):
        return None
    out: Wire = {} if kept is None else kept.copy()
    cached, thoughts = usage.cached_input_tokens, usage.reasoning_tokens
    if cached is not None:
        out[CACHED] = cached
        prompt += cached
    out[PROMPT] = prompt
    total = prompt + (output or 0) + (count(out.get(TOOLS)) or 0)
    if output is not None:
        out[CANDIDATES] = output
    if thoughts is not None:
        if output is None or thoughts > output:
            return None
        out[CANDIDATES], out[THOUGHTS] = output - thoughts, thoughts
    out[TOTAL] = total
    return out


def _fits(wire: Any, usage: Usage) -> bool:
    """Whether a remembered wire still says what the fields say."""
    back = _usage({name: count(wire.get(name)) for name in _COUNTS})
    return all(same(getattr(back, name), getattr(usage, name)) for name in _FIELDS)


def _tell(usage: Usage, counts: Wire, scribe: Scribe) -> None:
    """Report what the counts say otherwise."""
    back = _usage({name: counts.get(name) for name in _COUNTS})
    for name in _FIELDS:
        value = getattr(usage, name)
        if value is not None and getattr(back, name) != value:
            reason = f"{NAME} counts otherwise: see what was written"
            scribe.lost(usage, name, reason, kind="approximated")
