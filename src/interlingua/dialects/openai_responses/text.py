"""Parts of messages and results: text with its citations, refusals, images and files; before that
the shared code: raw data of items beside their fields, and cache breakpoints.

Items and their blocks have two raw words of their own beside those of the kernel. `$form.item`
holds keys of an item without canonical content (its id and status), at its first block or its
message; they are restored unless the writer has written the key itself. `$item` is content of an
item that has several blocks, at the first of them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection
from functools import partial
from typing import Any, Never, assert_type

from interlingua.dialects.kernel.errors import read_each, require
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, lost, plain
from interlingua.dialects.kernel.preserved import NOTHING, Preserved, keep, restore, was_absent
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.dialects.openai import is_plain
from interlingua.dialects.openai_responses import tables
from interlingua.dialects.openai_responses.tables import ITEM_KEYS, NAME
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Cache,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.reasons import because

# -- preserved members of items and parts
# -------------------------------------------------------------

RESERVED = frozenset({"$form", "$item", "$asides"})
"""Keys of a `raw` that are no keys of the object."""


raw_of = partial(keep, NAME)
"""A `raw` of content and spelling."""


def own(raw: Raw | None) -> Wire:
    """The raw data of this dialect; inlined, since it is read very often."""
    own_raw = raw.get(NAME) if raw is not None else None
    return own_raw if type(own_raw) is dict else NOTHING


def own_spelling(raw: Raw | None) -> Wire:
    """The spelling in it."""
    own_raw = raw.get(NAME) if raw is not None else None
    spelling = own_raw.get("$form") if type(own_raw) is dict else None
    return spelling if type(spelling) is dict else NOTHING


def is_blank_value(value: Any) -> bool:
    return not value and (value is None or type(value) in _HOLLOW)


def spare(wire: Wire, known: Collection[str], spelled: Collection[str] = ()) -> tuple[Wire, Wire]:
    """Keys beside the known ones: those with content, and those without."""
    rest: Wire = {}
    nothing: Wire = {}
    for key, value in wire.items():
        if key not in known:
            is_blank = not value and (value is None or type(value) in _HOLLOW)
            (nothing if is_blank or key in spelled else rest)[key] = value
    return rest, nothing


_HOLLOW = frozenset({list, dict})


def item_raw(
    item: Wire, known: Collection[str], spelling: Wire, nothing: Collection[str] = ITEM_KEYS
) -> Raw | None:
    """The `raw` of an item that is one block or message: its unknown keys, some of which are
    spelling."""
    rest, spelled = spare(item, known, nothing)
    if spelled:
        spelling["item"] = spelled
    return raw_of(rest, spelling)


def begin(block: Any, item: Wire, rest: Wire | None = None, more: Wire | None = None) -> Any:
    """The block as the first of an item with these keys; `more` is the item's other spelling."""
    own_raw = own(block.raw)
    spelling = {**own_raw.get("$form", NOTHING), "item": item, **(more or NOTHING)}
    preserved = {key: value for key, value in own_raw.items() if key != "$form"}
    if rest:
        preserved["$item"] = rest
    return block.replace(raw=raw_of(preserved, spelling))


def restore_own(out: Wire, raw: Raw | None) -> Wire:
    """A written part with its raw data; written members win."""
    return out if raw is None else restore(out, own(raw))


def put_item_back(out: Wire, raw: Raw | None) -> Wire:
    """The same for an item."""
    return out if raw is None else add(restore(out, own(raw)), own_spelling(raw).get("item"))


def add(out: Wire, preserved: Wire | None) -> Wire:
    """The raw data, wherever a key is free."""
    if preserved:
        for key, value in preserved.items():
            out.setdefault(key, value)
    return out


def has_spelling(raw: Raw | None, key: str) -> bool:
    """Whether `raw` has the original spelling of a key, which may be an absent one."""
    own_raw = own(raw)
    return key in own_raw or was_absent(own_raw, key)


def synthetic_id(prefix: str, *parts: object) -> str:
    """An id for an item that has to have one; the same for the same parts."""
    return prefix + synthetic_tool_id(*parts)[2:]


def written(table: Table, value: Any, recorder: LossRecorder, out: Wire | None = None) -> Wire:
    """A part written by its table, with its preserved members, also while it is being read; `out`
    has the parts that are already written."""
    out, raw = {} if out is None else out, value.raw
    table.write(value, out, own(raw), recorder)
    if raw is not None and (len(raw) > 1 or NAME not in raw):
        recorder.unwritten_raw(value, raw)
    return restore_own(out, raw)


# -- cache breakpoints ----------------------------------------------------------------------------


def _read_cache(value: Any) -> Reading:
    """A value with more than a field can hold is content."""
    match value:
        case {"mode": "explicit"} if len(value) == 1:
            return {"cache": Cache()}
        case {"mode": "explicit", "ttl": str(ttl)} if len(value) == 2 and ttl in tables.CACHE_TTLS:
            return {"cache": Cache(ttl)}
    return NOT_OURS


def write_cache(value: Any, recorder: LossRecorder) -> Wire:
    ttl = value.cache.ttl
    if ttl in tables.CACHE_TTLS:
        return {"mode": "explicit", "ttl": ttl}
    if ttl is not None:
        known = " and ".join(sorted(tables.CACHE_TTLS))
        reason = because("cache_ttl_default", known=known)
        recorder.lost(value, "cache", reason, kind="approximated")
    return {"mode": "explicit"}


BREAKPOINT = "prompt_cache_breakpoint"
CACHE = Field(BREAKPOINT, ("cache",), _read_cache, write_cache)
"""Any part of a message that no model made may have one."""


# -- citations ------------------------------------------------------------------------------------


def _citation(keys: dict[str, tuple[str, type]]) -> Table:
    """All of its keys are demanded."""
    empty = {str: lambda _: "", int: lambda _: 0}
    fields = [
        plain(key, attr, kind, lenient=True, fill=empty[kind]) for key, (attr, kind) in keys.items()
    ]
    return Table(Citation, *fields, beside=("type",), blank=True)


_CITATIONS = {kind: _citation(keys) for kind, keys in tables.CITATIONS.items()}
_ANY_CITATION = Table(Citation)


def read_citation(note: Wire) -> Citation:
    """An annotation of an unknown type is preserved whole."""
    kind = note.get("type")
    table = _CITATIONS.get(kind) if type(kind) is str else None
    if table is None:
        return Citation(raw=raw_of(note, None))
    preserved = Preserved()
    citation = Citation(**table.read(note, preserved))
    if kind != _default_type(citation):
        preserved.spelling["type"] = kind
    raw = preserved.raw(NAME)
    return citation if raw is None else citation.replace(raw=raw)


def write_citation(citation: Citation, recorder: LossRecorder) -> Wire | None:
    """None where there is nothing that an annotation could point at."""
    kind = own_spelling(citation.raw).get("type") or _default_type(citation)
    if kind is None and not own(citation.raw):
        recorder.lost(citation)
        return None
    table = _CITATIONS.get(kind or "", _ANY_CITATION)
    return written(table, citation, recorder, None if kind is None else {"type": kind})


def _default_type(citation: Citation) -> str | None:
    if citation.url is not None:
        return "url_citation"
    return "file_citation" if citation.file_id is not None else None


def _read_citations(value: Any) -> Reading:
    if type(value) is not list or not all(type(note) is dict for note in value):
        return NOT_OURS
    return {"citations": tuple([read_citation(note) for note in value])}


def _write_citations(block: Any, recorder: LossRecorder) -> list[Wire]:
    notes = [write_citation(each, recorder) for each in block.citations]
    return [note for note in notes if note is not None]


# -- text and refusals ----------------------------------------------------------------------------

_TEXT = plain("text", "text", str)
_NOTES = Field("annotations", ("citations",), _read_citations, _write_citations, fill=lambda _: [])
_NO_PHASE = lost("phase", because("phase_role"))
_TEXTS = {
    (kind, by_model): Table(
        TextBlock,
        *([_TEXT, *notes] if by_model else [_TEXT, *notes, CACHE, _NO_PHASE]),
        beside=("type",),
        silent=("phase",) if by_model else (),
        blank=True,
    )
    for kind, notes in (("input_text", ()), ("output_text", (_NOTES,)))
    for by_model in (False, True)
}
"""By the type of the part, and whether a model made it. Which of two types a text had is spelling
(`$form.type`)."""
_REFUSAL = Table(RefusalBlock, plain("refusal", "text", str), beside=("type",), blank=True)
_USUAL = {False: "input_text", True: "output_text"}


def read_text(part: Wire, by_model: bool) -> TextBlock:
    """`made` text is a model's, whose usual type is `output_text`."""
    text = part.get("text")
    if type(text) is str and part["type"] == _USUAL[by_model]:
        if len(part) == 2 and not by_model:
            return TextBlock(text)
        if by_model and part.get("annotations") == []:
            if len(part) == 3:
                return TextBlock(text)
            if len(part) == 4 and part.get("logprobs") == []:
                return TextBlock(text, raw={NAME: {"$form": {"spelled": {"logprobs": []}}}})
    return _read_text(part, by_model)


def _read_text(part: Wire, by_model: bool) -> TextBlock:
    kind = part["type"]
    preserved = Preserved(spelling={} if kind == _USUAL[by_model] else {"type": kind})
    return _TEXTS[kind, by_model].read_value(TextBlock, part, NAME, preserved)


def is_string(blocks: tuple[Any, ...]) -> bool:
    """Whether the plain spelling of these is a string."""
    if not blocks:
        return True
    return len(blocks) == 1 and is_plain(blocks[0]) and bool(blocks[0].text)


def write_text(block: TextBlock, recorder: LossRecorder, by_model: bool) -> Wire:
    raw = block.raw
    if (
        block.citations
        or block.cache is not None
        or block.signature is not None
        or (block.phase is not None and not by_model)
        or (raw is not None and (len(raw) != 1 or NAME not in raw))
    ):
        return _write_text(block, recorder, by_model)
    kind = _USUAL[by_model] if raw is None else own_spelling(raw).get("type") or _USUAL[by_model]
    out = {"type": kind, "text": block.text}
    if kind == "output_text" and (raw is None or not has_spelling(raw, "annotations")):
        out["annotations"] = []
    return out if raw is None else restore_own(out, raw)


def _write_text(block: TextBlock, recorder: LossRecorder, by_model: bool) -> Wire:
    kind = own_spelling(block.raw).get("type") or _USUAL[by_model]
    return written(_TEXTS[kind, by_model], block, recorder, {"type": kind})


# -- where the data is ----------------------------------------------------------------------------


def source_of_url(url: str) -> tuple[Source, str | None]:
    """A data URL as its data and media type; any other as a URL."""
    if url.startswith("data:"):
        media_type, mark, data = url[5:].partition(";base64,")
        if mark and media_type and not ("," in media_type or ";" in media_type):
            return Source("base64", data), media_type
    return Source("url", url), None


def read_source(wire: Wire, *keys: str) -> tuple[str, Source, str | None] | None:
    """The first of these keys that names the source of the data, and its value."""
    for key in keys:
        value = wire.get(key)
        if type(value) is str:
            if key == "file_id":
                return key, Source("file_id", value, provider=tables.FILE_PROVIDER), None
            return key, *source_of_url(value)
    return None


def write_source(
    block: ImageBlock | DocumentBlock,
    recorder: LossRecorder,
    data_key: str,
    url_key: str,
    default: str = "image/png",
) -> Wire | None:
    """The source in the wire's keys; None if the block was left out."""
    source = block.source
    data = source.data or ""
    if source.kind == "base64":
        return {data_key: f"data:{block.media_type or default};base64,{data}"}
    if source.kind == "url":
        key = url_key
    elif source.kind == "file_id" and source.provider not in tables.FOREIGN_FILES:
        key = "file_id"
        if source.provider not in (None, tables.FILE_PROVIDER):
            reason = because("file_owner_implied")
            recorder.lost(block, "source.provider", reason, "approximated")
    else:
        code = _NO_SOURCE.get(source.kind)
        recorder.dropped(block, None if code is None else because(code))
        return None
    if block.media_type is not None:
        recorder.lost(block, "media_type")
    return {key: data}


_NO_SOURCE = {
    "file_id": "file_foreign",
    "file_ref": "file_not_loaded",
}


# -- images and files -----------------------------------------------------------------------------


def _write_detail(block: Any, recorder: LossRecorder) -> str | None:
    if block.detail in tables.DETAILS:
        return str(block.detail)
    recorder.lost(block, "detail")
    return None


PICTURE = ("source", "media_type")
"""Attributes of media that `read_source` and `write_source` deal with."""
_DETAIL = Field(
    "detail",
    ("detail",),
    lambda value: {"detail": value} if type(value) is str and value in tables.DETAILS else NOT_OURS,
    _write_detail,
    fill=lambda _: "auto",  # typed as required in messages
)
_IMAGE = Table(ImageBlock, _DETAIL, CACHE, beside=("type",), silent=PICTURE, blank=True)
_NAME = plain("filename", "name", str, lenient=True)
_FILE = Table(DocumentBlock, _NAME, CACHE, beside=("type",), silent=PICTURE, blank=True)


def read_image(part: Wire, table: Table, *keys: str, by_model: bool = False) -> ImageBlock | None:
    """None if none of the keys names the source of the image."""
    where = read_source(part, *keys)
    if where is None:
        return None
    key, source, media_type = where
    preserved = Preserved(spelling={"type": "input_image"} if by_model else {})
    attrs = table.read(part, preserved)
    del preserved.rest[key]
    return ImageBlock(source, media_type, **attrs, raw=preserved.raw(NAME))


def write_image(
    block: ImageBlock, table: Table, key: str, recorder: LossRecorder, keys: Wire = NOTHING
) -> Wire | None:
    where = write_source(block, recorder, key, key)
    return None if where is None else written(table, block, recorder, {**keys, **where})


def _read_file(part: Wire, by_model: bool) -> DocumentBlock | None:
    where = read_source(part, "file_data", "file_url", "file_id")
    if where is None:
        return None
    key, source, media_type = where
    preserved = Preserved(spelling={"type": "input_file"} if by_model else {})
    attrs = _FILE.read(part, preserved)
    del preserved.rest[key]
    if key == "file_url" and source.kind == "base64":
        preserved.spelling["url"] = True
    elif key == "file_data" and source.kind == "url":  # base64 alone, as some servers take it
        source = Source("base64", part[key])
        preserved.spelling["bare"] = True
    if source.kind == "base64" and key != "file_url" and "filename" not in part:
        preserved.mark_absent("filename")
    return DocumentBlock(source, media_type, **attrs, raw=preserved.raw(NAME))


def _write_file(block: DocumentBlock, recorder: LossRecorder) -> Wire | None:
    kind = block.source.kind
    if kind == "base64" and block.media_type is None and own_spelling(block.raw).get("bare"):
        where: Wire | None = {"file_data": block.source.data or ""}
    elif kind == "base64" and block.media_type is not None and own_spelling(block.raw).get("url"):
        where = {"file_url": f"data:{block.media_type};base64,{block.source.data}"}
    elif kind == "text" or kind == "blocks":
        where = _text_as_file(block, recorder)
    else:
        where = write_source(block, recorder, "file_data", "file_url", "application/pdf")
    if where is None:
        return None
    out = written(_FILE, block, recorder, {"type": "input_file", **where})
    if "file_data" in where and "filename" not in out and not has_spelling(block.raw, "filename"):
        out["filename"] = name = tables.FILE_NAMES.get(block.media_type, tables.FILE_NAME)
        recorder.filled(block, "name", name)
    return out


def _text_as_file(block: DocumentBlock, recorder: LossRecorder) -> Wire | None:
    """A document of text, as an inline file."""
    inner = block.source.content or ()
    if block.source.kind == "text":
        text = block.source.data or ""
    elif all(type(each) is TextBlock for each in inner):
        text = "\n".join([each.text for each in inner if type(each) is TextBlock])
    else:
        recorder.dropped(block, because("document_text_only"))
        return None
    reason = because("text_file")
    recorder.lost(block, "source", reason, kind="approximated")
    if block.media_type not in (None, "text/plain"):
        recorder.lost(block, "media_type")
    data = b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return {"file_data": f"data:text/plain;base64,{data}"}


# -- parts of any kind ----------------------------------------------------------------------------


def read_parts(parts: list[Any], by_model: bool, path: str) -> list[Block]:
    """`by_model` parts are a model's."""
    return read_each(parts, path, lambda part: read_part(part, by_model))


def read_part(part: Any, by_model: bool = False) -> Block:
    kind = require(part, dict).get("type")
    if kind == "input_text" or kind == "output_text":
        return read_text(part, by_model)
    if kind == "input_image":
        image = read_image(part, _IMAGE, "image_url", "file_id", by_model=by_model)
        return image or UnknownBlock({NAME: part})
    if kind == "input_file":
        return _read_file(part, by_model) or UnknownBlock({NAME: part})
    if kind == "refusal":
        return _REFUSAL.read_value(RefusalBlock, part, NAME)
    return UnknownBlock({NAME: {**part, "$form": {"part": True}}} if by_model else {NAME: part})


def write_part(block: Block, recorder: LossRecorder, by_model: bool = False) -> Wire | None:
    """None if a message or result cannot hold the block, which is reported."""
    match block:
        case TextBlock():
            return write_text(block, recorder, by_model)
        case ImageBlock() if not by_model or own_spelling(block.raw).get("type"):
            return write_image(block, _IMAGE, "image_url", recorder, {"type": "input_image"})
        case DocumentBlock() if not by_model or own_spelling(block.raw).get("type"):
            return _write_file(block, recorder)
        case RefusalBlock() if by_model:
            return written(_REFUSAL, block, recorder, {"type": "refusal"})
        case CompactionBlock():
            text = compaction_as_text(block, recorder)
            return None if text is None else write_text(text, recorder, by_model)
        case UnknownBlock() if NAME in block.raw:
            return {key: each for key, each in own(block.raw).items() if key != "$form"}
        case UnknownBlock():
            recorder.dropped(block, because("unknown_block"))
        case ImageBlock() | AudioBlock() | VideoBlock() | DocumentBlock() | RefusalBlock():
            recorder.dropped(block)
        case ThinkingBlock() | RedactedThinkingBlock() | ToolUseBlock() | ToolResultBlock():
            recorder.dropped(block)
        case _:
            assert_type(block, Never)  # type: ignore[unreachable]  # types of later versions
            recorder.dropped(block)
    return None
