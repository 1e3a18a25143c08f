"""Text that cites: a `citationsContent` part holds both the text and what it rests on."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.bedrock.tables import DOCUMENT_LOCATIONS
from interlingua.dialects.shape import each, may_take, want
from interlingua.model.blocks import Citation, TextBlock

_SAID = frozenset({"cited_text", "url", "title", "document_index", "raw"})


# -- reading --------------------------------------------------------------------------------------


def read(inner: Wire) -> TextBlock | None:
    """The text with its citations; None where the part holds more than texts."""
    form: Wire = {"cited": True}
    spelled: Wire = {}
    texts = _texts(inner.get("content", []))
    if texts is None:
        return None
    if "content" not in inner:
        form["absent"] = ["content"]
    elif len(texts) != 1:
        form["content"] = [len(text) for text in texts]
    listed = may_take(inner, "citations", list, spelled)
    if listed == []:
        spelled["citations"] = []
    citations = tuple(each(listed or [], ".citations", read_citation))
    raw = spare(inner, ("content", "citations"), spelled, form)
    return TextBlock("".join(texts), None, citations, raw=raw)


def _texts(parts: Any) -> list[str] | None:
    """The texts of a list that holds nothing else."""
    if type(parts) is not list:
        return None
    texts = []
    for part in parts:
        if type(part) is not dict or len(part) != 1 or type(part.get("text")) is not str:
            return None
        texts.append(part["text"])
    return texts


def read_citation(wire: Any) -> Citation:
    form: Wire = {}
    spelled: Wire = {}
    known = {"title"}
    title = may_take(want(wire, dict), "title", str, spelled)
    text = None
    texts = _texts(wire.get("sourceContent"))
    if texts is not None:
        known.add("sourceContent")
        text = "".join(texts)
        if len(texts) != 1:
            form["sourceContent"] = [len(each) for each in texts]
    url, document_index, place = _read_location(wire.get("location"))
    if url is not None or document_index is not None:
        known.add("location")
    if url is None and type(wire.get("source")) is str:
        known.add("source")
        url = wire["source"]
        if not _is_source(document_index, place):
            form["url"] = "source"
    left = {"location": place} if place and "location" in known else None
    raw = spare(wire, known, spelled, form, left)
    return Citation(text, url, title, document_index=document_index, raw=raw)


def _read_location(location: Any) -> tuple[str | None, int | None, Any]:
    """The url or the document that a location names, and what else it says."""
    if type(location) is not dict or len(location) != 1:
        return None, None, location
    kind, inner = next(iter(location.items()))
    if type(inner) is not dict:
        return None, None, location
    if kind == "web" and type(inner.get("url")) is str:
        more = {key: item for key, item in inner.items() if key != "url"}
        return inner["url"], None, {kind: more} if more else None
    if kind in DOCUMENT_LOCATIONS and type(inner.get("documentIndex")) is int:
        more = {key: item for key, item in inner.items() if key != "documentIndex"}
        plain = not more and kind == DOCUMENT_LOCATIONS[0]
        return None, inner["documentIndex"], None if plain else {kind: more}
    return None, None, location


# -- writing --------------------------------------------------------------------------------------


def write(block: TextBlock, form: Wire, scribe: Scribe) -> Wire:
    """What the part holds; the caller adds what was kept of it."""
    out: Wire = {}
    if block.text or "content" not in form.get("absent", ()):
        out["content"] = _write_texts(block.text, form.get("content"))
    if block.citations:
        out["citations"] = [write_citation(each, scribe) for each in block.citations]
    return out


def _write_texts(text: str, cuts: Any) -> list[Wire]:
    """The text as a list of texts, cut where the wire had it cut."""
    if type(cuts) is not list or sum(cuts) != len(text):
        return [{"text": text}]
    parts, start = [], 0
    for size in cuts:
        parts.append({"text": text[start : start + size]})
        start += size
    return parts


def write_citation(citation: Citation, scribe: Scribe) -> Wire:
    form, place = form_of(citation.raw), mine_of(citation.raw).get("location")
    out: Wire = {}
    if citation.title is not None:
        out["title"] = citation.title
    if citation.cited_text is not None:
        out["sourceContent"] = _write_texts(citation.cited_text, form.get("sourceContent"))
    if citation.document_index is not None:
        out["location"] = _document_location(citation.document_index, place)
    if citation.url is not None:
        if form.get("url") == "source" or _is_source(citation.document_index, place):
            out["source"] = citation.url
        else:
            more = place.get("web") if type(place) is dict else None
            out["location"] = {"web": {**(more if type(more) is dict else {}), "url": citation.url}}
    scribe.unsaid(citation, _SAID)
    return out if citation.raw is None else put_back(out, citation, scribe, citation.raw)


def _is_source(document_index: int | None, place: Any) -> bool:
    """Whether a url goes beside the location, since that says something else."""
    return document_index is not None or (type(place) is dict and "web" not in place)


def _document_location(index: int, place: Any) -> Wire:
    for kind in DOCUMENT_LOCATIONS:
        if type(place) is dict and type(place.get(kind)) is dict:
            return {kind: {**place[kind], "documentIndex": index}}
    return {DOCUMENT_LOCATIONS[0]: {"documentIndex": index}}
