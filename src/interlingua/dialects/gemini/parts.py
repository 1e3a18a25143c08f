"""Texts, thoughts and media. `inlineData` is base64, `fileData` a URI; image, audio, video and
document parts look alike and differ by media type only."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from interlingua.dialects.gemini import tables
from interlingua.dialects.gemini.tables import NAME
from interlingua.dialects.google import address_of, source_of
from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Table, constant, inside, plain, word
from interlingua.dialects.kernel.preserved import (
    FORM,
    Preserved,
    raw_inside,
    raw_of,
    restore_raw,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import FORM as DATA_URL
from interlingua.dialects.kernel.words import compaction_as_text, data_url, snake_case, url_of
from interlingua.model import blocks as model
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message
from interlingua.model.reasons import because


class Turn(msgspec.Struct):
    """The state of writing: `names` maps the ids of the calls so far to their names, including
    messages written `before`; `placed` has the part of each block so far, -1 for one that was
    left out; `cites` is true if citations can be written."""

    recorder: LossRecorder
    model: bool = False
    cites: bool = False
    names: dict[str, str] = {}
    placed: list[int] = []
    before: tuple[Message, ...] = ()

    def name_of(self, id: str) -> str | None:
        """The tool that a call of this id is of."""
        known = self.names.get(id)
        if known is None:
            for message in reversed(self.before):
                for block in message.content:
                    if type(block) is ToolUseBlock and block.id == id:
                        return block.name
        return known


# -- what parts share -----------------------------------------------------------------------------

SIGNED = plain("thoughtSignature", "signature", str)
_UNTHOUGHT = Field(
    "thought", (), lambda value: {} if value is False else NOT_OURS, lambda _, __: None
)


def part_table(cls: type[Any], *fields: Field, silent: tuple[str, ...] = ()) -> Table:
    """A part that is not a thought; it may be marked as none."""
    return Table(cls, *fields, _UNTHOUGHT, silent=silent, also_named=snake_case)


def read_beside(part: Wire, key: str, kind: str) -> tuple[str | None, Wire] | None:
    """The signature of a part and its spelling, for a part without unusual members."""
    spelling: Wire = {} if key == kind else {"named": {kind: key}}
    signature, left = part.get("thoughtSignature"), len(part) - 1
    if left and signature is None and (signature := part.get("thought_signature")) is not None:
        spelling.setdefault("named", {})["thoughtSignature"] = "thought_signature"
    if left and part.get("thought") is False:
        spelling["spelled"] = {"thought": False}
        left -= 1
    return None if left != (type(signature) is str) else (signature, spelling)


# -- texts and thoughts ---------------------------------------------------------------------------

_TEXT = plain("text", "text", str, missing="")
TEXT = part_table(TextBlock, _TEXT, SIGNED, silent=("citations",))
THOUGHT = Table(ThinkingBlock, _TEXT, SIGNED, constant("thought", True), also_named=snake_case)


def quick_text(inner: Any, part: Wire, key: str, calls: Any) -> TextBlock | None:
    beside = read_beside(part, key, key) if type(inner) is str else None
    if beside is None:
        return None
    signature, spelling = beside
    return TextBlock(inner, signature, raw={NAME: {FORM: spelling}} if spelling else None)


def read_text(part: Wire, preserved: Preserved) -> Block:
    if part.get("thought") is True:
        return THOUGHT.read_value(ThinkingBlock, part, NAME, preserved)
    return TEXT.read_value(TextBlock, part, NAME, preserved)


def write_text(block: TextBlock, turn: Turn) -> Wire:
    if block.raw is None and block.cache is None and block.phase is None and not block.citations:
        if block.signature is None:
            return {"text": block.text}
        return {"text": block.text, "thoughtSignature": block.signature}
    return _write_text(block, turn)


def _write_text(block: TextBlock, turn: Turn) -> Wire:
    if block.citations and not turn.cites:
        turn.recorder.lost(block, "citations")
    return TEXT.write_value(block, turn.recorder)


def write_thinking(block: ThinkingBlock, turn: Turn) -> Wire:
    return THOUGHT.write_value(block, turn.recorder)


def drop_redacted(block: model.RedactedThinkingBlock, turn: Turn) -> None:
    turn.recorder.dropped(block, because("encrypted_foreign"))


# -- text, and parts written as they were read
# ------------------------------------------------------


def write_refusal(block: model.RefusalBlock, turn: Turn) -> Wire:
    reason = because("refusal_as_text")
    turn.recorder.lost(block, None, reason, kind="downgraded")
    turn.recorder.unwritten(block, frozenset({"text"}))
    return {"text": block.text}


def write_compaction(block: model.CompactionBlock, turn: Turn) -> Wire | None:
    text = compaction_as_text(block, turn.recorder)
    return None if text is None else write_text(text, turn)


def kind_of(media_type: str | None, uri: str = "") -> type[MediaBlock]:
    """The type of block for a media type, or without one for the URI."""
    if media_type is None and (inline := data_url(uri)) is not None:
        media_type = inline.media_type
    if media_type is None:
        if uri.startswith(tables.VIDEO_HOSTS):
            return model.VideoBlock
        media_type = tables.EXTENSIONS.get(uri.rpartition(".")[2].lower(), "")
    return tables.MEDIA.get(media_type.partition("/")[0].lower(), DocumentBlock)


def _source(key: str, read: Any) -> Field:
    """The source of the bytes."""
    return Field(
        key,
        ("source",),
        lambda value: {"source": read(require(value, str))},
        lambda block, _: block.source.data or "",
        missing={"source": read("")},
    )


_SOURCES = {
    "inlineData": _source("data", lambda data: Source("base64", data)),
    "fileData": _source("fileUri", source_of),
}
_TYPE = plain("mimeType", "media_type", str, fill=lambda _: None)
_NAME = plain("displayName", "name", str)
_BLOCKS = (*tables.MEDIA.values(), DocumentBlock)
_DETAIL = inside(
    "mediaResolution",
    word("level", "detail", tables.RESOLUTIONS, near=tables.NEAR_RESOLUTIONS),
)
_MORE: dict[type[MediaBlock], tuple[Field, ...]] = {ImageBlock: (_DETAIL,)}
TABLES: dict[str, dict[type[MediaBlock], Table]] = {
    key: {
        each: part_table(each, inside(key, source, _TYPE, _NAME), *_MORE.get(each, ()))
        for each in _BLOCKS
    }
    for key, source in _SOURCES.items()
}
"""The tables by the key of the part, for each kind of block. The kind is only known once the media
type is read, so all are read by the table of documents, except images with a resolution."""


def read_media(part: Wire, key: str, preserved: Preserved, in_result: bool = False) -> MediaBlock:
    table = DocumentBlock if in_result else _read_as(part, key)
    attrs = TABLES[key][table].read(part, preserved)
    uri = attrs["source"].data if key == "fileData" else ""
    if (inline := data_url(uri)) is not None:
        attrs["source"], preserved.spelling[DATA_URL] = inline.source, inline.head
        attrs.setdefault("media_type", inline.media_type)
    return kind_of(attrs.get("media_type"), uri)(**attrs, raw=preserved.raw(NAME))


def _read_as(part: Wire, key: str) -> type[MediaBlock]:
    """The kind of block whose table reads a part: a resolution is the detail of an image."""
    if part.get("mediaResolution") is None and part.get("media_resolution") is None:
        return DocumentBlock
    attrs = TABLES[key][DocumentBlock].read(part, Preserved())
    uri = attrs["source"].data if key == "fileData" else ""
    is_image = kind_of(attrs.get("media_type"), uri) is ImageBlock
    return ImageBlock if is_image else DocumentBlock


STYLES = {
    "inlineData": ("inlineData", "mimeType", "data"),
    "inline_data": ("inlineData", "mime_type", "data"),
    "fileData": ("fileData", "mimeType", "fileUri"),
    "file_data": ("fileData", "mime_type", "file_uri"),
}
_RAWS = {
    name: read_media({name: {typed: "", where: ""}}, key, Preserved()).raw
    for name, (key, typed, where) in STYLES.items()
}
"""The spellings of each source."""


def quick_media(inner: Any, part: Wire, name: str, calls: Any) -> MediaBlock | None:
    """Media in the plain spelling that nearly all have; None for any other."""
    if type(inner) is not dict or len(inner) != 2 or len(part) != 1:
        return None
    key, typed, where = STYLES[name]
    media_type, data = inner.get(typed), inner.get(where)
    if type(media_type) is not str or type(data) is not str:
        return None
    if key == "fileData" and data.startswith("data:"):
        return None
    source = Source("base64", data) if key == "inlineData" else source_of(data)
    return kind_of(media_type)(source, media_type, raw=_RAWS[name])


def read_media_part(part: Any) -> model.ResultBlock:
    """A part inside a tool's result."""
    found = [
        key
        for key in TABLES
        if require(part, dict).get(key) is not None or part.get(snake_case(key)) is not None
    ]
    if len(found) != 1:
        return model.UnknownBlock({NAME: part})
    return read_media(part, found[0], Preserved(), in_result=True)


def write_media(block: MediaBlock, recorder: LossRecorder) -> Wire | None:
    """The part; None if the wire cannot represent the source."""
    match block.source.kind:
        case "base64":
            return _write_data(block, recorder)
        case "url" | "file_id":
            uri = address_of(block, recorder)
            return None if uri is None else _write(block, "fileData", uri, recorder)
        case "text" | "blocks":
            reason = because("text_as_document")
            recorder.lost(block, "source", reason, kind="approximated")
            return _write(_as_bytes(block, recorder), "inlineData", "", recorder)
        case _:
            recorder.dropped(block, because("file_not_loaded"))
            return None


def _write_data(block: MediaBlock, recorder: LossRecorder) -> Wire:
    """Bytes as `inlineData`, or as `fileData` if they were read from a data URL."""
    untyped = was_absent(raw_inside(raw_of(NAME, block.raw), "fileData"), "mimeType")
    uri = url_of(NAME, block, typed=not untyped)
    if uri is None:
        return _write(block, "inlineData", "", recorder)
    media_type = None if untyped else block.media_type
    linked = block.replace(source=Source("url", uri), media_type=media_type)
    recorder.alias(linked, block)
    return _write(linked, "fileData", uri, recorder)


def _write(block: MediaBlock, key: str, uri: str, recorder: LossRecorder) -> Wire:
    part: Wire = {}
    own_raw = raw_of(NAME, block.raw)
    TABLES[key][type(block)].write(block, part, own_raw, recorder)
    inner = part.setdefault(key, {})
    if block.media_type is None and not _type_was_absent(block, raw_inside(own_raw, key), uri):
        inner["mimeType"] = _type_of(block, uri, recorder)
    if kind_of(inner.get("mimeType"), uri) is not type(block):
        reason = because("media_read_otherwise")
        recorder.lost(block, None, reason, kind="approximated")
    return part if block.raw is None else restore_raw(part, block, block.raw, recorder)


def _type_was_absent(block: MediaBlock, own_raw: Wire, uri: str) -> bool:
    """Whether the wire had no type, and needs none for its kind."""
    return was_absent(own_raw, "mimeType") and (not uri or kind_of(None, uri) is type(block))


def _type_of(block: MediaBlock, uri: str, recorder: LossRecorder) -> str:
    """A type for media that come without one: by how they begin or are called, else by kind."""
    if uri:
        found = tables.EXTENSIONS.get(uri.partition("?")[0].rpartition(".")[2].lower())
        if found is not None and kind_of(found) is type(block):
            recorder.filled(block, "media_type", found)
            return found
    else:
        data = block.source.data or ""
        for start, found in tables.FIRST_BYTES:
            if data.startswith(start) and kind_of(found) is type(block):
                recorder.filled(block, "media_type", found)
                return found
    reason = because("type_guessed")
    recorder.lost(block, "media_type", reason, kind="approximated")
    return tables.DEFAULT_TYPES[type(block)]


def _as_bytes(block: MediaBlock, recorder: LossRecorder) -> MediaBlock:
    source = block.source
    text = source.data or ""
    if source.kind == "blocks":
        inside_it = source.content or ()
        text = "\n".join([each.text for each in inside_it if type(each) is TextBlock])
        for inner in inside_it:
            if type(inner) is not TextBlock:
                recorder.dropped(inner, because("document_text_only"))
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    new = block.replace(source=Source("base64", data), media_type=block.media_type or "text/plain")
    recorder.alias(new, block)
    return new
