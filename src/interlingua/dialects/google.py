"""Shared by both APIs of Google's models: labels, files, and sums of tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from interlingua.dialects.kernel.preserved import (
    NOTHING,
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, Split, count, fresh_input
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.base import Raw, same
from interlingua.model.blocks import MediaBlock, Source
from interlingua.model.exchange import Options
from interlingua.model.metadata import Diagnostic, Usage
from interlingua.model.reasons import because

# -- labels ---------------------------------------------------------------------------------------

APIS = ("gemini", "gemini-interactions")
_LABEL_KEY = re.compile(r"[^\W\d_][\w-]{0,62}")
_LABEL_VALUE = re.compile(r"[\w-]{0,63}")


def is_label(key: str, value: str) -> bool:
    """Whether Google takes this for a label: no capitals, no blanks (its cloud's rules for labels,
    read 2025-11)."""
    if key != key.lower() or value != value.lower():
        return False
    return bool(_LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value))


def write_labels(options: Options, raw: Raw | None, out: Wire, recorder: LossRecorder) -> None:
    """Metadata as labels, which are for billing and have a grammar of their own; those that were
    labels in one of the APIs (`$form.labels`) are not changed."""
    metadata = options.metadata or {}
    if not metadata or any(spelling_of(name, raw).get("labels") for name in APIS):
        out["labels"] = metadata
        return
    labels = {key: item for key, item in metadata.items() if is_label(key, item)}
    if not labels:
        recorder.lost(options, "metadata", because("labels_cannot_hold"))
        return
    out["labels"] = labels
    cut = len(labels) < len(metadata)
    reason = because("metadata_labels_cut" if cut else "metadata_as_labels", field="labels")
    recorder.lost(options, "metadata", reason, kind="approximated")


# -- files ----------------------------------------------------------------------------------------

FILE_HOSTS = ("https://generativelanguage.googleapis.com/", "files/")
"""The prefix of files of the Files API; every other URI is a URL."""
FILE_PROVIDER = "gemini"


def source_of(uri: str) -> Source:
    if uri.startswith(FILE_HOSTS):
        return Source("file_id", uri, provider=FILE_PROVIDER)
    return Source("url", uri)


def address_of(block: MediaBlock, recorder: LossRecorder) -> str | None:
    """The URI of a block whose data is not sent; None if it cannot be reached from here."""
    source, uri = block.source, block.source.data or ""
    if source_of(uri) != source:
        if source.kind == "file_id" and source.provider != FILE_PROVIDER:
            recorder.dropped(block, because("file_foreign"))
            return None
        reason = because("file_by_url")
        recorder.lost(block, "source", reason, kind="approximated")
    return uri


# -- places in a text -----------------------------------------------------------------------------


def points_of(text: str, at: int) -> int | None:
    """A place in bytes as one in code points; None where it is no place between two of them."""
    if text.isascii():
        return at if 0 <= at <= len(text) else None
    data = text.encode("utf-8", "surrogatepass")
    try:
        return len(data[:at].decode("utf-8", "surrogatepass")) if 0 <= at <= len(data) else None
    except UnicodeDecodeError:
        return None


def bytes_before(text: str, at: int) -> int:
    """A place in code points as one in bytes."""
    return at if text.isascii() else len(text[:at].encode("utf-8", "surrogatepass"))


# -- tokens ---------------------------------------------------------------------------------------

_FIELDS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")
_WRITTEN = frozenset({*_FIELDS, "raw"})


class Counts(NamedTuple):
    """The names of an API's counts. The prompt's includes cached tokens, the answer's leaves out
    thinking, and what server tools added to the prompt is counted apart, and stays apart. The
    total is the sum of all. Spelling that no field can hold:

        wire   counts that contradict each other
        total  a total that is not the sum, and the sum that it stood for: until a count changes
        derived  the one count that the wire left out and its total implies (recorded of Gemini with
               a file by URL, 2026): left out again until it changes
        tier   the key with the tier that served the request, where it is not the first
    """

    prompt: str
    cached: str
    answer: str
    thought: str
    total: str
    tools: str
    splits: Mapping[str, Split] = NOTHING
    """Breakdowns of the counts, by their keys."""
    tiers: Mapping[str, TwoWay[str, str]] = NOTHING
    """The keys that may contain the tier of the request, and their values."""

    def read(
        self, wire: Wire, dialect: str, preserved: Preserved | None = None
    ) -> tuple[Usage, tuple[Diagnostic, ...]]:
        """The counts as disjoint ones; values that are not counts are preserved in place."""
        preserved = Preserved() if preserved is None else preserved
        if not preserved.spelling and (plain := self.quick(wire, dialect)) is not None:
            return plain, ()
        return self._read(wire, dialect, preserved)

    def quick(self, wire: Wire, dialect: str) -> Usage | None:
        """Counts in the plain spelling that nearly all have; None for any other."""
        prompt, total, answer = wire.get(self.prompt), wire.get(self.total), wire.get(self.answer)
        cached, thought, rest = wire.get(self.cached), wire.get(self.thought), {}
        if type(prompt) is not int or type(total) is not int or prompt < 0:
            return None
        ours = self[:5]
        for key, item in wire.items():
            if item is None or (key in ours and (type(item) is not int or item < 0)):
                return None
            if key not in ours:
                rest[key] = item
        if (thought is not None and answer is None) or (cached or 0) > prompt:
            return None
        output = None if answer is None else answer + (thought or 0)
        if total != prompt + (output or 0) + (count(rest.get(self.tools)) or 0):
            return None
        if not rest:
            return Usage(prompt - (cached or 0), output, cached, None, thought)
        preserved = Preserved(rest)
        more, fresh = self._take(preserved), prompt - (cached or 0)
        return Usage(fresh, output, cached, None, thought, raw=preserved.raw(dialect), **more)

    def _take(self, preserved: Preserved) -> dict[str, Any]:
        """The breakdowns and the tier, which are no longer among the rest then."""
        found: dict[str, Any] = {}
        rest = preserved.rest
        for key, split in self.splits.items():
            if key in rest and (counts := split.read(rest[key])) is not None:
                found[split.attr] = counts
                del rest[key]
        for at, (key, words) in enumerate(self.tiers.items()):
            if key in rest and (tier := words.read(rest[key])) is not None:
                found["service_tier"] = tier
                if words.write(tier) == rest.pop(key) and at:
                    preserved.spelling["tier"] = key
                break
        return found

    def _read(
        self, wire: Wire, dialect: str, preserved: Preserved
    ) -> tuple[Usage, tuple[Diagnostic, ...]]:
        found: dict[str, int] = {}
        for key, item in wire.items():
            tokens = count(item) if key in self[:5] else None
            if tokens is None:
                preserved.add(key, item)
            else:
                found[key] = tokens
        total = found.pop(self.total, None)
        derived = {} if total is None else self._missing(found, total, preserved.rest)
        if derived:
            preserved.spelling["derived"] = derived
        usage = self._usage({**found, **derived})
        counts = self._counts(usage)
        contradict = any(counts.get(key) != tokens for key, tokens in found.items())
        if contradict:
            preserved.spelling["wire"] = found
        preserved.mark_any_absent(found, counts)
        if total is None:
            preserved.mark_absent(self.total)
        elif not counts.keys() - {self.cached}:
            preserved.rest[self.total] = total
        elif total != (sum_of := self._total(counts, preserved.rest)):
            preserved.spelling["total"] = [total, sum_of]
        more = self._take(preserved)
        usage = usage.replace(raw=preserved.raw(dialect), **more)
        return usage, (CONTRADICTS,) if contradict else ()

    def _missing(self, found: Mapping[str, int], total: int, rest: Wire) -> dict[str, int]:
        """The count of the prompt or of the answer, where it is the only one that is not there."""
        missing = [key for key in (self.prompt, self.answer) if key not in found]
        left = total - self._total(found, rest)
        is_clear = len(missing) == 1 and left > 0 and min(found.values()) >= 0
        return {missing[0]: left} if is_clear else {}

    def write(self, usage: Usage, recorder: LossRecorder) -> Wire:
        own_raw = raw_of(recorder.dialect, usage.raw)
        spelling, counts = spelling_in(own_raw), self._counts(usage)
        total = self._total(counts, own_raw)
        old, gone = spelling.get("wire"), spelling.get("absent", ())
        derived = spelling.get("derived") or {}
        recorder.unwritten(usage, self._said)
        if type(old) is dict and not _differing(self._usage({**old, **derived}), usage):
            out = dict(old)
        else:
            # what the wire's counts cannot express of ours
            written = self._usage(counts)
            for name in _differing(written, usage):
                if getattr(usage, name) is None:
                    recorder.filled(usage, name, str(getattr(written, name)))
                else:
                    reason = because("counts_differ")
                    recorder.lost(usage, name, reason, kind="approximated")
            gone = [
                key
                for key in gone
                if counts.get(key) in (None, 0, derived.get(key)) or self._is_cached(key, usage)
            ]
            out = {k: n for k, n in counts.items() if k not in gone} if gone else counts
        before = spelling.get("total") or (None, None)
        if before[1] == total:
            out[self.total] = before[0]
        elif len(out) > (self.cached in out) and self.total not in gone:
            out[self.total] = total
        for key, split in self.splits.items():
            if (
                getattr(usage, split.attr)
                and (breakdown := split.write(usage, recorder)) is not None
            ):
                out[key] = breakdown
        if usage.service_tier is not None and self.tiers:
            self._write_tier(usage, spelling.get("tier"), out, recorder)
        return out if usage.raw is None else restore_raw(out, usage, usage.raw, recorder)

    def _write_tier(self, usage: Usage, key: str | None, out: Wire, recorder: LossRecorder) -> None:
        key = next(iter(self.tiers)) if key is None or key not in self.tiers else key
        word = self.tiers[key].write(usage.service_tier or "")
        if word is None:
            recorder.lost(usage, "service_tier")
        else:
            out[key] = word

    @property
    def _said(self) -> frozenset[str]:
        """The fields that the wire has counts for, or some other key."""
        splits = {split.attr for split in self.splits.values()}
        return _WRITTEN.union(splits, ("service_tier",) if self.tiers else ())

    def _usage(self, counts: Mapping[str, int]) -> Usage:
        """Negative counts are clamped."""
        prompt, cached, answer, thought = [
            None if (tokens := counts.get(name)) is None else max(tokens, 0) for name in self[:4]
        ]
        output = None if answer is None and thought is None else (answer or 0) + (thought or 0)
        return Usage(fresh_input(prompt, cached, None), output, cached, reasoning_tokens=thought)

    def _counts(self, usage: Usage) -> dict[str, int]:
        out: dict[str, int] = {}
        output, thought = usage.output_tokens, usage.reasoning_tokens
        if usage.input_tokens is not None:  # a count of cached tokens alone is no prompt
            out[self.prompt] = usage.prompt_tokens or 0
        if usage.cached_input_tokens is not None:
            out[self.cached] = usage.cached_input_tokens
        if output is not None:
            out[self.answer] = max(output - (thought or 0), 0)
        if thought is not None:
            out[self.thought] = thought
        return out

    def _total(self, counts: Mapping[str, int], rest: Wire) -> int:
        prompt, answer, thought = self.prompt, self.answer, self.thought
        total = counts.get(prompt, 0) + counts.get(answer, 0) + counts.get(thought, 0)
        return total + (count(rest.get(self.tools)) or 0)

    def _is_cached(self, key: str, usage: Usage) -> bool:
        """Whether the cached part is all that is known of the prompt."""
        return key == self.prompt and usage.input_tokens is None


def _differing(one: Usage, other: Usage) -> list[str]:
    return [name for name in _FIELDS if not same(getattr(one, name), getattr(other, name))]
