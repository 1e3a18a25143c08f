"""Images, and documents: those of a request stand beside its messages, those of a result inside."""

from __future__ import annotations

import re
from typing import Any

from interlingua.dialects.cohere.tables import (
    DEFAULT_IMAGE,
    DETAILS,
    DOCUMENT_TEXTS,
    JOINER,
    NAME,
)
from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import Field, Reading, Table, constant, inside
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import IMAGE_STARTS, text_in
from interlingua.model import arguments
from interlingua.model.blocks import DocumentBlock, ImageBlock, Source, TextBlock, UnknownBlock

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
    recorder.lost(image, "detail", f"no detail is called {detail!r}")
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
        recorder.dropped(block, "an image comes with its data, or from the web")
        return None
    out: Wire = {}
    IMAGE.write(block, out, own_raw, recorder)
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


# -- documents ------------------------------------------------------------------------------------


def read_document(wire: Any) -> DocumentBlock | UnknownBlock:
    """One of `documents`, or the document of a result: a text, or data with a text in it. What the
    data says besides goes with it; data without a text is said as JSON."""
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
    """What a tool returned, as a document: a text with a title at most is one. Anything else is
    data that results have no other form for, and is read as text."""
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
    """None for a document that is no text."""
    text = text_in(block, JOINER)
    if text is None:
        recorder.dropped(block, "a document is a text here")
        return None
    spelling = spelling_in(raw_of(NAME, block.raw))
    if block.source.kind != "text":
        recorder.lost(block, "source", "said as one text", kind="downgraded")
    if block.media_type not in (None, PLAIN):
        recorder.lost(block, "media_type", "it is a text", severity="info")
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
