"""Text, text for guardrails, citations and reasoning; refusals and summaries become text. A
`citationsContent` part holds a text and its sources."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from interlingua.dialects.bedrock.tables import DOCUMENT_LOCATIONS, NAME
from interlingua.dialects.kernel.errors import at_path, read_each, require, require_key
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, lost, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    Citation,
    CompactionBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
)
from interlingua.model.reasons import because

ODD: Raw = {NAME: {"$form": {"odd": True}}}
"""Marks content that the service refuses, although a wire had it."""


def kind_of(value: Any) -> Any:
    """The part of the wire that a block came from, if it is ambiguous."""
    return spelling_of(NAME, value.raw).get("kind")


# -- text -----------------------------------------------------------------------------------------

_UNSIGNED = lost("signature", because("text_signature"))
TEXT = Table(TextBlock, plain("text", "text", str), _UNSIGNED, silent=("citations", "cache"))


def is_plain(block: TextBlock) -> bool:
    """Whether a text has no fields but its text, and at most a cache point after it."""
    bare = block.raw is None and block.signature is None and block.phase is None
    return bare and not block.citations


def read_text(value: Any) -> TextBlock:
    return TextBlock(require(value, str), raw=None if value else ODD)


def write_text(block: TextBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    kind = kind_of(block)
    if kind == "guardContent":
        if block.citations:
            recorder.lost(block, "citations", because("citations_role"))
        return {"guardContent": {"text": TEXT.write_value(block, recorder)}}
    if block.citations or kind == "citationsContent":
        cited = [write_citation(each, recorder) for each in block.citations]
        extra: Wire = {"citations": cited} if cited else {}
        return {"citationsContent": CITED.write_value(block, recorder, extra)}
    if not block.text and not answer and "odd" not in spelling_of(NAME, block.raw):
        recorder.dropped(block, because("empty"))
        return None
    return TEXT.write_value(block, recorder)


def write_refusal(block: RefusalBlock, recorder: LossRecorder, answer: bool) -> Wire:
    recorder.lost(block, None, because("sent_as_text"), kind="downgraded")
    return restore_raw({"text": block.text}, block, block.raw, recorder)


def write_compaction(block: CompactionBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else restore_raw({"text": text.text}, text, text.raw, recorder)


def read_guard(inner: Wire) -> TextBlock:
    """Text that a guardrail looks at."""
    preserved = Preserved(spelling={"kind": "guardContent"})
    return TEXT.read_value(TextBlock, inner, NAME, preserved)


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

    def read(value: Any) -> Reading:
        texts = _texts_in(value)
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
    if _texts_in(require(inner, dict).get("content", [])) is None:
        return None
    preserved = Preserved(spelling={"kind": "citationsContent"})
    listed = preserved.take(inner, "citations", list) if "citations" in inner else None
    citations = tuple(read_each(listed or [], ".citations", read_citation))
    return CITED.read_value(TextBlock, inner, NAME, preserved, citations=citations)


def read_citation(wire: Any) -> Citation:
    preserved = Preserved()
    url, index, location = _read_location(require(wire, dict).get("location"))
    if url is None and index is None:
        if "location" in wire:
            preserved.add("location", location)
    elif location:
        preserved.complete("location", location, {})
    source = wire.get("source")
    if url is None and type(source) is str:
        url = source
        if not _is_source(index, location):
            preserved.keep_respelled("source", url)
    elif "source" in wire:
        preserved.add("source", source)
    return CITATION.read_value(Citation, wire, NAME, preserved, url=url, document_index=index)


def _read_location(location: Any) -> tuple[str | None, int | None, Any]:
    """The url or the document that a location names, and its other members."""
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
    own_raw = raw_of(NAME, citation.raw)
    location = own_raw.get("location")
    out: Wire = {}
    CITATION.write(citation, out, own_raw, recorder)
    if citation.document_index is not None:
        out["location"] = _document_location(citation.document_index, location)
    if citation.url is not None:
        was_source = spelling_in(own_raw).get("as", {}).get("source") == citation.url
        if was_source or _is_source(citation.document_index, location):
            out["source"] = citation.url
        else:
            out["location"] = {"web": {"url": citation.url}}
    return restore_raw(out, citation, citation.raw, recorder)


def _is_source(document_index: int | None, location: Any) -> bool:
    """Whether to write the URL beside the location, because the location names something else."""
    return document_index is not None or (type(location) is dict and "web" not in location)


def _document_location(index: int, location: Any) -> Wire:
    kinds = [kind for kind in DOCUMENT_LOCATIONS if type(location) is dict and kind in location]
    return {kinds[0] if kinds else DOCUMENT_LOCATIONS[0]: {"documentIndex": index}}


REASONING = Table(
    ThinkingBlock,
    plain("text", "text", str),
    plain("signature", "signature", str),
    silent=("cache",),
)


def read_reasoning(inner: Any) -> Block | None:
    require(inner, dict)
    if len(inner) != 1:
        return None
    if type(inner.get("redactedContent")) is str:
        # the blob is the base64 of what the Messages API calls `data`, which is a text itself
        blob = inner["redactedContent"]
        data = _text_of(blob)
        if data is None:
            return RedactedThinkingBlock(blob, raw={NAME: {"$form": {"blob": True}}})
        return RedactedThinkingBlock(data)
    if "reasoningText" not in inner:
        return None
    return at_path(".reasoningText", _read_thinking, require_key(inner, "reasoningText", dict))


def _read_thinking(wire: Wire) -> ThinkingBlock:
    # Only models that sign nothing give unsigned thinking, and to them it may go back.
    preserved = Preserved(spelling={} if wire.get("signature") else {"odd": True})
    return REASONING.read_value(ThinkingBlock, wire, NAME, preserved)


def write_thinking(block: ThinkingBlock, recorder: LossRecorder, answer: bool) -> Wire | None:
    if not block.signature and not answer and "odd" not in spelling_of(NAME, block.raw):
        recorder.dropped(block, because("unsigned_thinking"))
        return None
    return {"reasoningContent": {"reasoningText": REASONING.write_value(block, recorder)}}


def _text_of(blob: str) -> str | None:
    try:
        text = base64.b64decode(blob, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None
    return text if text and _blob_of(text) == blob else None


def _blob_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def write_redacted(block: RedactedThinkingBlock, recorder: LossRecorder, answer: bool) -> Wire:
    as_it_is = "blob" in spelling_of(NAME, block.raw) and _text_of(block.data) is None
    if block.raw is not None:
        recorder.unwritten_raw(block, block.raw)
    return {
        "reasoningContent": {"redactedContent": block.data if as_it_is else _blob_of(block.data)}
    }
