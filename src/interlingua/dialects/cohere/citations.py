"""Citations: a list beside the content, each of a piece of one of its texts, or of the plan.

The wire repeats the piece that is cited. Where it comes from is in `sources`: documents have a
text, and may have a title and an address; a tool's output stays as it is."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.cohere.tables import CITED, CITED_PLAN, NAME
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import QUIET, Attrs, Table, plain
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import Citation, TextBlock

_FIELDS = {"text": "cited_text", "url": "url", "title": "title"}
"""The keys of a cited document that others have too."""
_UNSAID = ("file_id", "document_index")


class Cited(msgspec.Struct):
    """A citation of the wire, between blocks and keys."""

    start: int | None = None
    end: int | None = None
    text: str | None = None
    """The piece that is cited."""
    index: int | None = None
    """Which item of the content has it; the plan is none of them."""
    kind: str | None = None


CITATION = Table(
    Cited,
    plain("start", "start", int),
    plain("end", "end", int),
    plain("text", "text", str),
    plain("content_index", "index", int, missing=0),
    plain("type", "kind", str, missing=CITED),
    beside=("sources",),
)


def place_of(wire: Any) -> int | str | None:
    """What a citation is of: an item of the content, the plan, or nothing that can have one."""
    kind = want(wire, dict).get("type") or CITED
    if kind == CITED_PLAN:
        return None if "content_index" in wire else CITED_PLAN
    return (wire.get("content_index") or 0) if kind == CITED else None


def read_citation(wire: Any, text: str) -> Citation:
    """A citation of this text. A piece that stands elsewhere in it than is said, or is not said,
    keeps its spelling: others have no word for it."""
    kept = Kept()
    cited = Cited(**CITATION.read(want(wire, dict), kept))
    if cited.text != _piece(text, cited.start, cited.end):
        kept.form["piece"] = cited.text
    fields = _read_sources(wire, kept)
    return Citation(**fields, start=cited.start, end=cited.end, raw=kept.raw(NAME))


def _piece(text: str, start: int | None, end: int | None) -> str | None:
    return None if start is None or end is None else text[start:end]


def _read_sources(wire: Wire, kept: Kept) -> Attrs:
    """What the first source says that others have too; the rest is kept in its place."""
    listed = wire.get("sources")
    if listed is None:
        kept.spell("sources", None) if "sources" in wire else kept.miss("sources")
        return {}
    sources = want(listed, list, ".sources")
    document = sources[0].get("document") if sources and type(sources[0]) is dict else None
    if type(document) is not dict:
        kept.rest["sources"] = sources
        return {}
    said = {key: document[key] for key in _FIELDS if type(document.get(key)) is str}
    rest = {key: item for key, item in document.items() if key not in said}
    kept.rest["sources"] = [{**sources[0], "document": rest}, *sources[1:]]
    return {_FIELDS[key]: text for key, text in said.items()}


def write_citation(
    citation: Citation, block: TextBlock, index: int | None, recorder: LossRecorder
) -> Wire:
    """A citation of a text; no `index` for one of the plan."""
    mine, start, end = mine_of(NAME, citation.raw), citation.start, citation.end
    piece = form_in(mine).get("piece", _piece(block.text, start, end))
    kind = CITED if index is not None else CITED_PLAN
    out: Wire = {}
    CITATION.write(Cited(start, end, piece, index or 0, kind), out, mine, QUIET)
    if index is None:
        out.pop("content_index", None)
    _write_sources(citation, out, mine)
    for name in _UNSAID:
        if getattr(citation, name) is not None:
            recorder.lost(citation, name)
    if citation.raw is None:
        return out
    return put_back(out, citation, citation.raw, recorder)


def _write_sources(citation: Citation, out: Wire, mine: Wire) -> None:
    given = {key: getattr(citation, name) for key, name in _FIELDS.items()}
    said = {key: text for key, text in given.items() if text is not None}
    sources = mine.get("sources")
    if type(sources) is list and sources and type(sources[0]) is dict:
        document = sources[0].get("document")
        if said or type(document) is dict:
            first = {**sources[0], "document": {**(document or {}), **said}}
            out["sources"] = [first, *sources[1:]]
    elif said:
        out["sources"] = [{"type": "document", "document": said}]
