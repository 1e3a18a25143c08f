"""Where a text has something that is to be taken out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from interlingua.redaction import named_secrets
from interlingua.redaction.rules import ASSIGNED, KINDS, Rules
from interlingua.redaction.shapes import Shape

_SHORTEST = 5
"""A text with less in it is not looked at by the rules that are built in."""
TAKEN_OUT = "[redacted:"
"""How a placeholder begins."""
_PLACEHOLDER = re.compile(r"\[redacted:[\w-]{1,60}:\d{1,12}\]")
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


class Span(NamedTuple):
    start: int
    end: int
    kind: str


def spans(text: str, rules: Rules) -> list[Span]:
    """From left to right, without overlaps; what overlaps is taken out as one."""
    taken = _placeholders(text)
    found = [
        span
        for span in _all(text, rules)
        if text[span.start : span.end] not in rules.keep and not _is_inside(span.start, taken)
    ]
    return joined(found)


def _placeholders(text: str) -> list[tuple[int, int]]:
    if TAKEN_OUT not in text:
        return []
    return [match.span() for match in _PLACEHOLDER.finditer(text)]


def _is_inside(at: int, taken: list[tuple[int, int]]) -> bool:
    before = bisect_right(taken, at, key=lambda each: each[0]) - 1
    return before >= 0 and at < taken[before][1]


def joined(found: list[Span]) -> list[Span]:
    """In their order, those that overlap as one."""
    out: list[Span] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if out and span.start < out[-1].end:
            out[-1] = _join(out[-1], span)
        else:
            out.append(span)
    return out


def _join(a: Span, b: Span) -> Span:
    kind = min(a.kind, b.kind, key=lambda each: _RANK.get(each, -1))
    return Span(a.start, max(a.end, b.end), kind)


def _all(text: str, rules: Rules) -> Iterator[Span]:
    for name, machine in rules.machines:
        for start, end in machine.spans(text):
            yield Span(start, end, name)
    if len(text) < _SHORTEST:
        return
    lower = text.lower()
    signs = [sign for sign in rules.signs if sign in lower]
    for shape in _promised(signs, rules):
        for match in shape.pattern.finditer(text):
            if shape.holds(match):
                yield Span(*match.span(match.re.groups), shape.kind)
    if rules.wants(ASSIGNED) and ("=" in text or ":" in text):
        for start, end in named_secrets.assigned(text):
            yield Span(start, end, ASSIGNED)


def _promised(signs: list[str], rules: Rules) -> Iterator[Shape]:
    """The shapes of which a text has a sign, each once."""
    if len(signs) < 2:
        return iter(rules.signs[signs[0]] if signs else ())
    return iter({id(shape): shape for sign in signs for shape in rules.signs[sign]}.values())
