"""Items of content and their neighbours: texts, plans, thinking, images, documents, tool calls
and citations.

The text before calls is a plan, which stands beside the content. Citations are a list beside it
too, each about a piece of one text or of the plan, which the wire repeats; `sources` has its
origin. Documents of a request stand beside its messages, those of a result inside."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from interlingua.dialects.cohere.tables import (
    CITED,
    CITED_PLAN,
    COMMENTARY,
    DEFAULT_IMAGE,
    DETAILS,
    DOCUMENT_TEXTS,
    JOINER,
    NAME,
)
from interlingua.dialects.kernel import words
from interlingua.dialects.kernel.calls import (
    UNSIGNED,
    arguments_field,
    is_named,
    read_arguments,
    read_named,
    write_arguments,
)
from interlingua.dialects.kernel.errors import require, require_key
from interlingua.dialects.kernel.fields import (
    QUIET,
    Attrs,
    Field,
    Reading,
    Table,
    constant,
    inside,
    plain,
)
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import IMAGE_STARTS, compaction_as_text, text_in
from interlingua.model import arguments
from interlingua.model.blocks import (
    Block,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.metadata import Diagnostic
from interlingua.model.reasons import because

# -- images and documents -------------------------------------------------------------------------


_DATA_URL = re.compile(r"data:([a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+);base64,")
_LONGEST_HEAD = 200
_WEB = ("https://", "http://", "data:")
PLAIN = "text/plain"


# -- images ---------------------------------------------------------------------------------------


def _read_url(value: Any) -> Reading:
    url = require(value, str)
    if head := _DATA_URL.match(url, 0, _LONGEST_HEAD):
        return {"source": Source("base64", url[head.end() :]), "media_type": head[1]}
    return {"source": Source("url", url)}


def _write_url(image: Any, recorder: LossRecorder) -> str | None:
    source, kind = image.source, image.media_type
    if source.kind == "url":
        if kind is not None:
            recorder.lost(image, "media_type", severity="info")
        url: str | None = source.data
        return url
    data = source.data or ""
    return f"data:{kind or IMAGE_STARTS.get(data[:4], DEFAULT_IMAGE)};base64,{data}"


def _write_detail(image: Any, recorder: LossRecorder) -> str | None:
    detail: str = image.detail
    if detail in DETAILS:
        return detail
    recorder.lost(image, "detail", because("detail_unsupported", detail=detail))
    return None


IMAGE = Table(
    ImageBlock,
    constant("type", "image_url"),
    inside(
        "image_url",
        Field("url", ("source", "media_type"), _read_url, _write_url),
        Field("detail", ("detail",), lambda value: {"detail": require(value, str)}, _write_detail),
    ),
)


def read_image(part: Wire) -> ImageBlock | UnknownBlock:
    inner = part.get("image_url")
    if type(inner) is not dict or inner.get("url") is None:
        return UnknownBlock({NAME: part})
    preserved = Preserved()
    return ImageBlock(**IMAGE.read(part, preserved), raw=preserved.raw(NAME))


def write_image(block: ImageBlock, recorder: LossRecorder) -> Wire | None:
    source, own_raw = block.source, raw_of(NAME, block.raw)
    odd = source.kind == "url" and not own_raw and not (source.data or "").startswith(_WEB)
    if odd or source.kind not in ("url", "base64"):
        recorder.dropped(block, because("image_source_unsupported"))
        return None
    return IMAGE.write_value(block, recorder)


# -- documents ------------------------------------------------------------------------------------


def read_document(wire: Any) -> DocumentBlock | UnknownBlock:
    """One of `documents`, or the document of a result: a text, or data with a text in it. Other
    members of the data are preserved; data without a text becomes JSON text."""
    if type(wire) is str:
        return DocumentBlock(Source("text", wire), PLAIN, raw={NAME: {"$form": {"bare": True}}})
    data = require(wire, dict).get("data")
    preserved = Preserved()
    preserved.add_others(wire, frozenset({"data"}))
    if type(data) is str:
        preserved.spelling["data"] = "text"
        return DocumentBlock(Source("text", data), PLAIN, raw=preserved.raw(NAME))
    if type(data) is not dict:
        return UnknownBlock({NAME: wire})
    key = next((key for key in DOCUMENT_TEXTS if type(data.get(key)) is str), None)
    if key is None:
        preserved.spelling["data"] = "json"
        return DocumentBlock(Source("text", encode(data).decode()), PLAIN, raw=preserved.raw(NAME))
    return _read_data(data, key, preserved)


def _read_data(data: Wire, key: str, preserved: Preserved) -> DocumentBlock:
    title = data.get("title")
    is_titled = type(title) is str
    inner = Preserved()
    inner.add_others(data, frozenset({key, "title"} if is_titled else {key}))
    preserved.absorb("data", inner)
    if key != DOCUMENT_TEXTS[0]:
        preserved.spelling["text"] = key
    source, title_text = Source("text", data[key]), title if is_titled else None
    return DocumentBlock(source, PLAIN, title=title_text, raw=preserved.raw(NAME))


def read_output(part: Wire) -> TextBlock | DocumentBlock | UnknownBlock:
    """The output of a tool, as a document: a text with an optional title is one. Anything else is
    data that results cannot represent otherwise, and is read as text."""
    document = part["document"]
    data = document.get("data") if type(document) is dict else document
    if type(data) is str:
        text = data
    elif type(data) is not dict:
        return UnknownBlock({NAME: part})
    elif is_document(data):
        return read_document(document)
    else:
        text = encode(data).decode()
    preserved = Preserved()
    preserved.spelling["document"] = (
        "bare" if document is data else "text" if text is data else "json"
    )
    if document is not data:
        preserved.add_others(document, frozenset({"data"}))
    return TextBlock(text, raw=preserved.raw(NAME))


def is_document(data: Wire) -> bool:
    """Whether a text and a title are all that the data has."""
    names = [key for key in data if key != "title"]
    return (
        len(names) == 1
        and names[0] in DOCUMENT_TEXTS
        and all(type(data[key]) is str for key in data)
    )


def write_output(block: TextBlock, recorder: LossRecorder) -> Wire | None:
    """The document that a text of a result was read from; None for any other text."""
    spelling = spelling_of(NAME, block.raw).get("document")
    if block.raw is None or spelling is None:
        return None
    if spelling == "bare":
        return {"type": "document", "document": block.text}
    document: Wire = {"data": block.text}
    if spelling == "json":
        data, mode = arguments.recover(block.text)
        if mode == "strict" and not is_document(data):
            document["data"] = data
    restore_raw(document, block, block.raw, recorder)
    return {"type": "document", "document": document}


_WRITTEN = frozenset({"source", "title", "media_type", "raw"})


def write_document(block: DocumentBlock, recorder: LossRecorder) -> Any:
    """None for a document without text."""
    text = text_in(block, JOINER)
    if text is None:
        recorder.dropped(block, because("document_text_only"))
        return None
    spelling = spelling_in(raw_of(NAME, block.raw))
    if block.source.kind != "text":
        recorder.lost(block, "source", because("joined_text"), kind="downgraded")
    if block.media_type not in (None, PLAIN):
        recorder.lost(block, "media_type", because("type_implied"))
    recorder.unwritten(block, _WRITTEN)
    if spelling.get("bare") and block.title is None:
        return text
    out: Wire = {"data": _write_data(block, text, spelling)}
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


def _write_data(block: DocumentBlock, text: str, spelling: Wire) -> Any:
    if block.title is None and spelling.get("data") == "text":
        return text
    if block.title is None and spelling.get("data") == "json":
        data, mode = arguments.recover(text)
        if mode == "strict" and not any(type(data.get(key)) is str for key in DOCUMENT_TEXTS):
            return data
    data = {spelling.get("text", DOCUMENT_TEXTS[0]): text}
    return data if block.title is None else {**data, "title": block.title}


_TEXT_KEYS = frozenset({"type", "text"})
_WRITTEN_TEXT = frozenset({"text", "citations", "raw"})
_WRITTEN_OF_PLAN = frozenset({"text", "citations", "phase"})
_ALONE = {NAME: {"$form": {"alone": True}}}
"""Marks a plan without calls. Text of other dialects never becomes one: on this wire a plan
belongs to a message with calls (`cohere` 7.3.1, read 2026-11-15)."""


def read_text(part: Wire) -> TextBlock:
    text = require_key(part, "text", str)
    if len(part) == 2:
        return TextBlock(text)
    preserved = Preserved()
    preserved.add_others(part, _TEXT_KEYS)
    return TextBlock(text, raw=preserved.raw(NAME))


def write_text(block: TextBlock, recorder: LossRecorder) -> Wire:
    if block.signature or block.cache or block.phase:
        recorder.unwritten(block, _WRITTEN_TEXT)
    out: Wire = {"type": "text", "text": block.text}
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


def write_refusal(block: RefusalBlock, recorder: LossRecorder) -> Wire:
    recorder.lost(block, None, because("sent_as_text"), kind="downgraded")
    return {"type": "text", "text": block.text}


def write_compaction(block: CompactionBlock, recorder: LossRecorder) -> Wire | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else write_text(text, recorder)


# -- plans ----------------------------------------------------------------------------------------


def read_plan(text: str, has_calls: bool) -> TextBlock:
    return TextBlock(text, phase=COMMENTARY, raw=None if has_calls else _ALONE)


def is_commentary(block: Block) -> bool:
    return type(block) is TextBlock and block.phase == COMMENTARY and block.text != ""


def was_plan(block: Block) -> bool:
    """Whether the wire itself had this as a plan without calls."""
    return "alone" in spelling_of(NAME, block.raw)


def write_plan(block: TextBlock, recorder: LossRecorder) -> str:
    recorder.unwritten(block, _WRITTEN_OF_PLAN)
    return block.text


_THINKING_KEYS = frozenset({"type", "thinking"})
_WRITTEN_THINKING = frozenset({"text", "raw"})


def read_thinking(part: Wire) -> ThinkingBlock:
    preserved = Preserved()
    preserved.add_others(part, _THINKING_KEYS)
    return ThinkingBlock(require_key(part, "thinking", str), raw=preserved.raw(NAME))


def write_thinking(block: ThinkingBlock, recorder: LossRecorder) -> Wire | None:
    if not block.text and block.signature is not None:
        recorder.dropped(block, because("encrypted_foreign"))
        return None
    recorder.unwritten(block, _WRITTEN_THINKING)
    out: Wire = {"type": "thinking", "thinking": block.text}
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


UNREAD = "tool_call"
"""The key for an unknown call in an unknown block, which is written back among the calls."""


def _read_arguments(value: Any) -> Reading:
    input, raw, _ = read_arguments(require(value, str))
    return {"input": input} | ({} if raw is None else {"raw_arguments": raw})


CALL = Table(
    ToolUseBlock,
    plain("id", "id", str, blank=True),
    constant("type", "function"),
    inside(
        "function",
        plain("name", "name", str),
        arguments_field("arguments", _read_arguments, lambda call, _: write_arguments(call)),
    ),
    *UNSIGNED,
    silent=("executor",),
)


def read_call(
    wire: Any, origin: Any, ordinal: int, found: list[Diagnostic]
) -> ToolUseBlock | UnknownBlock:
    """One of `tool_calls`; `place` makes the id of a call that has none."""
    if not is_named(require(wire, dict)):
        return UnknownBlock({NAME: {UNREAD: wire}})
    preserved = Preserved()
    new_id = synthetic_tool_id(origin, ordinal, wire["function"]["name"])
    attrs = read_named(wire, CALL, preserved, new_id, found)
    if not wire.get("id"):
        preserved.spelling["made"] = new_id  # records that the wire had none
    return ToolUseBlock(**attrs, raw=preserved.raw(NAME))


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, because("no_hosted_tools"))
        return None
    out = CALL.write_value(call, recorder)
    if spelling_of(NAME, call.raw).get("made") == call.id:
        del out["id"]
    return out


def write_unknown(block: UnknownBlock, recorder: LossRecorder) -> Any:
    """The raw value of an unknown entry among the parts or the calls."""
    part = words.write_unknown(block, recorder)
    return part[UNREAD] if part is not None and is_unread_call(block) else part


def is_unread_call(block: UnknownBlock) -> bool:
    """Whether it stood among the calls."""
    part = block.raw.get(NAME)
    return type(part) is dict and part.keys() == {UNREAD}


_FIELDS = {"text": "cited_text", "url": "url", "title": "title"}
"""The keys of a cited document that others have too."""
_UNWRITTEN = ("file_id", "document_index")


class Cited(msgspec.Struct):
    """A citation of the wire, between blocks and keys."""

    start: int | None = None
    end: int | None = None
    text: str | None = None
    """The piece that is cited."""
    index: int | None = None
    """The index of its content item; the plan has none."""
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


def target_of(wire: Any) -> int | str | None:
    """The target of a citation: an item of the content, the plan, or None."""
    kind = require(wire, dict).get("type") or CITED
    if kind == CITED_PLAN:
        return None if "content_index" in wire else CITED_PLAN
    return (wire.get("content_index") or 0) if kind == CITED else None


def read_citation(wire: Any, text: str) -> Citation:
    """A citation of this text. A passage without a position, or one that is not at its position,
    is preserved as spelled: other dialects cannot express it."""
    preserved = Preserved()
    cited = Cited(**CITATION.read(require(wire, dict), preserved))
    if cited.text != _piece(text, cited.start, cited.end):
        preserved.spelling["piece"] = cited.text
    fields = _read_sources(wire, preserved)
    return Citation(**fields, start=cited.start, end=cited.end, raw=preserved.raw(NAME))


def _piece(text: str, start: int | None, end: int | None) -> str | None:
    return None if start is None or end is None else text[start:end]


def _read_sources(wire: Wire, preserved: Preserved) -> Attrs:
    """The fields of the first source that other dialects have too; the rest is preserved in its
    place."""
    listed = wire.get("sources")
    if listed is None:
        preserved.keep_spelling("sources", None) if "sources" in wire else preserved.mark_absent(
            "sources"
        )
        return {}
    sources = require(listed, list, ".sources")
    document = sources[0].get("document") if sources and type(sources[0]) is dict else None
    if type(document) is not dict:
        preserved.rest["sources"] = sources
        return {}
    fields = {key: document[key] for key in _FIELDS if type(document.get(key)) is str}
    rest = {key: item for key, item in document.items() if key not in fields}
    preserved.rest["sources"] = [{**sources[0], "document": rest}, *sources[1:]]
    return {_FIELDS[key]: text for key, text in fields.items()}


def write_citation(
    citation: Citation, block: TextBlock, index: int | None, recorder: LossRecorder
) -> Wire:
    """A citation of a text; no `index` for one of the plan."""
    own_raw, start, end = raw_of(NAME, citation.raw), citation.start, citation.end
    piece = spelling_in(own_raw).get("piece", _piece(block.text, start, end))
    kind = CITED if index is not None else CITED_PLAN
    out: Wire = {}
    CITATION.write(Cited(start, end, piece, index or 0, kind), out, own_raw, QUIET)
    if index is None:
        out.pop("content_index", None)
    _write_sources(citation, out, own_raw)
    for name in _UNWRITTEN:
        if getattr(citation, name) is not None:
            recorder.lost(citation, name)
    if citation.raw is None:
        return out
    return restore_raw(out, citation, citation.raw, recorder)


def _write_sources(citation: Citation, out: Wire, own_raw: Wire) -> None:
    values = {key: getattr(citation, name) for key, name in _FIELDS.items()}
    fields = {key: text for key, text in values.items() if text is not None}
    sources = own_raw.get("sources")
    if type(sources) is list and sources and type(sources[0]) is dict:
        document = sources[0].get("document")
        if fields or type(document) is dict:
            first = {**sources[0], "document": {**(document or {}), **fields}}
            out["sources"] = [first, *sources[1:]]
    elif fields:
        out["sources"] = [{"type": "document", "document": fields}]
