"""Text and what cites it; refusals; and parts that speak to the service alone."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.kept import (
    finish,
    is_odd,
    mine_of,
    put_back,
    put_cache,
    read_cache,
    spare,
)
from interlingua.dialects.anthropic.parts import ANSWER, ASSISTANT, Place
from interlingua.dialects.anthropic.shape import may_take, take
from interlingua.dialects.anthropic.tables import CITATIONS, MARKERS, NAME
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.blocks import Citation, RefusalBlock, TextBlock, UnknownBlock

_TEXT = frozenset({"type", "text", "citations", "cache_control"})
_TOOL_REFERENCE = frozenset({"tool_name", "cache_control"})


def read_text(part: Wire, place: Place) -> TextBlock:
    text = part.get("text")
    if type(text) is not str:
        raise ShapeError(".text", "a string", text)
    if len(part) == 2 and (text or place is ANSWER):
        return TextBlock(text)
    form: Wire = {}
    spelled: Wire = {}
    cache = read_cache(part, spelled, form)
    cited = may_take(part, "citations", list, spelled)
    if cited == []:
        spelled["citations"] = []
    citations = read_citations(cited or [])
    if place is not ANSWER and (not text or (citations and place is not ASSISTANT)):
        form["odd"] = True
    return TextBlock(text, None, citations, cache, spare(part, _TEXT, spelled, form))


def write_text(block: TextBlock, place: Place, scribe: Scribe) -> Wire | None:
    text = block.text
    if block.signature is not None:
        scribe.lost(block, "signature", "signs no text here")
    if block.phase is not None:
        scribe.lost(block, "phase")
    if block.raw is not None or block.cache is not None or block.citations:
        return _write_rich_text(block, place, scribe)
    if text or place is ANSWER:
        return {"type": "text", "text": text}
    # An empty text is answered with a 400, even one that the service itself had sent.
    scribe.dropped(block, "empty", "info")
    return None


def _write_rich_text(block: TextBlock, place: Place, scribe: Scribe) -> Wire | None:
    mine = mine_of(block.raw)
    kind = mine.get("type")
    if type(kind) is str and kind in MARKERS and not block.text:
        return _write_marker(block, mine, scribe)
    if kind == "tool_reference" and not block.citations:
        return finish({"type": kind, "tool_name": block.text}, block, scribe)
    if not block.text and place is not ANSWER and not is_odd(block.raw):
        scribe.dropped(block, "empty", "info")
        return None
    out: Wire = {"type": "text", "text": block.text}
    if block.citations:
        _put_citations(out, block, place, scribe)
    return finish(out, block, scribe)


def read_tool_reference(part: Wire, place: Place) -> TextBlock:
    """The name of a tool that a search found."""
    name = take(part, "tool_name", str)
    form: Wire = {}
    spelled: Wire = {}
    cache = read_cache(part, spelled, form)
    return TextBlock(name, None, (), cache, spare(part, _TOOL_REFERENCE, spelled, form))


def read_marker(part: Wire, place: Place) -> UnknownBlock:
    return UnknownBlock({NAME: part})


def _write_marker(block: TextBlock, mine: Wire, scribe: Scribe) -> Wire:
    """As messages of earlier versions of this package have it."""
    out = {key: item for key, item in mine.items() if key != "$form"}
    if block.cache is not None:
        put_cache(out, block, scribe)
    if block.raw is not None and len(block.raw) > 1:
        scribe.unsaid_raw(block, block.raw)
    return out


def write_refusal(block: RefusalBlock, place: Place, scribe: Scribe) -> Wire | None:
    if not block.text and place is not ANSWER:
        scribe.dropped(block, "empty", "info")
        return None
    scribe.lost(block, None, "said as text", kind="downgraded")
    return finish({"type": "text", "text": block.text}, block, scribe)


# -- citations ------------------------------------------------------------------------------------

_ANY_CITATION = {"url": "url", "title": "title", "file_id": "file_id"}


def read_citations(cited: list[Any]) -> tuple[Citation, ...]:
    citations: list[Citation] = []
    try:
        for each in cited:
            citations.append(_read_citation(each))
    except ShapeError as odd:
        raise odd.inside(f".citations[{len(citations)}]") from None
    return tuple(citations)


def _read_citation(wire: Any) -> Citation:
    if type(wire) is not dict:
        raise ShapeError("", "an object", wire)
    spelled: Wire = {}
    names = CITATIONS.get(take(wire, "type", str), _ANY_CITATION)
    fields: Wire = {"cited_text": may_take(wire, "cited_text", str, spelled)}
    for key, name in names.items():
        fields[name] = may_take(wire, key, int if name == "document_index" else str, spelled)
    raw = spare(wire, frozenset({*names, "cited_text"}), spelled, {})
    return Citation(**fields, raw=raw)


def _put_citations(out: Wire, block: TextBlock, place: Place, scribe: Scribe) -> None:
    if place is not ASSISTANT and place is not ANSWER and not is_odd(block.raw):
        # Version 2026-10-21 refuses citations in what the user says.
        for citation in block.citations:
            scribe.lost(citation, None, "only a model's text may cite")
        return
    written = [write_citation(each, scribe, place is ANSWER) for each in block.citations]
    cited = [each for each in written if each is not None]
    if cited:
        out["citations"] = cited


def write_citation(citation: Citation, scribe: Scribe, answering: bool) -> Wire | None:
    """None for those of others: places in documents, and opaque indexes, cannot be made up. In an
    answer nobody checks the index: a client is shown the page."""
    kind = mine_of(citation.raw).get("type")
    if citation.raw is None or type(kind) is not str:
        if answering and citation.url is not None:
            return _write_page(citation, scribe)
        scribe.lost(citation, None, "says no place that can be cited here")
        return None
    names = CITATIONS.get(kind, _ANY_CITATION)
    out: Wire = {"type": kind}
    if citation.cited_text is not None:
        out["cited_text"] = citation.cited_text
    for key, name in names.items():
        if getattr(citation, name) is not None:
            out[key] = getattr(citation, name)
    put_back(out, citation, citation.raw, scribe)
    scribe.unsaid(citation, frozenset({*names.values(), "cited_text", "raw"}))
    return out


def _write_page(citation: Citation, scribe: Scribe) -> Wire:
    """A page on the web that another service has cited."""
    reason = "said without the index that the service makes"
    scribe.lost(citation, None, reason, kind="approximated", severity="info")
    scribe.unsaid(citation, _PAGE)
    return {
        "type": "web_search_result_location",
        "cited_text": citation.cited_text or "",
        "url": citation.url,
        "title": citation.title,
        "encrypted_index": "",
    }


_PAGE = frozenset({"cited_text", "url", "title"})
