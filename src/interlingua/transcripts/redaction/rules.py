"""What to redact, how findings are reported, and where a text has something to redact."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.transcripts.redaction.shapes import ASSIGNMENTS, KEYS, PEOPLE, Shape, assigned

LONGEST = 200_000
"""Characters of a pattern."""
MEMORY = 16 * 1024 * 1024
"""Bytes that RE2 may use for a pattern; one that needs more is refused."""
_LONE = re.compile("[\ud800-\udfff]")


class PatternError(InterlinguaError):
    """A pattern that is not understood, is not allowed, or is too large."""


class UserPattern:
    """One pattern; `^` and `$` are the ends of lines."""

    def __init__(self, pattern: str) -> None:
        try:
            import re2
        except ImportError:
            raise MissingExtraError("redaction by patterns of your own", "redaction") from None
        if len(pattern) > LONGEST:
            raise PatternError(f"a pattern has at most {LONGEST} characters, found {len(pattern)}")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MEMORY
        try:
            self._compiled: Any = re2.compile(f"(?m){pattern}", options)
        except (re2.error, UnicodeError) as error:
            why = error.args[0] if error.args else "not understood"
            text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(error)
            raise PatternError(f"pattern {pattern[:80]!r}: {text[:200]}") from None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it matches, without empty matches."""
        if not text.isascii() and _LONE.search(text):  # which RE2 does not support
            text = _LONE.sub("\ufffd", text)
        for match in self._compiled.finditer(text):
            start, end = match.span()
            if end > start:
                yield start, end


ASSIGNED = "assigned-secret"
"""The kind of a secret that is known by the name in front of it."""
KINDS: tuple[str, ...] = (
    *dict.fromkeys(shape.kind for shape in KEYS),
    ASSIGNED,
    *dict.fromkeys(shape.kind for shape in PEOPLE),
)
"""All kinds there are, in the order in which they are preferred; own patterns come before them."""


class Finding(NamedTuple):
    """Something that was taken out. The thing itself is not in here."""

    kind: str
    place: str
    """JSON pointer into the value as it is now; for a key, of the object that has it."""
    placeholder: str
    """What stands there now; empty where a whole field had to go."""
    length: int
    """How long it was, in characters."""


class Redacted(NamedTuple):
    value: Any
    findings: tuple[Finding, ...]


class OwnPattern(msgspec.Struct, frozen=True):
    """A user's regular expression without lookaround or back references; its name is the kind."""

    name: str
    pattern: str

    def __post_init__(self) -> None:
        if not self.name.replace("-", "").replace("_", "").isalnum() or len(self.name) > 40:
            raise ValueError(f"the name of a pattern has letters, digits, - and _: {self.name!r}")
        UserPattern(self.pattern)  # raises what is wrong with it


class Rules(msgspec.Struct, frozen=True, dict=True):
    """`kinds` narrows what is looked for (None is all of `KINDS`), `keep` are texts that stay."""

    kinds: frozenset[str] | None = None
    patterns: tuple[OwnPattern, ...] = ()
    keep: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.kinds is not None and (unknown := self.kinds - set(KINDS)):
            raise ValueError(f"unknown kind {', '.join(sorted(unknown))}: {', '.join(KINDS)}")

    def wants(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds

    @cached_property
    def own(self) -> tuple[tuple[str, UserPattern], ...]:
        return tuple([(own.name, UserPattern(own.pattern)) for own in self.patterns])

    @cached_property
    def signs(self) -> dict[str, tuple[Shape, ...]]:
        """The shapes by what a text must have to hold one of them."""
        found: dict[str, tuple[Shape, ...]] = {}
        for shape in (*KEYS, *PEOPLE):
            for sign in shape.signs if self.wants(shape.kind) else ():
                found[sign] = (*found.get(sign, ()), shape)
        return found


ALL = Rules()


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
    taken = [match.span() for match in _PLACEHOLDER.finditer(text)] if TAKEN_OUT in text else []
    found = [
        span
        for span in _all(text, rules)
        if text[span.start : span.end] not in rules.keep and not _is_inside(span.start, taken)
    ]
    return joined(found)


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
    for name, pattern in rules.own:
        for start, end in pattern.spans(text):
            yield Span(start, end, name)
    if len(text) < _SHORTEST:
        return
    lower = text.lower()
    signs = [sign for sign in rules.signs if sign in lower]
    for shape in _promised(signs, rules):
        for match in shape.pattern.finditer(text):
            if shape.holds(match):
                yield Span(*match.span(match.re.groups), shape.kind)
    if rules.wants(ASSIGNED) and any(sign in text for sign in ASSIGNMENTS):
        for start, end in assigned(text):
            yield Span(start, end, ASSIGNED)


def _promised(signs: list[str], rules: Rules) -> Iterator[Shape]:
    """The shapes of which a text has a sign, each once."""
    if len(signs) < 2:
        return iter(rules.signs[signs[0]] if signs else ())
    return iter({id(shape): shape for sign in signs for shape in rules.signs[sign]}.values())
