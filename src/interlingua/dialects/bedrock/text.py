"""Text, and what is said as text: refusals, summaries, text for guardrails. A `citationsContent`
part holds a text and what it rests on.

What all blocks are finished with is here as well, since every room has texts."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.bedrock.tables import DOCUMENT_LOCATIONS, NAME
from interlingua.dialects.kernel.errors import each, want
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, form_in, form_of, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.model.base import Raw
from interlingua.model.blocks import Citation, CompactionBlock, RefusalBlock, TextBlock

ODD: Raw = {NAME: {"$form": {"odd": True}}}
"""Marks what the service refuses, and a wire had all the same."""


def kind_of(value: Any) -> Any:
    """By which part of the wire a block was said, where two could say it."""
    return form_of(NAME, value.raw).get("kind")


# -- text -----------------------------------------------------------------------------------------

_UNSIGNED = lost("signature", "signs no text here")
TEXT = Table(TextBlock, plain("text", "text", str), _UNSIGNED, silent=("citations", "cache"))


def is_plain(block: TextBlock) -> bool:
    """Whether a text has nothing to say but itself, and perhaps a cache point behind it."""
    bare = block.raw is None and block.signature is None and block.phase is None
    return bare and not block.citations


def read_text(given: Any) -> TextBlock:
    return TextBlock(want(given, str), raw=None if given else ODD)


def write_text(block: TextBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    kind = kind_of(block)
    if kind == "guardContent":
        if block.citations:
            recorder.lost(block, "citations", "text for a guardrail cites nothing")
        return {"guardContent": {"text": TEXT.write_value(block, recorder)}}
    if block.citations or kind == "citationsContent":
        cited = [write_citation(each, recorder) for each in block.citations]
        said: Wire = {"citations": cited} if cited else {}
        return {"citationsContent": CITED.write_value(block, recorder, said)}
    if not block.text and not answer and "odd" not in form_of(NAME, block.raw):
        recorder.dropped(block, "empty", "info")
        return None
    return TEXT.write_value(block, recorder)


def write_refusal(block: RefusalBlock, recorder: LossRecorder, answer: bool) -> Wire:
    recorder.lost(block, None, "said as text", kind="downgraded")
    return put_back({"text": block.text}, block, block.raw, recorder)


def write_compaction(block: CompactionBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else put_back({"text": text.text}, text, text.raw, recorder)


def read_guard(inner: Wire) -> TextBlock:
    """Text that a guardrail looks at."""
    kept = Kept(form={"kind": "guardContent"})
    return TEXT.read_value(TextBlock, inner, NAME, kept)


# -- text that cites ------------------------------------------------------------------------------


def _texts_in(parts: Any) -> list[str] | None:
    """The texts of a list that holds nothing else."""
    if type(parts) is not list:
        return None
    texts = []
    for part in parts:
        if type(part) is not dict or len(part) != 1 or type(part.get("text")) is not str:
            return None
        texts.append(part["text"])
    return texts


def _texts(key: str, attr: str, missing: Any = None) -> Field:
    """A text as a list of texts: one, or more where the wire had it cut."""

    def read(given: Any) -> Reading:
        texts = _texts_in(given)
        return NOT_OURS if texts is None else {attr: "".join(texts)}

    absent = None if missing is None else {attr: missing}
    return Field(
        key, (attr,), read, lambda value, _: [{"text": getattr(value, attr)}], None, absent
    )


CITED = Table(
    TextBlock,
    _texts("content", "text", missing=""),
    _UNSIGNED,
    beside=("citations",),
    silent=("citations", "cache"),
)
CITATION = Table(
    Citation,
    plain("title", "title", str),
    _texts("sourceContent", "cited_text"),
    beside=("location", "source"),
    silent=("url", "document_index"),
)


def read_cited(inner: Any) -> TextBlock | None:
    """The text with its citations; None where the part holds more than texts."""
    if _texts_in(want(inner, dict).get("content", [])) is None:
        return None
    kept = Kept(form={"kind": "citationsContent"})
    listed = kept.take(inner, "citations", list) if "citations" in inner else None
    citations = tuple(each(listed or [], ".citations", read_citation))
    return CITED.read_value(TextBlock, inner, NAME, kept, citations=citations)


def read_citation(wire: Any) -> Citation:
    kept = Kept()
    url, index, place = _read_location(want(wire, dict).get("location"))
    if url is None and index is None:
        if "location" in wire:
            kept.add("location", place)
    elif place:
        kept.complete("location", place, {})
    source = wire.get("source")
    if url is None and type(source) is str:
        url = source
        if not _is_source(index, place):
            kept.respell("source", url)
    elif "source" in wire:
        kept.add("source", source)
    return CITATION.read_value(Citation, wire, NAME, kept, url=url, document_index=index)


def _read_location(location: Any) -> tuple[str | None, int | None, Any]:
    """The url or the document that a location names, and what else it says."""
    if type(location) is not dict or len(location) != 1:
        return None, None, location
    kind, inner = next(iter(location.items()))
    if type(inner) is not dict:
        return None, None, location
    url, index = inner.get("url"), inner.get("documentIndex")
    if kind == "web" and type(url) is str:
        more = {key: item for key, item in inner.items() if key != "url"}
        return url, None, {kind: more} if more else None
    if kind in DOCUMENT_LOCATIONS and type(index) is int:
        more = {key: item for key, item in inner.items() if key != "documentIndex"}
        is_plain = not more and kind == DOCUMENT_LOCATIONS[0]
        return None, index, None if is_plain else {kind: more}
    return None, None, location


def write_citation(citation: Citation, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, citation.raw)
    place = mine.get("location")
    out: Wire = {}
    CITATION.write(citation, out, mine, recorder)
    if citation.document_index is not None:
        out["location"] = _document_location(citation.document_index, place)
    if citation.url is not None:
        was_source = form_in(mine).get("as", {}).get("source") == citation.url
        if was_source or _is_source(citation.document_index, place):
            out["source"] = citation.url
        else:
            out["location"] = {"web": {"url": citation.url}}
    return put_back(out, citation, citation.raw, recorder)


def _is_source(document_index: int | None, place: Any) -> bool:
    """Whether a url goes beside the location, since that says something else."""
    return document_index is not None or (type(place) is dict and "web" not in place)


def _document_location(index: int, place: Any) -> Wire:
    kinds = [kind for kind in DOCUMENT_LOCATIONS if type(place) is dict and kind in place]
    return {kinds[0] if kinds else DOCUMENT_LOCATIONS[0]: {"documentIndex": index}}
