"""Images, recordings, films and documents in the messages of other libraries, by media type."""

from __future__ import annotations

from binascii import b2a_base64

from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    VideoBlock,
)

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
