"""Images, audio and documents in the views that name a URL, inline data or a file."""

from __future__ import annotations

import base64
import re
from binascii import b2a_base64
from collections.abc import Collection

from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    SourceKind,
    VideoBlock,
)
from interlingua.views.base import Account, Fields

KINDS: dict[str, type[MediaBlock]] = {
    "image": ImageBlock,
    "audio": AudioBlock,
    "video": VideoBlock,
    "document": DocumentBlock,
}
WORDS: dict[type[MediaBlock], str] = {cls: word for word, cls in KINDS.items()}


def class_for(media_type: str | None) -> type[MediaBlock]:
    """The block for a media type; what is neither seen nor heard is a document."""
    return KINDS.get((media_type or "").partition("/")[0], DocumentBlock)


def standard(data: str) -> str:
    """Base64 in the alphabet that we keep it in."""
    return data.replace("-", "+").replace("_", "/")


def url_safe(data: str) -> str:
    """Base64 in the alphabet for URLs, as pydantic writes bytes."""
    return data.replace("+", "-").replace("/", "_")


def inline(block: MediaBlock) -> str | None:
    """The block's own bytes as base64, where it has them."""
    source: Source = block.source
    if source.kind == "text" and source.data is not None:
        return b2a_base64(source.data.encode(), newline=False).decode()
    if source.kind != "base64" or source.data is None:
        return None
    return standard(source.data)


PLACES: dict[str, SourceKind] = {"data": "base64", "url": "url", "file_id": "file_id"}
"""The wire's fields for a source; the first that is there counts, others are preserved."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/]+={0,2})")


def read_source(
    fields: Fields, media_type: str | None, places: Collection[str] = tuple(PLACES)
) -> tuple[Source | None, str | None, str | None]:
    """Source, media type, and `url` where the wire had inline data as a data URL."""
    for name in (name for name in PLACES if name in places):
        text = fields.maybe(name, str)
        if text is None:
            continue
        inline = _DATA_URL.fullmatch(text) if name == "url" and media_type is None else None
        if inline:
            return Source("base64", inline[2]), inline[1], "url"
        return Source(PLACES[name], text), media_type, None
    return None, media_type, None


def write_source(
    block: MediaBlock,
    path: str,
    account: Account,
    as_url: bool = False,
    places: Collection[str] = tuple(PLACES),
) -> JsonObject | None:
    """The field for the block's source; None, and a loss, where there is no place for it.

    `as_url` is the memory of a data URL, in which case the media type is in it."""
    source = block.source
    if as_url and source.kind == "base64" and _as_url(block):
        return {"url": _as_url(block)}
    if source.kind == "text" and source.data is not None:
        account.lost(path, "the text as inline data", kind="approximated", block=block)
        return {"data": base64.b64encode(source.data.encode()).decode()}
    names = [name for name in places if PLACES[name] == source.kind]
    if not names or source.data is None:
        account.block(path, block, f"{account.report.target} has no {source.kind} source")
        return None
    if source.kind == "url" and block.media_type is None and _DATA_URL.fullmatch(source.data):
        account.lost(path, "the data URL as inline data", "info", "approximated", block)
    account.fields(source, f"{path}.source", "kind", "data")
    return {names[0]: source.data}


def _as_url(block: MediaBlock) -> str | None:
    url = f"data:{block.media_type};base64,{block.source.data}"
    return url if _DATA_URL.fullmatch(url) else None
