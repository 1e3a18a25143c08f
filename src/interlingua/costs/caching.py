"""Simulates vendors' caches for a sequence of prompts: read, written and fresh tokens of each.

The rules are data (`data/caching.toml`): minimums, lifetimes, steps, how far back an entry is
found. What no rule decides is named by `CachePrediction.sure`: a vendor that promises nothing may
route a request to a machine without the entry, or evict it early.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Hashable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from interlingua.profiles.profile import profile_of


class CacheRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The caching rule for some models, its source, and the claim of another source."""

    id: str
    match: str
    finds: Literal["marks", "breakpoints", "prefix", "none"]
    source: str
    sure: bool
    realised: float
    guess: bool = False
    minimum: int | None = None
    step: int = 1
    lookback: int | None = None
    latest: int | None = None
    marks: int = 0
    answers: bool = False
    lifetimes: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    def seconds(self, lifetime: str | None) -> float:
        """The lifetime of an entry; the shortest one if it is unknown."""
        known = lifetime if lifetime in self.lifetimes else self.lifetimes[0]
        return seconds_of(known)


class _Rules(msgspec.Struct, frozen=True):
    read: str
    rule: tuple[CacheRule, ...]


_UNITS = {"m": 60.0, "h": 3600.0}


def seconds_of(lifetime: str) -> float:
    return float(lifetime[:-1]) * _UNITS[lifetime[-1]]


@cache
def cache_rules() -> tuple[CacheRule, ...]:
    """All rules, in the order in which they are tried."""
    file = resources.files(__package__).joinpath("data", "caching.toml")
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _Rules).rule


@lru_cache(maxsize=512)
def cache_rule(model: str) -> CacheRule:
    """The rule for `<provider>:<name>`, with the minimum of that model."""
    rule = next(each for each in cache_rules() if re.search(each.match, model.lower()))
    if rule.minimum is not None:
        return rule
    provider, _, name = model.rpartition(":") if model.count(":") == 1 else model.partition(":")
    least = profile_of(name, provider or None).limits.cache_min
    return msgspec.structs.replace(rule, minimum=least or 0)


class Prompt(NamedTuple):
    """The first `length` parts of a prompt. A key stands for all of the prompt up to its part, and
    `ends` has the tokens up to there; both may be longer and shared with later prompts. `marks` are
    lifetimes by the number of parts before the mark."""

    keys: Sequence[Hashable]
    ends: Sequence[float]
    length: int
    marks: Mapping[int, str | None] = {}
    explicit: bool = False
    """Whether the vendor adds no mark of its own."""
    answers: Container[int] = ()
    """The model's own answers among the parts, counted from 1."""
    lifetime: str | None = None
    """The lifetime of entries that the vendor marks automatically."""

    def tokens(self, length: int) -> float:
        return self.ends[length - 1] if length else 0.0


class CachePrediction(NamedTuple):
    """Tokens of one prompt. `long_written` of those written live longer than the shortest time;
    `sure` is False where the vendor promises no hit."""

    cached: int
    written: int
    fresh: int
    long_written: int = 0
    sure: bool = True

    @property
    def prompt(self) -> int:
        return self.cached + self.written + self.fresh


class _Entry:
    """The cache entry for a key: its end, and how long each use extends it."""

    __slots__ = ("expires", "lifetime")

    def __init__(self, expires: float, lifetime: float) -> None:
        self.expires = expires
        self.lifetime = lifetime


class CacheSimulator:
    """The cache of one account for one model. `send` is called in the order of time."""

    def __init__(self, model: str, rule: CacheRule | None = None) -> None:
        self.model = model
        self.rule = cache_rule(model) if rule is None else rule
        self._entries: dict[Hashable, _Entry] = {}

    def send(self, prompt: Prompt, at: float = 0.0) -> CachePrediction:
        """The effect on the cache of this prompt at a time in seconds, after all earlier ones."""
        whole = prompt.tokens(prompt.length)
        if self.rule.finds == "none" or whole < (self.rule.minimum or 0):
            return CachePrediction(0, 0, round(whole))
        if self.rule.finds == "prefix":
            return self._send_prefix(prompt, at, whole)
        return self._send_marked(prompt, at, whole)

    def warm(self, key: Hashable, at: float) -> None:
        """An earlier request, which is not known, left the prompt up to this key in the cache."""
        if self.rule.lifetimes:
            life = self.rule.seconds(None)
            self._entries[key] = _Entry(at + life, life)

    def _send_prefix(self, prompt: Prompt, at: float, whole: float) -> CachePrediction:
        """All of a prompt is one entry, which is known by each of its parts."""
        length = prompt.length
        while length and not self._is_live(prompt.keys[length - 1], at):
            length -= 1
        while length and self.rule.answers and length + 1 in prompt.answers:
            length += 1
        shared = prompt.tokens(length)
        steps = int(shared) // self.rule.step * self.rule.step
        cached = steps if steps >= (self.rule.minimum or 0) else 0
        cached = min(cached, max(round(whole) - 1, 0))
        life = self.rule.seconds(prompt.lifetime)
        entry = (self._entries.get(prompt.keys[length - 1]) if length else None) or _Entry(at, life)
        entry.expires = max(entry.expires, at + life)
        for key in prompt.keys[length : prompt.length]:
            self._entries[key] = entry
        return CachePrediction(cached, 0, round(whole) - cached, sure=self.rule.sure or not cached)

    def _send_marked(self, prompt: Prompt, at: float, whole: float) -> CachePrediction:
        marks = self._marks(prompt)
        hit = self._hit(prompt, marks, at)
        least = self.rule.minimum or 0
        writes = {each: life for each, life in marks.items() if prompt.tokens(each) >= least}
        if hit:
            entry = self._entries[prompt.keys[hit - 1]]
            entry.expires = at + entry.lifetime
        cached = prompt.tokens(hit)
        last = max(writes, default=hit)
        shortest = self.rule.seconds(None)
        longer = [each for each, life in writes.items() if self.rule.seconds(life) > shortest]
        long_last = max(longer, default=0)
        for each, life in writes.items():
            seconds = self.rule.seconds(life)
            known = self._entries.get(prompt.keys[each - 1])
            if known is None or known.expires < at or known.lifetime < seconds:
                self._entries[prompt.keys[each - 1]] = _Entry(at + seconds, seconds)
            else:
                known.expires = at + known.lifetime
        read, end = round(cached), max(round(prompt.tokens(last)), round(cached))
        long = max(round(prompt.tokens(long_last)) - read, 0)
        sure = self.rule.sure or not read
        return CachePrediction(read, end - read, max(round(whole) - end, 0), long, sure)

    def _marks(self, prompt: Prompt) -> dict[int, str | None]:
        """The marks that count: the last ones, and the end of the prompt if the vendor marks it
        automatically."""
        marks = dict(prompt.marks)
        if self.rule.finds == "breakpoints" and not prompt.explicit:
            marks[prompt.length] = marks.get(prompt.length) or prompt.lifetime
        chosen = sorted(each for each in marks if 0 < each <= prompt.length)[-self.rule.marks :]
        return {each: marks[each] for each in chosen}

    def _hit(self, prompt: Prompt, marks: Mapping[int, str | None], at: float) -> int:
        """The number of parts that are found in the cache."""
        if self.rule.finds == "breakpoints":
            seen = 0
            for length in range(prompt.length, 0, -1):
                if prompt.keys[length - 1] in self._entries:
                    if self._is_live(prompt.keys[length - 1], at):
                        return length
                    seen += 1
                    if seen == self.rule.latest:
                        break
            return 0
        back = self.rule.lookback or prompt.length
        for mark in sorted(marks, reverse=True):
            for length in range(mark, max(mark - back, 0), -1):
                if self._is_live(prompt.keys[length - 1], at):
                    return length
        return 0

    def _is_live(self, key: Hashable, at: float) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.expires >= at
