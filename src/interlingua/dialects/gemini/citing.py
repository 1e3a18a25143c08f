"""Writing citations: as grounding supports and their chunks, or as the sources that they were.
The notes are those of `grounding.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.gemini.grounding import CHUNK_KEYS
from interlingua.dialects.gemini.spelling import mine, spell
from interlingua.dialects.gemini.spots import Spot, in_bytes, locate, spots_of
from interlingua.dialects.gemini.tables import NAME
from interlingua.model.blocks import Block, Citation, TextBlock

_SAID = frozenset({"cited_text", "url", "title", "start", "end"})
_NUMBERS = ("startIndex", "endIndex", "partIndex")


class _Chunks:
    """The chunks of a candidate: those kept, filled in by the citations that name them, and new
    ones for citations that rest on something else. Those stand behind every place that a citation
    names, also where there is no chunk."""

    def __init__(self, kept: list[Any], named: int) -> None:
        self.chunks = list(kept)
        self._kept = len(kept)
        self._named = named
        self._filled: dict[int, tuple[str | None, str | None]] = {}
        self._made: dict[tuple[str | None, str | None], int] = {}

    def index(self, citation: Citation, index: Any) -> int | None:
        wanted = (citation.url, citation.title)
        if type(index) is int:
            if not 0 <= index < self._kept:
                if wanted == (None, None):
                    return index
            elif self._filled.get(index, wanted) == wanted and self._fill(index, wanted):
                return index
        if wanted == (None, None):
            return None
        if wanted not in self._made:
            self.chunks += [{} for _ in range(len(self.chunks), self._named)]
            self._made[wanted] = len(self.chunks)
            self.chunks.append({"web": {}})
            self._fill(len(self.chunks) - 1, wanted)
        return self._made[wanted]

    def _fill(self, index: int, wanted: tuple[str | None, str | None]) -> bool:
        if index in self._filled:
            return True
        chunk = self.chunks[index]
        for key, inner in chunk.items() if type(chunk) is dict else ():
            if key in CHUNK_KEYS and type(inner) is dict:
                pairs = zip(CHUNK_KEYS[key], wanted, strict=True)
                told = {name: word for name, word in pairs if word is not None}
                if any(type(inner.get(name)) is str for name in CHUNK_KEYS[key]):
                    return False
                self.chunks[index] = {**chunk, key: {**inner, **told}}
                self._filled[index] = wanted
                return True
        return wanted == (None, None)


class Citing:
    """The citations of one candidate, block by block."""

    def __init__(self, parts: list[Wire], kept: Wire, named: int, scribe: Scribe) -> None:
        self.spots = spots_of(parts)
        self.scribe = scribe
        self.supports: list[tuple[Wire, Wire]] = []
        self.sources: list[tuple[Wire, Wire]] = []
        chunks = kept.get("groundingChunks")
        self.chunks = _Chunks(chunks if type(chunks) is list else [], named)

    def add(self, block: TextBlock, part: int) -> None:
        spot = next((spot for spot in self.spots if spot.part == part), None)
        before: Citation | None = None
        for citation in block.citations:
            self.scribe.unsaid(citation, _SAID)
            rest, form = mine(citation.raw)
            if form.get("source") and citation.cited_text is None:
                wire = self._source(citation, spot, rest, form)
                self.sources.append((wire, form))
                continue
            if form.get("source"):
                self._tell_source(citation, rest)
                rest = form = {}
            index = self.chunks.index(citation, form.get("chunk"))
            if before is not None and form.get("with") and _same_place(before, citation):
                self._bytes(citation, spot)  # for what it reports
                if index is not None:
                    self.supports[-1][0].setdefault("groundingChunkIndices", []).append(index)
                continue
            self.supports.append((self._support(citation, spot, index, rest, form), form))
            before = citation

    def _tell_source(self, citation: Citation, rest: Wire) -> None:
        """A source that cites a text is a support now, which has no place for the rest of it."""
        for key in rest:
            self.scribe.lost(citation, f"raw.{NAME}.{key}", "no part of a support", severity="info")

    def _support(
        self, citation: Citation, spot: Spot | None, index: int | None, rest: Wire, form: Wire
    ) -> Wire:
        support = dict(rest)
        inner = form.get("segment") or {}
        segment = self._segment(citation, spot, rest.get("segment") or {}, inner)
        if segment or inner.get("void"):
            support["segment"] = spell(segment, inner)
        if index is not None:
            support["groundingChunkIndices"] = [index]
        elif form.get("chunkless"):
            support["groundingChunkIndices"] = []
        return support

    def _segment(self, citation: Citation, spot: Spot | None, kept: Wire, form: Wire) -> Wire:
        segment = dict(kept)
        if citation.start is not None or citation.end is not None:
            for name in _NUMBERS:
                segment.pop(name, None)
            segment.update(self._numbers(citation, spot, form))
        elif (
            spot is not None
            and (spot is not self.spots[0] or form.get("part"))
            and not any(name in segment for name in _NUMBERS)
        ):
            segment["partIndex"] = spot.part
        if citation.cited_text is not None:
            segment["text"] = citation.cited_text
        return segment

    def _numbers(self, citation: Citation, spot: Spot | None, form: Wire) -> Wire:
        """The place in bytes: over all text where that is plain, else in the part."""
        start, end = self._bytes(citation, spot)
        if spot is None or (start is None and end is None):
            return {}
        first = spot is self.spots[0]
        if not form.get("part") and (first or form.get("joined")):
            moved = [None if n is None else n + spot.begin for n in (start, end)]
            place = locate(self.spots, moved[0], moved[1], None)
            if place is not None and place.spot is spot:
                return _place(moved[0], moved[1], form)
        return {**_place(start, end, form), "partIndex": spot.part}

    def _bytes(self, citation: Citation, spot: Spot | None) -> tuple[int | None, int | None]:
        """Start and end in bytes; a place that the text does not have is reported."""
        start = in_bytes(spot, citation.start) if spot else None
        end = in_bytes(spot, citation.end) if spot else None
        backwards = start is not None and end is not None and end < start
        for name, told in (("start", start), ("end", end)):
            if getattr(citation, name) is not None and (told is None or backwards):
                self.scribe.lost(citation, name, "the text has no such place")
        return (None, None) if backwards else (start, end)

    def _source(self, citation: Citation, spot: Spot | None, rest: Wire, form: Wire) -> Wire:
        source = dict(rest)
        if citation.url is not None:
            source["uri"] = citation.url
        if citation.title is not None:
            source["title"] = citation.title
        if citation.start is None and citation.end is None:
            return source
        start, end = self._bytes(citation, spot)
        begin = spot.begin if spot else 0
        moved = [None if n is None else n + begin for n in (start, end)]
        for name in _NUMBERS:
            source.pop(name, None)
        return {**source, **_place(moved[0], moved[1], form)}


def _place(start: int | None, end: int | None, form: Wire) -> Wire:
    """A start at 0 is not spelled out, unless it was."""
    out: Wire = {}
    if start is not None and (start or end is None or form.get("zero")):
        out["startIndex"] = start
    if end is not None:
        out["endIndex"] = end
    return out


def _same_place(one: Citation, other: Citation) -> bool:
    return (one.cited_text, one.start, one.end) == (other.cited_text, other.start, other.end)


def write_citations(
    blocks: tuple[Block, ...],
    placed: list[int],
    parts: list[Wire],
    candidate: Wire,
    form: Wire,
    scribe: Scribe,
) -> None:
    """Put the citations of all blocks into the candidate, beside what was kept there. `placed` is
    the part of each block, -1 for one that was left out."""
    grounding = candidate.get("groundingMetadata")
    kept = grounding if type(grounding) is dict else {}
    citing = Citing(parts, kept, _named(blocks), scribe)
    for block, part in zip(blocks, placed, strict=True):
        if type(block) is TextBlock and block.citations:
            citing.add(block, part)
    if citing.supports:
        out: Wire = {**(grounding or {}), "groundingSupports": _ordered(citing.supports)}
        if citing.chunks.chunks:
            out["groundingChunks"] = citing.chunks.chunks
        candidate["groundingMetadata"] = spell(out, form.get("groundingMetadata") or {})
    if citing.sources:
        inner = form.get("citationMetadata") or {}
        name = inner.get("sources") or "citations"
        out = {**(candidate.get("citationMetadata") or {}), name: _ordered(citing.sources)}
        candidate["citationMetadata"] = spell(out, inner)


def _named(blocks: tuple[Block, ...]) -> int:
    """How many chunks there would be if each that a citation names were there."""
    notes = [note for block in blocks if type(block) is TextBlock for note in block.citations]
    named = [mine(note.raw)[1].get("chunk") for note in notes]
    return max([index + 1 for index in named if type(index) is int and index < _MOST], default=0)


_MOST = 1000
"""So many chunks may be named; nobody sends as many."""


def _ordered(found: list[tuple[Wire, Wire]]) -> list[Wire]:
    if all(type(form.get("at")) is int for _, form in found):
        found = sorted(found, key=lambda each: each[1]["at"])
    return [spell(wire, form) for wire, form in found]
