"""The arithmetic of tokens: counts of a prompt are disjoint and add up to it, reasoning is a part
of the output, and unknown is None, never 0."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.metadata import Diagnostic, Usage
from interlingua.model.reasons import because

MODALITIES = ("text", "image", "audio", "video", "document")
CONTRADICTS = Diagnostic("usage_contradicts")
"""Counts contradicted each other and were clamped; their spelling is preserved."""


def count(value: Any) -> int | None:
    """A count of tokens: a whole number, however it is spelled; None for anything else."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def counted(key: str, attr: str, filled: bool = False) -> Field:
    """The field of a count. A negative number is no count, and its spelling is preserved; 0 is
    `filled` in where the wire requires a count."""
    return Field(
        key,
        (attr,),
        lambda wire_value: {attr: max(require(wire_value, int), 0)},
        lambda usage, _: getattr(usage, attr),
        fill=(lambda _: 0) if filled else None,
        kind=int,
        fits=lambda number: number >= 0,
    )


def report_unknown(
    usage: Usage, out: Wire, prompt: str, output: str, recorder: LossRecorder
) -> None:
    """Reports unknown counts that were written as numbers, because the wire requires them."""
    if usage.input_tokens is None and type(out.get(prompt)) is int:
        recorder.filled(usage, "input_tokens", str(out[prompt]))
    if usage.output_tokens is None and type(out.get(output)) is int:
        recorder.filled(usage, "output_tokens", str(out[output]))


def within(count: int | None, whole: int | None) -> int | None:
    """A count that is not negative, and no larger than its whole."""
    if count is None:
        return None
    return max(count if whole is None else min(count, whole), 0)


def fresh_input(total: int | None, cached: int | None, written: int | None) -> int | None:
    """The fresh part of a prompt whose total includes the cached and the written part."""
    return None if total is None else max(total - (cached or 0) - (written or 0), 0)


def clamped(counts: dict[str, int]) -> dict[str, int]:
    """Counts, by their canonical names, without contradictions: none is negative, and reasoning is
    at most the output. The same object if nothing had to be changed."""
    output, thought = counts.get("output_tokens"), counts.get("reasoning_tokens", 0)
    if min(counts.values(), default=0) >= 0 and (output is None or thought <= output):
        return counts
    positive = {name: max(number, 0) for name, number in counts.items()}
    if output is not None and "reasoning_tokens" in positive:
        positive["reasoning_tokens"] = min(positive["reasoning_tokens"], max(output, 0))
    return positive


# -- breakdowns -----------------------------------------------------------------------------------


class Split(NamedTuple):
    """A list or an object of the wire with one breakdown of a usage. In a list, `name` and
    `number` are the keys of its entries; in an object, both are empty. `words` are the wire's
    names and ours."""

    attr: str
    words: TwoWay[str, str]
    name: str = ""
    number: str = ""
    demanded: tuple[str, ...] = ()
    """Names that the object must have, with 0 if nothing was counted."""

    def read(self, value: Any) -> dict[str, int] | None:
        """The counts; None if it has no counts, or if a list has any other entries."""
        if not self.name:
            pairs = value.items() if type(value) is dict else ()
            found = {word: n for word, n in pairs if type(n) is int and n >= 0}
            names = {word: self.words.read(word) for word in found}
            kinds = {kind: found[word] for word, kind in names.items() if kind is not None}
            return dict(sorted(kinds.items())) or None  # wires differ in their order
        if type(value) is list and all(type(e) is dict and len(e) == 2 for e in value):
            return self._read_list(value)
        return None

    def _read_list(self, entries: list[Wire]) -> dict[str, int] | None:
        found: dict[str, int] = {}
        for entry in entries:
            kind, number = self.words.read(entry.get(self.name, "")), entry.get(self.number)
            if kind is None or kind in found or type(number) is not int or number < 0:
                return None
            found[kind] = number
        return found or None

    def write(self, usage: Any, recorder: LossRecorder) -> Any:
        """The breakdown on the wire; None if it has no name for any of it."""
        counts = getattr(usage, self.attr)
        words = [(self.words.write(kind), number) for kind, number in counts.items()]
        known = [(word, number) for word, number in words if word is not None]
        left = [kind for kind in counts if counts[kind] and self.words.write(kind) is None]
        if left:
            recorder.lost(usage, self.attr, because("kinds_uncounted", kinds=", ".join(left)))
        if not self.name:
            return {**dict.fromkeys(self.demanded, 0), **dict(known)} if known else None
        return [{self.name: word, self.number: number} for word, number in known] or None

    def field(self, key: str) -> Field:
        """The same as a field of a table."""

        def read(value: Any) -> Reading:
            found = self.read(value)
            return NOT_OURS if found is None else {self.attr: found}

        return Field(key, (self.attr,), read, self.write)
