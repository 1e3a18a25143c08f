"""Citations: `groundingMetadata` and `citationMetadata` stand beside the text.

A grounding support names a piece of the answer and the chunks it rests on: one citation for each of
these, on the text block that the piece lies in. What citations hold is taken out of the metadata:
the supports, and address and title of every chunk that some support names. The wire counts bytes,
blocks count code points; a place is counted over all visible text of the candidate, or in one part
if the part is named. The text of a segment repeats the passage of the answer: it is no quotation
from the source, which this wire has no place for. It is written as the passage is, and kept only
where it differs. Words in the form of a citation, since reading again cannot tell:

    chunk    the index of the citation's chunk
    with     this citation and the one before it were one support
    at       the support's position, where supports do not come in the order of the text
    source   the citation was one of `citationMetadata`
    numbers  how its place was said, if not as the writer would
    bare     its segment did without the text
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.gemini.parts import Turn
from interlingua.dialects.gemini.tables import CHUNKS, NAME, SIGNATURE
from interlingua.dialects.google import bytes_before, points_of
from interlingua.dialects.kernel.errors import ShapeError, require
from interlingua.dialects.kernel.fields import QUIET, Attrs, Table, inside, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_inside,
    raw_of,
    restore,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.blocks import Block, Citation, TextBlock
from interlingua.model.reasons import because


class Entry(msgspec.Struct):
    """A support or a source, between citations and keys. Its place is in the wire's numbers."""

    text: str | None = None
    url: str | None = None
    title: str | None = None
    start: int | None = None
    end: int | None = None
    part: int | None = None
    chunks: list[int] | None = None


_NUMBERS = {"startIndex": "start", "endIndex": "end", "partIndex": "part"}
_OFFSETS = [plain(key, attr, int) for key, attr in _NUMBERS.items()]
SUPPORT = Table(
    Entry,
    inside("segment", plain("text", "text", str), *_OFFSETS),
    plain("groundingChunkIndices", "chunks", list, blank=True),
    also_named=snake_case,
)
SOURCE = Table(
    Entry,
    plain("uri", "url", str),
    plain("title", "title", str),
    *_OFFSETS[:2],
    also_named=snake_case,
)
GROUNDING = Table(None, beside=("groundingSupports", "groundingChunks"), also_named=snake_case)
_SOURCES = ("citations", "citationSources", "citation_sources")
"""The names of the list of sources."""
_WRITTEN = frozenset({"url", "title", "start", "end"})

# -- places ---------------------------------------------------------------------------------------


class Spot(NamedTuple):
    """A visible text: the index of its part, and where it begins in all text, in bytes."""

    part: int
    begin: int
    text: str


class Span(NamedTuple):
    """A stretch of one text, in code points."""

    spot: Spot
    start: int | None = None
    end: int | None = None

    @property
    def passage(self) -> str:
        return self.spot.text[self.start or 0 : self.end]


def spots_of(parts: list[Any]) -> list[Spot]:
    spots: list[Spot] = []
    begin = 0
    for index, part in enumerate(parts):
        text = part.get("text", "" if part.keys() <= SIGNATURE else None)
        if type(text) is str and part.get("thought") is not True:
            spots.append(Spot(index, begin, text))
            begin += len(text) if text.isascii() else len(text.encode())
    return spots


def locate(
    spots: list[Spot], start: int | None, end: int | None, part: int | None = None
) -> Span | None:
    """The span of bytes `start` to `end`; None if no single text has them."""
    if part is not None:
        found = [_within(spot, start, end, 0) for spot in spots if spot.part == part]
    elif start is None and end is None:
        return Span(spots[0])
    else:
        found = [_within(spot, start, end, spot.begin) for spot in spots]
    return next((span for span in found if span is not None), None)


def _within(spot: Spot, start: int | None, end: int | None, begin: int) -> Span | None:
    if start is None and end is None:
        return Span(spot)
    first = points_of(spot.text, (start or 0) - begin)
    last = None if end is None else points_of(spot.text, end - begin)
    if first is None or (end is not None and (last is None or last < first)):
        return None
    return Span(spot, first, last)


def _numbers(span: Span, spots: list[Spot], over_all: bool) -> Wire:
    """The range of a citation: counted within its part, which is named unless it is the first,
    or over all text. A start at 0 is left out."""
    spot, start, end = span
    first, last = [
        None if at is None else bytes_before(spot.text, at) + (spot.begin if over_all else 0)
        for at in (start, end)
    ]
    numbers = {"startIndex": first if first or last is None else None, "endIndex": last}
    numbers["partIndex"] = None if over_all or spot == spots[0] else spot.part
    return {key: number for key, number in numbers.items() if number is not None}


# -- reading --------------------------------------------------------------------------------------

Found = list[tuple[int, Citation]]
"""Citations, each with the index of its part."""


def read_citations(
    candidate: Wire, blocks: list[Block], parts: list[Any], preserved: Preserved
) -> list[Block]:
    """The blocks with their citations; the rest of the metadata is preserved."""
    spots = spots_of(parts)
    cited: dict[int, list[Citation]] = {}
    for key, read in (("groundingMetadata", _read_supports), ("citationMetadata", _read_sources)):
        for part, citation in _take_out(candidate, key, spots, read, preserved):
            cited.setdefault(part, []).append(citation)
    part = -1
    for index, block in enumerate(blocks):
        if "with" not in spelling_of(NAME, block.raw):
            part += 1
        if type(block) is TextBlock and part in cited:
            blocks[index] = block.replace(citations=tuple(cited[part]))
    return blocks


def _take_out(
    candidate: Wire,
    key: str,
    spots: list[Spot],
    read: Callable[[Wire, list[Spot], Preserved], Found],
    preserved: Preserved,
) -> Found:
    """Metadata of another shape than ours stay as they are: they are no reason to refuse."""
    whole = preserved.may_take(candidate, key, dict)
    inner = Preserved()
    found: Found = []
    try:
        if spots and whole is not None:
            found = read(whole, spots, inner)
    except ShapeError:
        found = []
    if found:
        preserved.absorb(key, inner)
    elif whole is not None:
        preserved.rest[key] = whole
    return found


class _Item(NamedTuple):
    """A support or a source that was read, and where it is."""

    attrs: Attrs
    span: Span
    preserved: Preserved


def _read_items(listed: Any, table: Table, spots: list[Spot]) -> list[_Item]:
    items = [_read_item(wire, table, spots) for wire in require(listed, list)]
    order = [item.span.spot.part for item in items]
    if order != sorted(order):
        for position, item in enumerate(items):
            item.preserved.spelling["at"] = position
    return items


def _read_item(wire: Any, table: Table, spots: list[Spot]) -> _Item:
    """Numbers that name no place stay where they are."""
    preserved, over_all = Preserved(), table is SOURCE
    attrs = table.read(require(wire, dict), preserved)
    numbers = {key: attrs[attr] for key, attr in _NUMBERS.items() if attr in attrs}
    span = locate(spots, *[numbers.get(key) for key in _NUMBERS])
    if span is None:
        (preserved.rest if over_all else preserved.rest.setdefault("segment", {})).update(numbers)
        _keep_text(attrs, None, preserved)
        return _Item(attrs, Span(spots[0]), preserved)
    if not over_all:
        _keep_text(attrs, span.passage, preserved)
    if numbers != _numbers(span, spots, over_all):
        preserved.spelling["numbers"] = numbers
    return _Item(attrs, span, preserved)


def _keep_text(attrs: Attrs, passage: str | None, preserved: Preserved) -> None:
    """The text of a segment, where it is not the passage at its place."""
    text = attrs.pop("text", None)
    if text is None:
        preserved.spelling["bare"] = True
    elif text != passage:
        preserved.rest.setdefault("segment", {})["text"] = text


def _read_supports(wire: Wire, spots: list[Spot], preserved: Preserved) -> Found:
    wire = GROUNDING.usual(wire, preserved)
    GROUNDING.read(wire, preserved)
    supports = preserved.may_take(wire, "groundingSupports", list) or []
    chunks = preserved.may_take(wire, "groundingChunks", list)
    found: Found = []
    named: set[int | None] = set()
    for item in _read_items(supports, SUPPORT, spots):
        for index, citation in _supported(item, chunks or []):
            found.append((item.span.spot.part, citation))
            named.add(index)
    if chunks is not None:
        left = [_bare(chunk) if n in named else chunk for n, chunk in enumerate(chunks)]
        preserved.rest["groundingChunks"] = left
    return found


def _supported(item: _Item, chunks: list[Any]) -> Iterator[tuple[int | None, Citation]]:
    """A citation for each chunk that a support names."""
    attrs, (_, start, end), preserved = item
    named: list[int | None] = [require(index, int) for index in attrs.get("chunks") or ()]
    for index in named or [None]:
        if index is not None:
            preserved.spelling["chunk"] = index
        url, title = _source(chunks, index)
        raw = preserved.raw(NAME)
        yield index, Citation(None, url, title, start=start, end=end, raw=raw)
        preserved = Preserved(spelling={"with": True})


def _read_sources(wire: Wire, spots: list[Spot], preserved: Preserved) -> Found:
    key = next((name for name in _SOURCES if name in wire), "citations")
    preserved.add_others(wire, (key,))
    if key != "citations":
        preserved.spelling["named"] = {"citations": key}
    found: Found = []
    for attrs, (spot, start, end), note in _read_items(wire.get(key), SOURCE, spots):
        note.spelling["source"] = True
        url, title, raw = attrs.get("url"), attrs.get("title"), note.raw(NAME)
        found.append((spot.part, Citation(None, url, title, start=start, end=end, raw=raw)))
    return found


# -- chunks ---------------------------------------------------------------------------------------

_KEYS = {key: CHUNKS[kind] for kind in CHUNKS for key in (kind, snake_case(kind))}
_Words = tuple[str | None, str | None]
"""Address and title."""


def _inside(chunk: Any) -> tuple[str, Wire, tuple[str, str]] | None:
    """A chunk's kind: its key, and the keys of address and title there."""
    for key, inner in chunk.items() if type(chunk) is dict else ():
        if key in _KEYS and type(inner) is dict:
            return key, inner, _KEYS[key]
    return None


def _source(chunks: list[Any], index: int | None) -> _Words:
    found = _inside(chunks[index]) if index is not None and 0 <= index < len(chunks) else None
    if found is None:
        return None, None
    url, title = [found[1].get(name) for name in found[2]]
    return url if type(url) is str else None, title if type(title) is str else None


def _bare(chunk: Any) -> Any:
    """A chunk without the members that its citations hold."""
    found = _inside(chunk)
    if found is None:
        return chunk
    key, inner, names = found
    return {**chunk, key: {n: v for n, v in inner.items() if n not in names or type(v) is not str}}


class _Chunks:
    """The chunks of a candidate: the preserved ones, completed by the citations that name them,
    and new ones for citations of other sources, with indexes after every index that a citation
    names."""

    def __init__(self, preserved: list[Any], named: int) -> None:
        self.chunks = list(preserved)
        self._count = len(preserved)
        self._named = named
        self._filled: dict[int, _Words] = {}
        self._made: dict[_Words, int] = {}

    def index(self, citation: Citation, index: Any) -> int | None:
        source = (citation.url, citation.title)
        if type(index) is int and self._fits(index, source):
            return index
        if source == (None, None):
            return None
        if source not in self._made:
            self.chunks += [{} for _ in range(len(self.chunks), self._named)]
            self._made[source] = len(self.chunks)
            self.chunks.append({"web": _fields(CHUNKS["web"], source)})
        return self._made[source]

    def _fits(self, index: int, source: _Words) -> bool:
        """Whether a chunk has these values, or can get them."""
        if index in self._filled:
            return self._filled[index] == source
        found = _inside(self.chunks[index]) if 0 <= index < self._count else None
        if found is None:
            return source == (None, None)
        key, inner, names = found
        if any(type(inner.get(name)) is str for name in names):
            return False
        self.chunks[index] = {**self.chunks[index], key: {**inner, **_fields(names, source)}}
        self._filled[index] = source
        return True


def _fields(names: tuple[str, str], words: _Words) -> Wire:
    return {name: word for name, word in zip(names, words, strict=True) if word is not None}


# -- writing --------------------------------------------------------------------------------------


class _Citing:
    """The citations of one candidate, block by block."""

    def __init__(self, parts: list[Wire], chunks: Any, named: int, recorder: LossRecorder) -> None:
        self._spots = spots_of(parts)
        self._recorder = recorder
        self._chunks = _Chunks(chunks if type(chunks) is list else [], named)
        self._supports: list[tuple[Entry, Wire]] = []
        self._sources: list[tuple[Entry, Wire]] = []

    def add(self, block: TextBlock, part: int) -> None:
        spot = next((spot for spot in self._spots if spot.part == part), None)
        before: Citation | None = None
        for citation in block.citations:
            self._recorder.unwritten(citation, _WRITTEN)
            span, own_raw = self._span(citation, spot), raw_of(NAME, citation.raw)
            spelling = spelling_in(own_raw)
            if spelling.get("source"):
                entry = Entry(None, citation.url, citation.title)
                self._sources.append(self._positioned(entry, span, own_raw, over_all=True))
                continue
            index = self._chunks.index(citation, spelling.get("chunk"))
            if before is None or not spelling.get("with") or not _same_span(before, citation):
                self._supports.append(self._positioned(Entry(), span, own_raw))
                before = citation
            if index is not None:
                entry = self._supports[-1][0]
                entry.chunks = [*(entry.chunks or ()), index]

    def metadata(self) -> Wire:
        """The candidate's citations."""
        out: Wire = {}
        if self._supports:
            out["groundingMetadata"] = {"groundingSupports": _written(self._supports, SUPPORT)}
            if self._chunks.chunks:
                out["groundingMetadata"]["groundingChunks"] = self._chunks.chunks
        if self._sources:
            out["citationMetadata"] = {"citations": _written(self._sources, SOURCE)}
        return out

    def _span(self, citation: Citation, spot: Spot | None) -> Span | None:
        """Its span; a position that the text does not have is reported."""
        points = range(0 if spot is None else len(spot.text) + 1)
        offsets = [at if at in points else None for at in (citation.start, citation.end)]
        start, end = offsets
        if start is not None and end is not None and end < start:
            offsets = [None, None]
        for name, at in zip(("start", "end"), offsets, strict=True):
            if at is None and getattr(citation, name) is not None:
                self._recorder.lost(citation, name, because("citation_range"))
        return None if spot is None else Span(spot, *offsets)

    def _positioned(
        self, entry: Entry, span: Span | None, own_raw: Wire, over_all: bool = False
    ) -> tuple[Entry, Wire]:
        """A support or a source with its range: spelled as it was read while the range is the
        same. Numbers without a valid range are preserved until there is one."""
        stray = own_raw if over_all else own_raw.get("segment") or {}
        if not stray.keys().isdisjoint(_NUMBERS):
            if span is None or span == Span(span.spot):
                return entry, own_raw
            left = {k: item for k, item in stray.items() if k not in (*_NUMBERS, "text")}
            own_raw = left if over_all else {**own_raw, "segment": left}
        if span is not None:
            old = spelling_in(own_raw).get("numbers")
            if not old or locate(self._spots, *[old.get(key) for key in _NUMBERS]) != span:
                old = _numbers(span, self._spots, over_all)
            entry.start, entry.end, entry.part = [old.get(key) for key in _NUMBERS]
            if not (
                over_all
                or spelling_in(own_raw).get("bare")
                or "text" in (own_raw.get("segment") or {})
            ):
                entry.text = span.passage or None
        return entry, own_raw


def _same_span(one: Citation, other: Citation) -> bool:
    return (one.start, one.end) == (other.start, other.end)


def write_citations(
    blocks: tuple[Block, ...], turn: Turn, parts: list[Wire], own_raw: Wire
) -> Wire:
    """The candidate's members for the citations of all its blocks, with the preserved data."""
    chunks = raw_inside(own_raw, "groundingMetadata").get("groundingChunks")
    citing = _Citing(parts, chunks, _named(blocks), turn.recorder)
    for block, part in zip(blocks, turn.placed, strict=True):
        if type(block) is TextBlock and block.citations:
            citing.add(block, part)
    return citing.metadata()


def _named(blocks: tuple[Block, ...]) -> int:
    """The number of chunks if each that a citation names were there."""
    notes = [note for block in blocks if type(block) is TextBlock for note in block.citations]
    named = [spelling_of(NAME, note.raw).get("chunk") for note in notes]
    return max([index + 1 for index in named if type(index) is int and index < _MOST], default=0)


_MOST = 1000
"""The most chunks that may be named; no service sends as many."""


def _written(found: list[tuple[Entry, Wire]], table: Table) -> list[Wire]:
    if all(type(spelling_in(own_raw).get("at")) is int for _, own_raw in found):
        found = sorted(found, key=lambda each: spelling_in(each[1])["at"])
    written: list[Wire] = []
    for entry, own_raw in found:
        wire: Wire = {}
        table.write(entry, wire, own_raw, QUIET)
        written.append(restore(wire, own_raw))
    return written
