"""Citations: `groundingMetadata` and `citationMetadata` stand beside the text.

A grounding support names a piece of the answer and the chunks it rests on: one citation for each of
these, on the text block that the piece lies in. What citations hold is taken out of the metadata:
the supports, and address and title of every chunk that some support names. The wire counts bytes,
blocks count code points; a place is counted over all visible text of the candidate, or in one part
if the part is named. Words in the form of a citation, since reading again cannot tell:

    chunk   the index of the citation's chunk
    with    this citation and the one before it were one support
    at      the support's position, where supports do not come in the order of the text
    source  the citation was one of `citationMetadata`
    zero    a start at 0 was spelled out
    joined  the place was counted over all text, though the text is not the first
    numbered  the part was named, though the text is the first
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from interlingua.dialects.gemini.tables import CHUNKS, NAME, SIGNATURE
from interlingua.dialects.gemini.text import Turn
from interlingua.dialects.kernel.errors import ShapeError, want
from interlingua.dialects.kernel.fields import Table
from interlingua.dialects.kernel.kept import (
    FORM,
    Kept,
    form_of,
    kept,
    mine_inside,
    mine_of,
    restore,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.blocks import Block, Citation, TextBlock

_NUMBERS = ("startIndex", "endIndex", "partIndex")
_SAID = frozenset({"cited_text", "url", "title", "start", "end"})
CHUNK_KEYS = {key: CHUNKS[kind] for kind in CHUNKS for key in (kind, snake_case(kind))}


def _keys(*keys: str) -> Table:
    """An object of which these keys are read by hand."""
    return Table(None, beside=keys, also_named=snake_case)


GROUNDING = _keys("groundingSupports", "groundingChunks")
SUPPORT = _keys("segment", "groundingChunkIndices")
SEGMENT = _keys("text", *_NUMBERS)
SOURCES = _keys("citations", "citationSources")
SOURCE = _keys("uri", "title", "startIndex", "endIndex")

# -- places ---------------------------------------------------------------------------------------


class Spot(NamedTuple):
    """A visible text: the index of its part, and where it begins in all text, in bytes."""

    part: int
    begin: int
    text: str


class Place(NamedTuple):
    """A stretch of one text, in code points."""

    spot: Spot
    start: int | None
    end: int | None


def spots_of(parts: list[Any]) -> list[Spot]:
    spots: list[Spot] = []
    begin = 0
    for index, part in enumerate(parts):
        text = part.get("text", "" if part.keys() <= SIGNATURE else None)
        if type(text) is str and part.get("thought") is not True:
            spots.append(Spot(index, begin, text))
            begin += len(text) if text.isascii() else len(text.encode())
    return spots


def locate(spots: list[Spot], start: int | None, end: int | None, part: int | None) -> Place | None:
    """Where bytes `start` to `end` are; None where no single text has them."""
    if part is not None:
        spot = next((spot for spot in spots if spot.part == part), None)
        return None if spot is None else _within(spot, start, end, 0)
    if start is None and end is None:
        return Place(spots[0], None, None)
    for spot in spots:
        if (place := _within(spot, start, end, spot.begin)) is not None:
            return place
    return None


def _within(spot: Spot, start: int | None, end: int | None, begin: int) -> Place | None:
    if start is None and end is None:
        return Place(spot, None, None)
    first = _points(spot.text, (start or 0) - begin)
    last = None if end is None else _points(spot.text, end - begin)
    if first is None or (end is not None and (last is None or last < first)):
        return None
    return Place(spot, first, last)


def _points(text: str, at: int) -> int | None:
    """A place in bytes as one in code points; None where it is no place between two of them."""
    if text.isascii():
        return at if 0 <= at <= len(text) else None
    data = text.encode()
    try:
        return len(data[:at].decode()) if 0 <= at <= len(data) else None
    except UnicodeDecodeError:
        return None


def in_bytes(spot: Spot, at: int | None) -> int | None:
    """A place in code points as one in bytes; None where the text has no such place."""
    if at is None or not 0 <= at <= len(spot.text):
        return None
    return at if spot.text.isascii() else len(spot.text[:at].encode())


# -- reading --------------------------------------------------------------------------------------

Found = list[tuple[Spot, list[Citation]]]
"""What one support, or one source, gave: the text it is about, and its citations."""


def read_citations(
    candidate: Wire, blocks: list[Block], parts: list[Any], kept: Kept
) -> list[Block]:
    """The blocks with their citations; what is left of the metadata is kept."""
    spots = spots_of(parts)
    found = _take_out(candidate, "groundingMetadata", spots, _read_supports, kept)
    found += _take_out(candidate, "citationMetadata", spots, _read_sources, kept)
    if not found:
        return blocks
    of_part: dict[int, list[Citation]] = {}
    for spot, citations in found:
        of_part.setdefault(spot.part, []).extend(citations)
    return _with_citations(blocks, of_part)


def _take_out(
    candidate: Wire,
    key: str,
    spots: list[Spot],
    read: Callable[[Wire, list[Spot], Kept], Found],
    kept: Kept,
) -> Found:
    """Metadata of another shape than ours stay as they are: they are no reason to refuse."""
    whole = candidate.get(key)
    if whole is None:
        if key in candidate:
            kept.spell(key, None)
        return []
    inner = Kept()
    found: Found = []
    try:
        if spots:
            found = read(want(whole, dict), spots, inner)
    except ShapeError as error:
        if not error.path:
            raise error.inside(f".{key}") from None
    if found:
        kept.absorb(key, inner)
    else:
        kept.rest[key] = whole
    return _in_order(found)


def _in_order(found: Found) -> Found:
    """Notes of the position, where they are needed to find the order again."""
    order = [spot.part for spot, _ in found]
    if order == sorted(order):
        return found
    return [(spot, [_at(each, n) for each in cited]) for n, (spot, cited) in enumerate(found)]


def _at(citation: Citation, position: int) -> Citation:
    mine = mine_of(NAME, citation.raw)
    form = {**form_of(NAME, citation.raw), "at": position}
    return citation.replace(raw={NAME: {**mine, FORM: form}})


def _with_citations(blocks: list[Block], of_part: dict[int, list[Citation]]) -> list[Block]:
    part = -1
    for index, block in enumerate(blocks):
        if "with" not in form_of(NAME, getattr(block, "raw", None)):
            part += 1
        if type(block) is TextBlock and part in of_part:
            blocks[index] = block.replace(citations=tuple(of_part[part]))
    return blocks


def _read_supports(wire: Wire, spots: list[Spot], kept: Kept) -> Found:
    wire = GROUNDING.usual(wire, kept)
    GROUNDING.read(wire, kept)
    supports = kept.may_take(wire, "groundingSupports", list) or []
    chunks = kept.may_take(wire, "groundingChunks", list)
    named: set[int] = set()
    found = [_read_support(each, chunks or [], named, spots) for each in supports]
    if chunks is not None:
        left = [_bare(each) if n in named else each for n, each in enumerate(chunks)]
        kept.rest["groundingChunks"] = left
    return found


def _read_support(
    wire: Any, chunks: list[Any], named: set[int], spots: list[Spot]
) -> tuple[Spot, list[Citation]]:
    kept = Kept()
    support = SUPPORT.usual(want(wire, dict, "[]"), kept)
    SUPPORT.read(support, kept)
    cited_text, place = _read_segment(support, spots, kept)
    start, end = (place.start, place.end) if place else (None, None)
    citations: list[Citation] = []
    for index in _read_indices(support, kept):
        if citations:
            kept = Kept(form={"with": True})
        if index is not None:
            kept.form["chunk"] = index
            named.add(index)
        url, title = _source(chunks, index)
        raw = kept.raw(NAME)
        citations.append(Citation(cited_text, url, title, start=start, end=end, raw=raw))
    return place.spot if place else spots[0], citations


def _read_segment(support: Wire, spots: list[Spot], kept: Kept) -> tuple[str | None, Place | None]:
    given = kept.may_take(support, "segment", dict)
    if not given:
        if given is not None:
            kept.spell("segment", given)
        return None, None if given is None else Place(spots[0], None, None)
    inner = Kept()
    segment = SEGMENT.usual(given, inner)
    SEGMENT.read(segment, inner)
    text, place = inner.may_take(segment, "text", str), _read_place(segment, spots, inner)
    kept.absorb("segment", inner)
    return text, place


def _read_indices(support: Wire, kept: Kept) -> list[int | None]:
    indices = kept.may_take(support, "groundingChunkIndices", list)
    if not indices:
        if indices is not None:
            kept.spell("groundingChunkIndices", indices)
        return [None]
    return [want(index, int, "[]") for index in indices]


def _read_place(wire: Wire, spots: list[Spot], kept: Kept) -> Place | None:
    """The place that numbers name; those that name none stay where they are."""
    numbers = {key: kept.may_take(wire, key, int) for key in _NUMBERS}
    start, end, part = numbers.values()
    place = locate(spots, start, end, part)
    if place is None:
        kept.rest.update({key: n for key, n in numbers.items() if n is not None})
        return None
    if part is None and place.spot is not spots[0]:
        kept.form["joined"] = True
    if part is not None and place.spot is spots[0]:
        kept.form["numbered"] = True
    if start == 0 and end is not None:
        kept.form["zero"] = True
    return place


def _source(chunks: list[Any], index: int | None) -> tuple[str | None, str | None]:
    """Address and title of a chunk."""
    if index is None or not 0 <= index < len(chunks) or type(chunk := chunks[index]) is not dict:
        return None, None
    for key, inner in chunk.items():
        if key in CHUNK_KEYS and type(inner) is dict:
            url, title = [inner.get(name) for name in CHUNK_KEYS[key]]
            return url if type(url) is str else None, title if type(title) is str else None
    return None, None


def _bare(chunk: Any) -> Any:
    """A chunk without what its citations hold."""
    if type(chunk) is not dict:
        return chunk
    for key, inner in chunk.items():
        if key in CHUNK_KEYS and type(inner) is dict:
            names = CHUNK_KEYS[key]
            left = {n: v for n, v in inner.items() if n not in names or type(v) is not str}
            return {**chunk, key: left}
    return chunk


def _read_sources(wire: Wire, spots: list[Spot], kept: Kept) -> Found:
    wire = SOURCES.usual(wire, kept)
    SOURCES.read(wire, kept)
    name = "citations" if wire.get("citations") is not None else "citationSources"
    if name == "citationSources":
        kept.form["sources"] = name
        kept.may_take(wire, "citations", list)
    elif "citationSources" in wire:
        kept.add("citationSources", wire["citationSources"])
    return [_read_source(each, spots) for each in kept.may_take(wire, name, list) or []]


def _read_source(wire: Any, spots: list[Spot]) -> tuple[Spot, list[Citation]]:
    kept = Kept(form={"source": True})
    source = SOURCE.usual(want(wire, dict, "[]"), kept)
    SOURCE.read(source, kept)
    url, title = kept.may_take(source, "uri", str), kept.may_take(source, "title", str)
    place = _read_place(source, spots, kept) or Place(spots[0], None, None)
    raw = kept.raw(NAME)
    return place.spot, [Citation(None, url, title, start=place.start, end=place.end, raw=raw)]


# -- writing --------------------------------------------------------------------------------------


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


class _Citing:
    """The citations of one candidate, block by block."""

    def __init__(self, parts: list[Wire], chunks: Any, named: int, recorder: LossRecorder) -> None:
        self._spots = spots_of(parts)
        self._recorder = recorder
        self._chunks = _Chunks(chunks if type(chunks) is list else [], named)
        self._supports: list[tuple[Wire, Wire]] = []
        self._sources: list[tuple[Wire, Wire]] = []

    def add(self, block: TextBlock, part: int) -> None:
        spot = next((spot for spot in self._spots if spot.part == part), None)
        before: Citation | None = None
        for citation in block.citations:
            self._recorder.unwritten(citation, _SAID)
            mine, form = mine_of(NAME, citation.raw), form_of(NAME, citation.raw)
            if form.get("source"):
                if citation.cited_text is None:
                    self._sources.append((self._source(citation, spot, mine, form), form))
                    continue
                self._tell_source(citation)
                mine, form = {}, {}
            index = self._chunks.index(citation, form.get("chunk"))
            if before is not None and form.get("with") and _same_place(before, citation):
                self._bytes(citation, spot)  # for what it reports
                if index is not None:
                    self._supports[-1][0].setdefault("groundingChunkIndices", []).append(index)
                continue
            self._supports.append((self._support(citation, spot, index, mine), form))
            before = citation

    def metadata(self, name: str) -> Wire:
        """What the candidate says of them; `name` is that of the list of sources."""
        out: Wire = {}
        if self._supports:
            out["groundingMetadata"] = {"groundingSupports": _ordered(self._supports)}
            if self._chunks.chunks:
                out["groundingMetadata"]["groundingChunks"] = self._chunks.chunks
        if self._sources:
            out["citationMetadata"] = {name: _ordered(self._sources)}
        return out

    def _tell_source(self, citation: Citation) -> None:
        """A source that cites a text is a support now, which has no place for the rest of it."""
        for key in kept(NAME, citation.raw):
            reason, field = "no part of a support", f"raw.{NAME}.{key}"
            self._recorder.lost(citation, field, reason, severity="info")

    def _support(
        self, citation: Citation, spot: Spot | None, index: int | None, mine: Wire
    ) -> Wire:
        support = {key: item for key, item in mine.items() if key not in (FORM, "segment")}
        segment = self._segment(citation, spot, mine_inside(mine, "segment"))
        if segment:
            support["segment"] = segment
        if index is not None:
            support["groundingChunkIndices"] = [index]
        return support

    def _segment(self, citation: Citation, spot: Spot | None, mine: Wire) -> Wire:
        segment = {key: item for key, item in mine.items() if key != FORM}
        form = mine.get(FORM, {})
        if citation.start is not None or citation.end is not None:
            segment = _without_numbers(segment) | self._numbers(citation, spot, form)
        elif (
            spot is not None
            and (spot is not self._spots[0] or form.get("numbered"))
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
        first = spot is self._spots[0]
        if not form.get("numbered") and (first or form.get("joined")):
            moved = [None if n is None else n + spot.begin for n in (start, end)]
            place = locate(self._spots, moved[0], moved[1], None)
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
                self._recorder.lost(citation, name, "the text has no such place")
        return (None, None) if backwards else (start, end)

    def _source(self, citation: Citation, spot: Spot | None, mine: Wire, form: Wire) -> Wire:
        source = {key: item for key, item in mine.items() if key != FORM}
        if citation.url is not None:
            source["uri"] = citation.url
        if citation.title is not None:
            source["title"] = citation.title
        if citation.start is None and citation.end is None:
            return source
        start, end = self._bytes(citation, spot)
        begin = spot.begin if spot else 0
        moved = [None if n is None else n + begin for n in (start, end)]
        return _without_numbers(source) | _place(moved[0], moved[1], form)


def _without_numbers(wire: Wire) -> Wire:
    return {key: item for key, item in wire.items() if key not in _NUMBERS}


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


def write_citations(blocks: tuple[Block, ...], turn: Turn, parts: list[Wire], mine: Wire) -> Wire:
    """What a candidate says of the citations of all its blocks, beside what was kept of it."""
    chunks = mine_inside(mine, "groundingMetadata").get("groundingChunks")
    citing = _Citing(parts, chunks, _named(blocks), turn.recorder)
    for block, part in zip(blocks, turn.placed, strict=True):
        if type(block) is TextBlock and block.citations:
            citing.add(block, part)
    form = mine_inside(mine, "citationMetadata").get(FORM, {})
    return citing.metadata(form.get("sources") or "citations")


def _named(blocks: tuple[Block, ...]) -> int:
    """How many chunks there would be if each that a citation names were there."""
    notes = [note for block in blocks if type(block) is TextBlock for note in block.citations]
    named = [form_of(NAME, note.raw).get("chunk") for note in notes]
    return max([index + 1 for index in named if type(index) is int and index < _MOST], default=0)


_MOST = 1000
"""So many chunks may be named; nobody sends as many."""


def _ordered(found: list[tuple[Wire, Wire]]) -> list[Wire]:
    if all(type(form.get("at")) is int for _, form in found):
        found = sorted(found, key=lambda each: each[1]["at"])
    return [restore(wire, {FORM: form}) for wire, form in found]
