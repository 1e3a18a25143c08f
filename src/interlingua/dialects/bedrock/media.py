"""Images, documents, video and audio, and search results, which are documents made of texts. They
come as bytes in the body, as a place in S3, or as text."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import TEXT, kind_of, read_guard
from interlingua.dialects.kernel.claude import CITED
from interlingua.dialects.kernel.errors import ShapeError, at_path, read_each, require, require_key
from interlingua.dialects.kernel.fields import NOT_OURS, QUIET, Field, Reading, Table, plain
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw, was_absent
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, DocumentBlock, Source, TextBlock
from interlingua.model.reasons import Reason, because, source_unsupported

# -- sources --------------------------------------------------------------------------------------


def _read_source(source: Any) -> Reading:
    if len(require(source, dict)) != 1:
        return NOT_OURS
    key, value = next(iter(source.items()))
    if key == "bytes":
        return {"source": Source("base64", _read_bytes(value))}
    if key == "s3Location":
        require(value, dict, ".s3Location")
        return {"source": Source("url", at_path(".s3Location", require_key, value, "uri", str))}
    return NOT_OURS


def _read_document_source(value: Any) -> Reading:
    """Documents may be texts."""
    if type(value) is dict and len(value) == 1:
        if "text" in value:
            return {"source": Source("text", require_key(value, "text", str))}
        if "content" in value:
            return {"source": _read_texts(value["content"])}
    return _read_source(value)


def _read_bytes(value: Any) -> str:
    """Base64; or numbers, where a program wrote its own idea of bytes as JSON."""
    if type(value) is str:
        return value
    listed = value
    if type(value) is dict:
        is_buffer = value.keys() == {"type", "data"} and value["type"] == "Buffer"
        by_index = [value.get(str(index)) for index in range(len(value))]  # {"0": 137, "1": 80}
        listed = value["data"] if is_buffer else by_index
    if type(listed) is list and all(type(n) is int and 0 <= n < 256 for n in listed):
        return base64.b64encode(bytes(listed)).decode()
    raise ShapeError(".bytes", "a string", value)


def _read_texts(parts: Any) -> Source:
    return Source("blocks", content=tuple(read_each(parts, ".content", _read_text)))


def _read_text(part: Any) -> TextBlock:
    return TEXT.read_value(TextBlock, require(part, dict), NAME)


def _write_source(block: Any, recorder: LossRecorder) -> Wire | None:
    """None where it has no place."""
    source: Source = block.source
    if source.kind == "base64" and source.data is not None:
        return {"bytes": source.data}
    if source.kind == "url" and source.data is not None and source.data.startswith("s3://"):
        return {"s3Location": {"uri": source.data}}
    return None


def _write_document_source(block: Any, recorder: LossRecorder) -> Wire | None:
    source: Source = block.source
    if source.kind == "text" and source.data is not None:
        return {"text": source.data}
    if source.kind == "blocks":
        return {"content": _write_texts(block, recorder)}
    return _write_source(block, recorder)


def _write_texts(block: Any, recorder: LossRecorder) -> list[Wire]:
    """The texts that a document is made of; all else in them is left out."""
    parts: list[Wire] = []
    is_plain = True
    for inner in block.source.content or ():
        if type(inner) is not TextBlock:
            recorder.dropped(inner, because("document_of_texts"))
            continue
        parts.append(restore_raw({"text": inner.text}, inner, inner.raw, recorder))
        is_plain = is_plain and not (inner.citations or inner.cache or inner.signature)
    if not is_plain:
        reason = because("document_of_texts")
        recorder.lost(block, "source", reason, kind="approximated")
    return parts


# -- formats and names ----------------------------------------------------------------------------


def _format(formats: TwoWay[str, str], is_document: bool = False) -> Field:
    """The media type. A format without an entry in the table is preserved; media without a type
    are recognised by their first bytes."""

    def read(value: Any) -> Reading:
        media_type = formats.words.get(require(value, str))
        return NOT_OURS if media_type is None else {"media_type": media_type}

    def write(block: Any, recorder: LossRecorder) -> str | None:
        word = formats.write(block.media_type)
        if word is None and (near := _near_type(block.media_type, formats, is_document)):
            word = formats.write(near)
            if word is not None:
                recorder.lost(
                    block, "media_type", because("sent_as", value=near), kind="approximated"
                )
        if word is None and is_document:
            recorder.lost(block, "media_type", because("media_type_unsupported"))
        return word

    def sniffed(block: Any) -> str | None:
        if block.media_type is not None or block.source.kind != "base64":
            return None
        return formats.write(tables.MEDIA_STARTS.get((block.source.data or "")[:4], ""))

    return Field("format", ("media_type",), read, write, fill=sniffed, few=True)


def _near_type(media_type: str, formats: TwoWay[str, str], is_document: bool) -> str | None:
    bare = media_type.partition(";")[0].strip()
    if formats.write(bare) is not None:
        return bare
    if is_document and bare.startswith("text/") and bare not in tables.NEAR_TYPES:
        return "text/plain"
    return tables.NEAR_TYPES.get(bare)


def _write_name(block: Any, recorder: LossRecorder) -> str:
    proposed = block.name
    if block.title is not None:
        if proposed is None:
            recorder.lost(block, "title", because("title_as_name"), kind="moved")
            proposed = block.title
        else:
            recorder.lost(block, "title")
    name = legal_name(proposed)
    if block.name is not None and block.name != name:
        recorder.lost(block, "name", because("renamed", name=name), kind="approximated")
    return name


def legal_name(name: str) -> str:
    """The name in the characters that a document's may have, with single spaces."""
    legal = tables.SPACES.sub(" ", tables.NAME_ILLEGAL.sub("-", name))
    return legal[: tables.LONGEST_NAME] or tables.DOCUMENT_NAME


# -- media ----------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """One kind of media: its key on the wire, and the value there."""

    key: str
    block: type[Any]
    table: Table


def _media(key: str, block: type[Any], formats: TwoWay[str, str]) -> Kind:
    source = Field("source", ("source",), _read_source, _write_source)
    return Kind(key, block, Table(block, source, _format(formats), silent=("cache",)))


IMAGE = _media("image", model.ImageBlock, tables.IMAGE_FORMATS)
VIDEO = _media("video", model.VideoBlock, tables.VIDEO_FORMATS)
AUDIO = _media("audio", model.AudioBlock, tables.AUDIO_FORMATS)
DOCUMENT = Kind(
    "document",
    DocumentBlock,
    Table(
        DocumentBlock,
        Field("source", ("source",), _read_document_source, _write_document_source),
        _format(tables.DOCUMENT_FORMATS, is_document=True),
        Field(
            "name",
            ("name", "title"),
            lambda value: {"name": require(value, str)},
            _write_name,
            fill=lambda _: None,
        ),
        plain("context", "context", str),
        CITED,
        silent=("cache",),
    ),
)
KINDS: dict[type[Any], Kind] = {kind.block: kind for kind in (IMAGE, VIDEO, AUDIO, DOCUMENT)}
SEARCH_RESULT = Table(
    DocumentBlock,
    plain("source", "name", str, fill=lambda _: ""),
    plain("title", "title", str, fill=lambda _: ""),
    Field("content", ("source",), lambda value: {"source": _read_texts(value)}, _write_texts),
    CITED,
    silent=("cache",),
)


def _reader(kind: Kind) -> Callable[[Any], Block | None]:
    def read(inner: Any) -> Block | None:
        """The block; None if the kind of its source is unknown."""
        require_key(require(inner, dict), "source", dict)
        preserved = Preserved()
        attrs = kind.table.read(inner, preserved)
        if "source" not in attrs:
            return None
        block: Block = kind.block(**attrs, raw=preserved.raw(NAME))
        return block

    return read


read_image = _reader(IMAGE)
read_audio = _reader(AUDIO)
"""Apart, since a result holds no audio."""


def _read_search_result(inner: Any) -> DocumentBlock:
    if type(require(inner, dict).get("content")) is not list:
        raise ShapeError(".content", "a list", inner.get("content"))
    require_key(inner, "source", str), require_key(inner, "title", str)
    preserved = Preserved(spelling={"kind": "searchResult"})
    return SEARCH_RESULT.read_value(DocumentBlock, inner, NAME, preserved)


def read_guarded(inner: Any) -> Block | None:
    """The content of a guardrail block: a text or an image."""
    if len(require(inner, dict)) != 1:
        return None
    if type(inner.get("text")) is dict:
        return read_guard(inner["text"])
    image = read_image(inner["image"]) if "image" in inner else None
    if image is None:
        return None
    own_raw = raw_of(NAME, image.raw)
    spelling = {**own_raw.get("$form", {}), "kind": "guardContent"}
    return image.replace(raw={NAME: {**own_raw, "$form": spelling}})


READERS: dict[str, Callable[[Any], Block | None]] = {
    "image": read_image,
    "video": _reader(VIDEO),
    "document": _reader(DOCUMENT),
    "searchResult": _read_search_result,
}


def write_media(block: Any, recorder: LossRecorder, answer: bool) -> Wire | None:
    if _is_found(block):
        return _write_search_result(block, recorder)
    kind, own_raw = KINDS[type(block)], raw_of(NAME, block.raw)
    out: Wire = {}
    kind.table.write(block, out, own_raw, QUIET)
    reason = _misfit(block, out, own_raw)
    if reason is not None:
        recorder.dropped(block, reason)
        return None
    kind.table.write(block, out, own_raw, recorder)
    if kind is DOCUMENT and "name" not in out and not was_absent(own_raw, "name"):
        out["name"] = tables.DOCUMENT_NAME
        recorder.filled(block, "name", tables.DOCUMENT_NAME)
    part = {kind.key: restore_raw(out, block, block.raw, recorder)}
    return {"guardContent": part} if kind_of(block) == "guardContent" else part


def _misfit(block: Any, out: Wire, own_raw: Wire) -> Reason | None:
    """Why a block of media cannot be sent, if so."""
    if "source" not in out:
        return source_unsupported(block.source.kind)
    unknown = block.media_type is None and own_raw
    if "format" not in out and type(block) is not DocumentBlock and not unknown:
        return because("media_type_unsupported")
    return None


def _is_found(block: Any) -> bool:
    """Whether a search result can express the whole document."""
    if type(block) is not DocumentBlock or block.source.kind != "blocks":
        return False
    found = block.name and block.title and not (block.context or block.media_type)
    return bool(found) or kind_of(block) == "searchResult"


def _write_search_result(block: DocumentBlock, recorder: LossRecorder) -> Wire:
    return {"searchResult": SEARCH_RESULT.write_value(block, recorder)}
