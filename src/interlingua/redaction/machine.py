"""Regular expressions of strangers, matched in a time that their text alone decides.

All ways through a pattern are walked side by side, one character at a time, and each place of the
pattern is visited once for a character: no pattern can make that explode, as it can where ways are
tried one after the other. What cannot be done so (looking around, repeating a group's own text) is
refused, and a text on which a pattern would still cost too much is refused as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from interlingua.errors import InterlinguaError

MOST_PLACES = 2000
"""Places in a pattern, with all its repetitions written out."""
MOST_NESTED = 30
"""Groups inside groups."""
STEPS_FOR_EACH = 50
"""Steps that a character of the text may cost; more is refused."""
MOST_STEPS = 20_000_000
"""Steps that a text may cost, however long it is: less than a minute."""
_QUANTITY = re.compile(r"\{(\d*)(?:(,)(\d*))?\}")
_SINGLE = re.compile(r"\\[dDwWsS]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[ntrfv0]|\\[^A-Za-z0-9]|\.")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))")
Assertion = Literal["^", "$", "b", "B"]


class PatternError(InterlinguaError):
    """A pattern that is not understood, is not allowed, or costs too much."""


class _Place(NamedTuple):
    """One place of a pattern: takes a character, splits the way, asserts something, or ends."""

    kind: Literal["take", "split", "assert", "end"]
    to: tuple[int, ...] = ()
    taken: Any = None


class Machine:
    """A pattern that can be searched for."""

    def __init__(self, pattern: str) -> None:
        flags = re.IGNORECASE if pattern.startswith("(?i)") else re.NOFLAG
        self._places = _Parser(pattern.removeprefix("(?i)"), flags).parse()
        self._begin = self._beginning(flags)

    def _beginning(self, flags: re.RegexFlag) -> re.Pattern[str]:
        """One character with which a match may begin; the quick way over all others."""
        waiting, seen, singles = [0], set[int](), set[str]()
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            place = self._places[number]
            if place.kind == "take":
                singles.add(place.taken.said)
            waiting.extend(() if place.kind == "take" else place.to)
        return re.compile("|".join(sorted(singles)) or r"(?!)", flags)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it occurs: from left to right, without overlaps, never empty."""
        self._left = min(STEPS_FOR_EACH * (len(text) + 2000), MOST_STEPS)
        at = 0
        while (found := self._first(text, at)) is not None:
            yield found
            at = found[1]

    def _first(self, text: str, at: int) -> tuple[int, int] | None:
        ways: list[tuple[int, int]] = []
        found: tuple[int, int] | None = None
        while at <= len(text):
            if not ways:
                begin = None if found else self._begin.search(text, at)
                if begin is None:
                    return found
                at = begin.start()
            if found is None:
                self._enter(0, at, text, at, ways, {place for place, _ in ways})
            self._left -= len(ways)
            if self._left < 0:
                raise PatternError("the pattern costs too much on this text")
            ways, ended = self._step(ways, text, at)
            found = ended or found
            at += 1
        return found

    def _step(
        self, ways: list[tuple[int, int]], text: str, at: int
    ) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
        """One character on. A way that has ended hides those after it: they are worth less."""
        going: list[tuple[int, int]] = []
        seen: set[int] = set()
        letter = text[at : at + 1]
        for number, start in ways:
            place = self._places[number]
            if place.kind == "end":
                if at > start:
                    return going, (start, at)
            elif letter and place.taken(letter):
                self._enter(place.to[0], start, text, at + 1, going, seen)
        return going, None

    def _enter(
        self,
        number: int,
        start: int,
        text: str,
        at: int,
        ways: list[tuple[int, int]],
        seen: set[int],
    ) -> None:
        """All places that are reached without taking a character, the preferred ones first."""
        waiting = [number]
        while waiting:
            number = waiting.pop()
            if number in seen:
                continue
            seen.add(number)
            place = self._places[number]
            if place.kind == "split":
                waiting.extend(reversed(place.to))
            elif place.kind == "assert":
                if _holds(place.taken, text, at):
                    waiting.append(place.to[0])
            else:
                ways.append((number, start))


def _holds(assertion: Assertion, text: str, at: int) -> bool:
    if assertion == "^":
        return at == 0 or text[at - 1] == "\n"
    if assertion == "$":
        return at == len(text) or text[at] == "\n"
    before = at > 0 and _is_word(text[at - 1])
    behind = at < len(text) and _is_word(text[at])
    return (before != behind) == (assertion == "b")


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


class _Parser:
    """A pattern's text as places. Pieces are put together from their end: each is told where to go
    on, and gives the number of its first place."""

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self.pattern = pattern
        self.flags = flags
        self.at = 0
        self.depth = 0

    def parse(self) -> list[_Place]:
        tree = self._either()
        if self.at < len(self.pattern):
            raise self._error("an unopened )")
        places = _Places()
        first = places.build(tree, places.add(_Place("end")))
        return places.numbered_from(first)

    def _error(self, what: str) -> PatternError:
        return PatternError(f"pattern {self.pattern!r}, at {self.at}: {what}")

    def _either(self) -> Any:
        ways = [self._row()]
        while self.pattern.startswith("|", self.at):
            self.at += 1
            ways.append(self._row())
        return ways[0] if len(ways) == 1 else ("either", ways)

    def _row(self) -> Any:
        row = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            row.append(self._repeated(self._one()))
        return ("row", row)

    def _one(self) -> Any:
        rest = self.pattern[self.at]
        if rest == "(":
            return self._group()
        if rest in "^$":
            self.at += 1
            return ("assert", rest)
        if self.pattern.startswith(("\\b", "\\B"), self.at):
            self.at += 2
            return ("assert", self.pattern[self.at - 1])
        return ("take", self._single())

    def _group(self) -> Any:
        opened = _GROUP.match(self.pattern, self.at)
        if opened is None:
            raise self._error("a group of a kind that is not allowed")
        self.at = opened.end()
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self._error("groups are nested too deeply")
        inner = self._either()
        self.depth -= 1
        if not self.pattern.startswith(")", self.at):
            raise self._error("a group without its end")
        self.at += 1
        return inner

    def _single(self) -> Any:
        """What one character is compared with."""
        shape = _SINGLE.match(self.pattern, self.at) or _CLASS.match(self.pattern, self.at)
        letter = self.pattern[self.at]
        if shape is None and letter in "\\[*+?":
            raise self._error(f"{self.pattern[self.at : self.at + 2]!r} is not understood")
        said = re.escape(letter) if shape is None else shape[0]
        self.at += 1 if shape is None else len(said)
        try:
            return _FitCache(said, self.flags)
        except re.error as error:
            raise self._error(str(error)) from None

    def _repeated(self, one: Any) -> Any:
        quantity = self._quantity()
        if quantity is None:
            return one
        least, most = quantity
        if one[0] == "assert":
            raise self._error("nothing to repeat")
        lazy = self.pattern.startswith("?", self.at)
        self.at += lazy
        if self._quantity() is not None:
            raise self._error("a repetition of a repetition")
        return ("repeat", one, least, most, lazy)

    def _quantity(self) -> tuple[int, int | None] | None:
        letter = self.pattern[self.at : self.at + 1]
        if letter and letter in "*+?":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[letter]
        counted = _QUANTITY.match(self.pattern, self.at)
        if counted is None or counted[0] in ("{}", "{,}"):
            return None
        self.at = counted.end()
        least = int(counted[1] or 0)
        most = least if counted[2] is None else int(counted[3]) if counted[3] else None
        if max(least, most or 0) > MOST_PLACES or (most is not None and most < least):
            raise self._error("a repetition that is too long, or upside down")
        return least, most


class _FitCache(dict[str, bool]):
    """Whether a character fits; remembered, since asking costs more."""

    def __init__(self, said: str, flags: re.RegexFlag) -> None:
        self.said = said
        self._match = re.compile(said, flags).match

    def __missing__(self, letter: str) -> bool:
        self[letter] = fits = self._match(letter) is not None
        return fits

    def __call__(self, letter: str) -> bool:
        return self[letter]


class _Places:
    """Places while they are put together."""

    def __init__(self) -> None:
        self._all: list[_Place] = []
        self._built = 0

    def add(self, place: _Place) -> int:
        if len(self._all) >= MOST_PLACES:
            raise PatternError(f"the pattern has more than {MOST_PLACES} places")
        self._all.append(place)
        return len(self._all) - 1

    def build(self, tree: Any, then: int) -> int:
        self._built += 1
        if self._built > 10 * MOST_PLACES:  # repetitions of nothing make no places
            raise PatternError("the pattern repeats too much")
        kind = tree[0]
        if kind == "either":
            return self.add(_Place("split", tuple([self.build(way, then) for way in tree[1]])))
        if kind == "row":
            for one in reversed(tree[1]):
                then = self.build(one, then)
            return then
        if kind == "repeat":
            return self._repeat(tree, then)
        return self.add(_Place(kind, (then,), tree[1]))

    def _repeat(self, tree: Any, then: int) -> int:
        _, one, least, most, lazy = tree
        if most is None:
            again = self.add(_Place("split"))
            inner = self.build(one, again)
            self._all[again] = _split(inner, then, lazy)
            then = again
        else:
            end = then
            for _ in range(most - least):
                then = self.add(_split(self.build(one, then), end, lazy))
        for _ in range(least):
            then = self.build(one, then)
        return then

    def numbered_from(self, first: int) -> list[_Place]:
        """The same with the first one at 0, where matching begins."""
        swap = {0: first, first: 0}
        moved = [
            place._replace(to=tuple([swap.get(to, to) for to in place.to])) for place in self._all
        ]
        moved[0], moved[first] = moved[first], moved[0]
        return moved


def _split(inner: int, then: int, lazy: bool) -> _Place:
    return _Place("split", (then, inner) if lazy else (inner, then))
