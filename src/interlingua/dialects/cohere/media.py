"""Images, and documents: those of a request stand beside its messages, those of a result inside."""

from __future__ import annotations

import re
from typing import Any

from interlingua import arguments
from interlingua.dialects.cohere.tables import (
    DEFAULT_IMAGE,
    DETAILS,
    DOCUMENT_TEXTS,
    JOINER,
    NAME,
)
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Field, Reading, Table, constant, inside
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import IMAGE_STARTS, document_text
from interlingua.model.blocks import DocumentBlock, ImageBlock, Source, UnknownBlock

_DATA_URL = re.compile(r"data:([a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+);base64,")
_LONGEST_HEAD = 200
_WEB = ("https://", "http://", "data:")
PLAIN = "text/plain"


# -- images ---------------------------------------------------------------------------------------


def _read_url(given: Any) -> Reading:
    url = want(given, str)
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
        Field("detail", ("detail",), lambda given: {"detail": want(given, str)}, _write_detail),
    ),
)


def read_image(part: Wire) -> ImageBlock | UnknownBlock:
    inner = part.get("image_url")
    if type(inner) is not dict or inner.get("url") is None:
        return UnknownBlock({NAME: part})
    kept = Kept()
    return ImageBlock(**IMAGE.read(part, kept), raw=kept.raw(NAME))


def write_image(block: ImageBlock, recorder: LossRecorder) -> Wire | None:
    source, mine = block.source, mine_of(NAME, block.raw)
    odd = source.kind == "url" and not mine and not (source.data or "").startswith(_WEB)
    if odd or source.kind not in ("url", "base64"):
        recorder.dropped(block, "an image comes with its data, or from the web")
        return None
    out: Wire = {}
    IMAGE.write(block, out, mine, recorder)
    return out if block.raw is None else put_back(out, block, block.raw, recorder)


# -- documents ------------------------------------------------------------------------------------


def read_document(wire: Any) -> DocumentBlock | UnknownBlock:
    """One of `documents`, or the document of a result: a text, or data with a text in it. What the
    data says besides goes with it; data without a text is said as JSON."""
    if type(wire) is str:
        return DocumentBlock(Source("text", wire), PLAIN, raw={NAME: {"$form": {"bare": True}}})
    data = want(wire, dict).get("data")
    kept = Kept()
    kept.add_others(wire, frozenset({"data"}))
    if type(data) is str:
        kept.form["data"] = "text"
        return DocumentBlock(Source("text", data), PLAIN, raw=kept.raw(NAME))
    if type(data) is not dict:
        return UnknownBlock({NAME: wire})
    key = next((key for key in DOCUMENT_TEXTS if type(data.get(key)) is str), None)
    if key is None:
        kept.form["data"] = "json"
        return DocumentBlock(Source("text", encode(data).decode()), PLAIN, raw=kept.raw(NAME))
    return _read_data(data, key, kept)


def _read_data(data: Wire, key: str, kept: Kept) -> DocumentBlock:
    title = data.get("title")
    is_titled = type(title) is str
    inner = Kept()
    inner.add_others(data, frozenset({key, "title"} if is_titled else {key}))
    kept.absorb("data", inner)
    if key != DOCUMENT_TEXTS[0]:
        kept.form["text"] = key
    source, said = Source("text", data[key]), title if is_titled else None
    return DocumentBlock(source, PLAIN, title=said, raw=kept.raw(NAME))


_SAID = frozenset({"source", "title", "media_type", "raw"})


def write_document(block: DocumentBlock, recorder: LossRecorder) -> Any:
    """None for a document that is no text."""
    text = document_text(block.source, JOINER)
    if text is None:
        recorder.dropped(block, "a document is a text here")
        return None
    form = form_in(mine_of(NAME, block.raw))
    if block.source.kind == "blocks":
        recorder.lost(block, "source", "said as one text", kind="downgraded")
    if block.media_type not in (None, PLAIN):
        recorder.lost(block, "media_type", "it is a text", severity="info")
    recorder.unwritten(block, _SAID)
    if form.get("bare") and block.title is None:
        return text
    out: Wire = {"data": _write_data(block, text, form)}
    return out if block.raw is None else put_back(out, block, block.raw, recorder)


def _write_data(block: DocumentBlock, text: str, form: Wire) -> Any:
    if block.title is None and form.get("data") == "text":
        return text
    if block.title is None and form.get("data") == "json":
        data, mode = arguments.recover(text)
        if mode == "strict" and not any(type(data.get(key)) is str for key in DOCUMENT_TEXTS):
            return data
    data = {form.get("text", DOCUMENT_TEXTS[0]): text}
    return data if block.title is None else {**data, "title": block.title}
