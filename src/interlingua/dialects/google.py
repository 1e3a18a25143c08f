"""What both APIs of Google's models say alike: labels, where files are, and how tokens add up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from interlingua.dialects.kernel.kept import Kept, form_in, form_of, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, count, fresh_input
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw, same
from interlingua.model.blocks import MediaBlock, Source
from interlingua.model.exchange import Options
from interlingua.model.metadata import Diagnostic, Usage

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
    """Metadata as labels, which are for the bill and have a grammar of their own; those that were
    labels in one of the APIs (`$form.labels`) stay as they are."""
    said = options.metadata or {}
    if not said or any(form_of(name, raw).get("labels") for name in APIS):
        out["labels"] = said
        return
    labels = {key: item for key, item in said.items() if is_label(key, item)}
    if not labels:
        recorder.lost(options, "metadata", "labels cannot hold it")
        return
    out["labels"] = labels
    reason = "said as labels for the bill"
    if len(labels) < len(said):
        reason = f"{reason}, which cannot hold all of it"
    recorder.lost(options, "metadata", reason, kind="approximated")


# -- files ----------------------------------------------------------------------------------------

FILE_HOSTS = ("https://generativelanguage.googleapis.com/", "files/")
"""What begins like this is a file of the Files API; every other URI is a URL."""
FILE_PROVIDER = "gemini"


def source_of(uri: str) -> Source:
    if uri.startswith(FILE_HOSTS):
        return Source("file_id", uri, provider=FILE_PROVIDER)
    return Source("url", uri)


def address_of(block: MediaBlock, recorder: LossRecorder) -> str | None:
    """The URI of a block that is not sent itself; None where nobody here can reach it."""
    source, uri = block.source, block.source.data or ""
    if source_of(uri) != source:
        if source.kind == "file_id" and source.provider != FILE_PROVIDER:
            recorder.dropped(block, "a file that another provider keeps")
            return None
        reason = "the address alone says whether it is a file of the Files API"
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
_SAID = frozenset({*_FIELDS, "raw"})


class Counts(NamedTuple):
    """What an API calls its counts. The prompt's includes what came from the cache, that of what
    was said leaves out what was thought, and what server tools added to the prompt is counted
    apart, and stays apart. The total is the sum of all. What reading again cannot tell:

        wire   counts that contradict each other
        total  a total that is not the sum, and the sum that it stood for: until a count changes
    """

    prompt: str
    cached: str
    said: str
    thought: str
    total: str
    tools: str

    def read(
        self, wire: Wire, dialect: str, kept: Kept | None = None
    ) -> tuple[Usage, tuple[Diagnostic, ...]]:
        """The counts as disjoint ones; what is no count stays where it is."""
        kept = Kept() if kept is None else kept
        if not kept.form and (plain := self.quick(wire, dialect)) is not None:
            return plain, ()
        return self._read(wire, dialect, kept)

    def quick(self, wire: Wire, dialect: str) -> Usage | None:
        """Counts in the plain spelling that nearly all have; None for any other."""
        prompt, total, said = wire.get(self.prompt), wire.get(self.total), wire.get(self.said)
        cached, thought, rest = wire.get(self.cached), wire.get(self.thought), {}
        if type(prompt) is not int or type(total) is not int or prompt < 0:
            return None
        ours = self[:5]
        for key, item in wire.items():
            if item is None or (key in ours and (type(item) is not int or item < 0)):
                return None
            if key not in ours:
                rest[key] = item
        if (thought is not None and said is None) or (cached or 0) > prompt:
            return None
        output = None if said is None else said + (thought or 0)
        if total != prompt + (output or 0) + (count(rest.get(self.tools)) or 0):
            return None
        raw = {dialect: rest} if rest else None
        return Usage(prompt - (cached or 0), output, cached, None, thought, raw=raw)

    def _read(self, wire: Wire, dialect: str, kept: Kept) -> tuple[Usage, tuple[Diagnostic, ...]]:
        given: dict[str, int] = {}
        for key, item in wire.items():
            tokens = count(item) if key in self[:5] else None
            if tokens is None:
                kept.add(key, item)
            else:
                given[key] = tokens
        total = given.pop(self.total, None)
        usage = self._usage(given)
        said = self._counts(usage)
        contradict = any(said.get(key) != tokens for key, tokens in given.items())
        if contradict:
            kept.form["wire"] = given
        kept.miss_any(given, said)
        if total is None:
            kept.miss(self.total)
        elif total != (sum_of := self._total(said, kept.rest)) or not said:
            kept.form["total"] = [total, sum_of]
        return usage.replace(raw=kept.raw(dialect)), (CONTRADICTS,) if contradict else ()

    def write(self, usage: Usage, recorder: LossRecorder) -> Wire:
        mine = mine_of(recorder.dialect, usage.raw)
        form, counts = form_in(mine), self._counts(usage)
        total = self._total(counts, mine)
        given, gone = form.get("wire"), form.get("absent", ())
        recorder.unwritten(usage, _SAID)
        if type(given) is dict and not _differing(self._usage(given), usage):
            out = dict(given)
        else:
            self._tell(usage, counts, recorder)
            gone = [key for key in gone if not counts.get(key) or self._is_cached(key, usage)]
            out = {k: n for k, n in counts.items() if k not in gone} if gone else counts
        before = form.get("total") or (None, None)
        if before[1] == total:
            out[self.total] = before[0]
        elif out and self.total not in gone:
            out[self.total] = total
        return out if usage.raw is None else put_back(out, usage, usage.raw, recorder)

    def _usage(self, given: Mapping[str, int]) -> Usage:
        """Negative counts are clamped."""
        prompt, cached, said, thought = [
            None if (tokens := given.get(name)) is None else max(tokens, 0) for name in self[:4]
        ]
        output = None if said is None and thought is None else (said or 0) + (thought or 0)
        return Usage(fresh_input(prompt, cached, None), output, cached, reasoning_tokens=thought)

    def _counts(self, usage: Usage) -> dict[str, int]:
        out: dict[str, int] = {}
        output, thought = usage.output_tokens, usage.reasoning_tokens
        if (prompt := usage.prompt_tokens) is not None:
            out[self.prompt] = prompt
        if usage.cached_input_tokens is not None:
            out[self.cached] = usage.cached_input_tokens
        if output is not None:
            out[self.said] = max(output - (thought or 0), 0)
        if thought is not None:
            out[self.thought] = thought
        return out

    def _total(self, counts: Mapping[str, int], rest: Wire) -> int:
        prompt, said, thought = self.prompt, self.said, self.thought
        total = counts.get(prompt, 0) + counts.get(said, 0) + counts.get(thought, 0)
        return total + (count(rest.get(self.tools)) or 0)

    def _is_cached(self, key: str, usage: Usage) -> bool:
        """Whether all that is known of the prompt is what came from the cache."""
        return key == self.prompt and usage.input_tokens is None

    def _tell(self, usage: Usage, counts: Mapping[str, int], recorder: LossRecorder) -> None:
        """What the wire's counts cannot say of ours."""
        for name in _differing(self._usage(counts), usage):
            if getattr(usage, name) is not None:
                reason = f"{recorder.dialect} counts otherwise: see what was written"
                recorder.lost(usage, name, reason, kind="approximated")


def _differing(one: Usage, other: Usage) -> list[str]:
    return [name for name in _FIELDS if not same(getattr(one, name), getattr(other, name))]
