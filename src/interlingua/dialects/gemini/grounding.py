"""Reading citations: `groundingMetadata` and `citationMetadata` stand beside the text.

A grounding support names a piece of the answer and the chunks it rests on: one citation for each of
these, on the text block that the piece lies in. What citations hold is taken out of the metadata:
the supports, and address and title of every chunk that some support names. The notes:

    chunk      the index of the citation's chunk
    chunkless  the list of chunks was empty
    with       this citation and the one before it were one support
    at         the support's position, where supports do not come in the order of the text
    source     the citation was one of `citationMetadata`

and of a segment:

    joined     the place was counted over all text, though the text is not the first
    part       the part was named, though the text is the first
    zero       a start at 0 was spelled out
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Wire, keep
from interlingua.dialects.gemini.spelling import SNAKE, Taking, WrongShapeError, mine
from interlingua.dialects.gemini.spots import Place, Spot, locate, spots_of
from interlingua.dialects.gemini.tables import CHUNKS, NAME
from interlingua.model.blocks import Block, Citation, TextBlock

Found = list[tuple[Spot, list[Citation]]]
"""What one support, or one source, gave: the text it is about, and its citations."""

CHUNK_KEYS = {key: CHUNKS[kind] for kind in CHUNKS for key in (kind, SNAKE[kind])}


def read_citations(candidate: Taking, blocks: list[Block], parts: list[Any]) -> list[Block]:
    """The blocks with their citations, which are taken out of the candidate."""
    spots = spots_of(parts)
    if not spots:
        return blocks
    found = _take_out(candidate, "groundingMetadata", spots, _read_supports)
    found += _take_out(candidate, "citationMetadata", spots, _read_sources)
    if not found:
        return blocks
    of_part: dict[int, list[Citation]] = {}
    for spot, citations in found:
        of_part.setdefault(spot.part, []).extend(citations)
    return _with_citations(blocks, of_part)


def _take_out(
    candidate: Taking, name: str, spots: list[Spot], read: Callable[[Taking, list[Spot]], Found]
) -> Found:
    """Metadata of another shape than ours stay as they are: they are no reason to refuse."""
    if not candidate.has(name):
        return []
    whole = candidate.take(name, dict)
    meta = Taking(whole, (candidate.place, name))
    try:
        found = read(meta, spots)
    except WrongShapeError:
        found = []
    if not found:
        candidate.left[name] = whole
        return []
    candidate.absorb(name, meta)
    return _in_order(found)


def _in_order(found: Found) -> Found:
    """Notes of the position, where they are needed to find the order again."""
    order = [spot.part for spot, _ in found]
    if order == sorted(order):
        return found
    return [
        (spot, [_at(each, n) for each in citations]) for n, (spot, citations) in enumerate(found)
    ]


def _at(citation: Citation, position: int) -> Citation:
    rest, form = mine(citation.raw)
    return citation.replace(raw=keep(NAME, rest, {**form, "at": position}))


def _with_citations(blocks: list[Block], of_part: dict[int, list[Citation]]) -> list[Block]:
    part = -1
    for index, block in enumerate(blocks):
        if "with" not in mine(getattr(block, "raw", None))[1]:
            part += 1
        if type(block) is TextBlock and part in of_part:
            blocks[index] = block.replace(citations=tuple(of_part[part]))
    return blocks


# -- supports -------------------------------------------------------------------------------------


def _read_supports(meta: Taking, spots: list[Spot]) -> Found:
    supports = meta.take("groundingSupports", list) or []
    chunks = meta.take("groundingChunks", list)
    named: set[int] = set()
    found = [_read_support(each, chunks or [], named, spots) for each in supports]
    if chunks is not None:
        left = [_bare(each) if n in named else each for n, each in enumerate(chunks)]
        meta.left["groundingChunks"] = left
    return found


def _read_support(
    wire: Any, chunks: list[Any], named: set[int], spots: list[Spot]
) -> tuple[Spot, list[Citation]]:
    support = Taking(wire)
    spot, place, cited_text = spots[0], None, None
    if (segment := support.inside("segment")) is not None:
        if not segment.left:
            segment.form["void"] = True
        cited_text = segment.take("text", str)
        place = _take_place(segment, spots)
        support.absorb("segment", segment)
    if place is not None:
        spot = place.spot
    citations: list[Citation] = []
    for index in _take_indices(support):
        form: Wire = support.form if not citations else {"with": True}
        if index is not None:
            form["chunk"] = index
            named.add(index)
        url, title = _source(chunks, index)
        start, end = (place.start, place.end) if place else (None, None)
        raw = keep(NAME, None if citations else support.left, form)
        citations.append(Citation(cited_text, url, title, start=start, end=end, raw=raw))
    return spot, citations


def _take_indices(support: Taking) -> list[int | None]:
    indices = support.take("groundingChunkIndices", list)
    if not indices:
        if indices is not None:
            support.form["chunkless"] = True
        return [None]
    if any(type(index) is not int for index in indices):
        raise WrongShapeError(support.place, "integers", indices)
    return list(indices)


def _take_place(segment: Taking, spots: list[Spot]) -> Place | None:
    """The place that a segment names; numbers that name none stay where they are."""
    start, end = segment.take("startIndex", int), segment.take("endIndex", int)
    part = segment.take("partIndex", int)
    place = locate(spots, start, end, part)
    if place is None:
        numbers = {"startIndex": start, "endIndex": end, "partIndex": part}
        segment.left.update({key: n for key, n in numbers.items() if n is not None})
        return None
    if part is None and place.spot is not spots[0]:
        segment.form["joined"] = True
    if part is not None and place.spot is spots[0]:
        segment.form["part"] = True
    if start == 0 and end is not None:
        segment.form["zero"] = True
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


# -- sources --------------------------------------------------------------------------------------


def _read_sources(meta: Taking, spots: list[Spot]) -> Found:
    name = "citations" if meta.has("citations") else "citationSources"
    sources = meta.take(name, list) or []
    if name == "citationSources":
        meta.form["sources"] = name
    return [_read_source(Taking(each), spots) for each in sources]


def _read_source(source: Taking, spots: list[Spot]) -> tuple[Spot, list[Citation]]:
    url, title = source.take("uri", str), source.take("title", str)
    start, end = source.take("startIndex", int), source.take("endIndex", int)
    place = locate(spots, start, end, None)
    if place is None:
        numbers = {"startIndex": start, "endIndex": end}
        source.left.update({key: n for key, n in numbers.items() if n is not None})
        place = Place(spots[0], None, None)
    elif start == 0 and end is not None:
        source.form["zero"] = True
    raw = keep(NAME, source.left, {**source.form, "source": True})
    return place.spot, [Citation(None, url, title, start=place.start, end=place.end, raw=raw)]
