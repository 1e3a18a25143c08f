"""Images, documents, video and audio, and search results, which are documents made of texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from interlingua.dialects.base import Scribe, TwoWay, Wire
from interlingua.dialects.bedrock.parts import beside
from interlingua.dialects.bedrock.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.bedrock.sources import (
    read_source,
    read_texts,
    write_source,
    write_texts,
)
from interlingua.dialects.bedrock.tables import (
    AUDIO_FORMATS,
    DOCUMENT_FORMATS,
    DOCUMENT_NAME,
    IMAGE_FORMATS,
    LONGEST_NAME,
    NAME,
    NAME_ILLEGAL,
    NEAR_TYPES,
    SPACES,
    STARTS,
    VIDEO_FORMATS,
)
from interlingua.dialects.shape import may_take, take, want
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    Source,
    VideoBlock,
)


class Kind(NamedTuple):
    """One kind of media: its key on the wire, its formats, and the fields that can be said."""

    key: str
    block: type[Any]
    formats: TwoWay[str, str]
    said: frozenset[str]


_SAID = frozenset({"source", "media_type", "cache", "raw"})
IMAGE = Kind("image", ImageBlock, IMAGE_FORMATS, _SAID)
VIDEO = Kind("video", VideoBlock, VIDEO_FORMATS, _SAID)
AUDIO = Kind("audio", AudioBlock, AUDIO_FORMATS, _SAID)
DOCUMENT = Kind("document", DocumentBlock, DOCUMENT_FORMATS, _SAID | {"name", "title", "context"})
KINDS: dict[type[Any], Kind] = {kind.block: kind for kind in (IMAGE, VIDEO, AUDIO, DOCUMENT)}


# -- reading --------------------------------------------------------------------------------------


def _read(kind: Kind, inner: Any) -> Any:
    """The block, or None where the source is of a kind that we do not know."""
    form: Wire = {}
    spelled: Wire = {}
    wire = take(want(inner, dict), "source", dict)
    source = read_source(wire, form)
    if source is None or (kind is not DOCUMENT and source.kind in ("text", "blocks")):
        return None
    known = {"source"}
    fields: Wire = {"source": source, "media_type": _read_format(kind, inner, known, spelled, form)}
    if kind is DOCUMENT:
        known |= {"name", "context"}
        fields["name"] = _read_name(inner, form, spelled)
        fields["context"] = may_take(inner, "context", str, spelled)
    left = {key: item for key, item in wire.get("s3Location", {}).items() if key != "uri"}
    raw = spare(inner, known, spelled, form, {"source": left} if left else None)
    return kind.block(**fields, raw=raw)


def _read_format(kind: Kind, inner: Wire, known: set[str], spelled: Wire, form: Wire) -> str | None:
    """The media type; a format that is not in the table stays what it is."""
    word = may_take(inner, "format", str, spelled)
    if word is None:
        known.add("format")
        if "format" not in inner:
            form["absent"] = ["format"]
        return None
    media_type = kind.formats.words.get(word)
    if media_type is not None:
        known.add("format")
        if kind.formats.write(media_type) != word:
            form["format"] = word
    return media_type


def _read_name(inner: Wire, form: Wire, spelled: Wire) -> str | None:
    name = may_take(inner, "name", str, spelled)
    if name is None:
        form.setdefault("absent", []).append("name")
    elif legal_name(name) != name:
        form["odd"] = True
    return name


def read_image(inner: Any) -> ImageBlock | None:
    image: ImageBlock | None = _read(IMAGE, inner)
    return image


def _reader(kind: Kind) -> Callable[[Any], Block | None]:
    def read(inner: Any) -> Block | None:
        block: Block | None = _read(kind, inner)
        return block

    return read


_SEARCH = frozenset({"source", "title", "content"})


def _read_search_result(inner: Any) -> DocumentBlock:
    want(inner, dict)
    source = read_texts(inner.get("content"), ".content")
    where, title = take(inner, "source", str), take(inner, "title", str)
    raw = spare(inner, _SEARCH, {}, {"as": "searchResult"})
    return DocumentBlock(source, name=where, title=title, raw=raw)


READERS: dict[str, Callable[[Any], Block | None]] = {
    "image": read_image,
    "video": _reader(VIDEO),
    "document": _reader(DOCUMENT),
    "searchResult": _read_search_result,
}
read_audio = _reader(AUDIO)
"""Apart, since a result holds no audio."""


# -- writing --------------------------------------------------------------------------------------


def write_media(block: Any, scribe: Scribe, answer: bool) -> Wire | None:
    part = _write_search_result(block, scribe) if _is_found(block) else _write(block, scribe)
    return part if part is None or block.raw is None else beside(part, block.raw)


def _is_found(block: Any) -> bool:
    """Whether a search result says all of this document."""
    if type(block) is not DocumentBlock or block.source.kind != "blocks":
        return False
    found = block.name and block.title and not (block.context or block.media_type)
    return bool(found) or form_of(block.raw).get("as") == "searchResult"


def _write(block: Any, scribe: Scribe) -> Wire | None:
    """The part for a block of media; None where it has no place."""
    kind, form = KINDS[type(block)], form_of(block.raw)
    source = write_source(block, scribe)
    if source is None:
        scribe.dropped(block, f"{NAME} takes no source of kind {block.source.kind} here")
        return None
    out: Wire = {"source": source}
    word = _write_format(block, kind, form, scribe)
    if word is not None:
        out["format"] = word
    elif kind is not DOCUMENT and not (block.media_type is None and mine_of(block.raw)):
        scribe.dropped(block, "its type has no format here")
        return None
    if kind is DOCUMENT:
        _put_document(out, block, form, scribe)
    scribe.unsaid(block, kind.said)
    if block.raw is not None:
        put_back(out, block, scribe, block.raw)
    part = {kind.key: out}
    return {"guardContent": part} if form.get("as") == "guardContent" else part


def _write_format(block: Any, kind: Kind, form: Wire, scribe: Scribe) -> str | None:
    media_type = block.media_type
    if media_type is None:
        return None if mine_of(block.raw) else _sniff(block.source, kind)
    word: str | None = form.get("format")
    if word is not None and kind.formats.read(word) == media_type:
        return word
    word = kind.formats.write(media_type)
    if word is None and (near := _near_type(media_type, kind)) is not None:
        word = kind.formats.write(near)
        if word is not None:
            scribe.lost(block, "media_type", f"said as {near}", kind="approximated")
    if word is None and kind is DOCUMENT:
        scribe.lost(block, "media_type", "has no format here")
    return word


def _sniff(source: Source, kind: Kind) -> str | None:
    """The format of media that came without a type, by how the data begins."""
    if source.kind != "base64" or source.data is None:
        return None
    start = STARTS.get(source.data[:4])
    return None if start is None else kind.formats.write(start)


def _near_type(media_type: str, kind: Kind) -> str | None:
    bare = media_type.partition(";")[0].strip()
    if kind.formats.write(bare) is not None:
        return bare
    if kind is DOCUMENT and bare.startswith("text/") and bare not in NEAR_TYPES:
        return "text/plain"
    return NEAR_TYPES.get(bare)


def _put_document(out: Wire, block: DocumentBlock, form: Wire, scribe: Scribe) -> None:
    if block.context is not None:
        out["context"] = block.context
    given = block.name
    if block.title is not None:
        if given is None:
            scribe.lost(block, "title", "said as its name", kind="moved", severity="info")
            given = block.title
        else:
            scribe.lost(block, "title")
    if given is None:
        if "name" not in form.get("absent", ()):
            out["name"] = DOCUMENT_NAME
            scribe.filled(block, "name", DOCUMENT_NAME)
        return
    out["name"] = name = given if form.get("odd") else legal_name(given)
    if block.name is not None and block.name != name:
        scribe.lost(block, "name", f"said as {name!r}", kind="approximated", severity="info")


def legal_name(name: str) -> str:
    """The name in the characters that a document's may have, with single spaces."""
    return SPACES.sub(" ", NAME_ILLEGAL.sub("-", name))[:LONGEST_NAME] or DOCUMENT_NAME


def _write_search_result(block: DocumentBlock, scribe: Scribe) -> Wire:
    content = write_texts(block, scribe)
    out: Wire = {"source": block.name or "", "title": block.title or "", "content": content}
    scribe.unsaid(block, frozenset({"source", "name", "title", "cache", "raw"}))
    if block.raw is not None:
        put_back(out, block, scribe, block.raw)
    return {"searchResult": out}
