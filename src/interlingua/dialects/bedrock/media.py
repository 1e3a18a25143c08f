"""Images, documents, video and audio, and search results, which are documents made of texts. They
come as bytes in the body, as a place in S3, or as text."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import TEXT, kind_of, read_guard
from interlingua.dialects.kernel.errors import ShapeError, below, each, take, want
from interlingua.dialects.kernel.fields import NOT_OURS, QUIET, Field, Reading, Table, plain
from interlingua.dialects.kernel.kept import Kept, did_without, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, DocumentBlock, Source, TextBlock

# -- sources --------------------------------------------------------------------------------------


def _read_source(given: Any) -> Reading:
    if len(want(given, dict)) != 1:
        return NOT_OURS
    key, value = next(iter(given.items()))
    if key == "bytes":
        return {"source": Source("base64", _read_bytes(value))}
    if key == "s3Location":
        want(value, dict, ".s3Location")
        return {"source": Source("url", below(".s3Location", take, value, "uri", str))}
    return NOT_OURS


def _read_document_source(given: Any) -> Reading:
    """Documents may be texts."""
    if type(given) is dict and len(given) == 1:
        if "text" in given:
            return {"source": Source("text", take(given, "text", str))}
        if "content" in given:
            return {"source": _read_texts(given["content"])}
    return _read_source(given)


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
    return Source("blocks", content=tuple(each(parts, ".content", _read_text)))


def _read_text(part: Any) -> TextBlock:
    return TEXT.read_value(TextBlock, want(part, dict), NAME)


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
            is_plain = False
            continue
        parts.append(put_back({"text": inner.text}, inner, inner.raw, recorder))
        is_plain = is_plain and not (inner.citations or inner.cache or inner.signature)
    if not is_plain:
        reason = "a document is made of plain texts here"
        recorder.lost(block, "source", reason, kind="approximated")
    return parts


# -- formats and names ----------------------------------------------------------------------------


def _format(formats: TwoWay[str, str], is_document: bool = False) -> Field:
    """The media type. A format that is not in the table stays what it is; media that came without
    a type are told by how their data begins."""

    def read(given: Any) -> Reading:
        media_type = formats.words.get(want(given, str))
        return NOT_OURS if media_type is None else {"media_type": media_type}

    def write(block: Any, recorder: LossRecorder) -> str | None:
        word = formats.write(block.media_type)
        if word is None and (near := _near_type(block.media_type, formats, is_document)):
            word = formats.write(near)
            if word is not None:
                recorder.lost(block, "media_type", f"said as {near}", kind="approximated")
        if word is None and is_document:
            recorder.lost(block, "media_type", "has no format here")
        return word

    def sniffed(block: Any) -> str | None:
        if block.media_type is not None or block.source.kind != "base64":
            return None
        return formats.write(tables.STARTS.get((block.source.data or "")[:4], ""))

    return Field("format", ("media_type",), read, write, fill=sniffed, few=True)


def _near_type(media_type: str, formats: TwoWay[str, str], is_document: bool) -> str | None:
    bare = media_type.partition(";")[0].strip()
    if formats.write(bare) is not None:
        return bare
    if is_document and bare.startswith("text/") and bare not in tables.NEAR_TYPES:
        return "text/plain"
    return tables.NEAR_TYPES.get(bare)


def _write_name(block: Any, recorder: LossRecorder) -> str:
    given = block.name
    if block.title is not None:
        if given is None:
            recorder.lost(block, "title", "said as its name", kind="moved", severity="info")
            given = block.title
        else:
            recorder.lost(block, "title")
    name = legal_name(given)
    if block.name is not None and block.name != name:
        recorder.lost(block, "name", f"said as {name!r}", kind="approximated", severity="info")
    return name


def legal_name(name: str) -> str:
    """The name in the characters that a document's may have, with single spaces."""
    legal = tables.SPACES.sub(" ", tables.NAME_ILLEGAL.sub("-", name))
    return legal[: tables.LONGEST_NAME] or tables.DOCUMENT_NAME


# -- media ----------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """One kind of media: its key on the wire, and what stands under that."""

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
            lambda given: {"name": want(given, str)},
            _write_name,
            fill=lambda _: None,
        ),
        plain("context", "context", str),
        silent=("cache",),
    ),
)
KINDS: dict[type[Any], Kind] = {kind.block: kind for kind in (IMAGE, VIDEO, AUDIO, DOCUMENT)}
SEARCH_RESULT = Table(
    DocumentBlock,
    plain("source", "name", str, fill=lambda _: ""),
    plain("title", "title", str, fill=lambda _: ""),
    Field("content", ("source",), lambda given: {"source": _read_texts(given)}, _write_texts),
    silent=("cache",),
)


def _reader(kind: Kind) -> Callable[[Any], Block | None]:
    def read(inner: Any) -> Block | None:
        """The block, or None where the source is of a kind that we do not know."""
        take(want(inner, dict), "source", dict)
        kept = Kept()
        attrs = kind.table.read(inner, kept)
        if "source" not in attrs:
            return None
        block: Block = kind.block(**attrs, raw=kept.raw(NAME))
        return block

    return read


read_image = _reader(IMAGE)
read_audio = _reader(AUDIO)
"""Apart, since a result holds no audio."""


def _read_search_result(inner: Any) -> DocumentBlock:
    if type(want(inner, dict).get("content")) is not list:
        raise ShapeError(".content", "a list", inner.get("content"))
    take(inner, "source", str), take(inner, "title", str)
    kept = Kept(form={"kind": "searchResult"})
    return SEARCH_RESULT.read_value(DocumentBlock, inner, NAME, kept)


def read_guarded(inner: Any) -> Block | None:
    """What a guardrail looks at: a text or an image."""
    if len(want(inner, dict)) != 1:
        return None
    if type(inner.get("text")) is dict:
        return read_guard(inner["text"])
    image = read_image(inner["image"]) if "image" in inner else None
    if image is None:
        return None
    mine = mine_of(NAME, image.raw)
    form = {**mine.get("$form", {}), "kind": "guardContent"}
    return image.replace(raw={NAME: {**mine, "$form": form}})


READERS: dict[str, Callable[[Any], Block | None]] = {
    "image": read_image,
    "video": _reader(VIDEO),
    "document": _reader(DOCUMENT),
    "searchResult": _read_search_result,
}


def write_media(block: Any, recorder: LossRecorder, answer: bool) -> Wire | None:
    if _is_found(block):
        return _write_search_result(block, recorder)
    kind, mine = KINDS[type(block)], mine_of(NAME, block.raw)
    out: Wire = {}
    kind.table.write(block, out, mine, QUIET)
    reason = _misfit(block, out, mine)
    if reason is not None:
        recorder.dropped(block, reason)
        return None
    kind.table.write(block, out, mine, recorder)
    if kind is DOCUMENT and "name" not in out and not did_without(mine, "name"):
        out["name"] = tables.DOCUMENT_NAME
        recorder.filled(block, "name", tables.DOCUMENT_NAME)
    part = {kind.key: put_back(out, block, block.raw, recorder)}
    return {"guardContent": part} if kind_of(block) == "guardContent" else part


def _misfit(block: Any, out: Wire, mine: Wire) -> str | None:
    """Why a block of media has no place, if so."""
    if "source" not in out:
        return f"{NAME} takes no source of kind {block.source.kind} here"
    unknown = block.media_type is None and mine
    if "format" not in out and type(block) is not DocumentBlock and not unknown:
        return "its type has no format here"
    return None


def _is_found(block: Any) -> bool:
    """Whether a search result says all of this document."""
    if type(block) is not DocumentBlock or block.source.kind != "blocks":
        return False
    found = block.name and block.title and not (block.context or block.media_type)
    return bool(found) or kind_of(block) == "searchResult"


def _write_search_result(block: DocumentBlock, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    SEARCH_RESULT.write(block, out, mine_of(NAME, block.raw), recorder)
    return {"searchResult": put_back(out, block, block.raw, recorder)}
