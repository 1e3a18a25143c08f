"""Pictures, sound and documents as files name them: by an address, or whole in a data URL."""

from __future__ import annotations

from base64 import b64encode

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    VideoBlock,
)

_KINDS: dict[str, type[MediaBlock]] = {
    "image": ImageBlock,
    "audio": AudioBlock,
    "video": VideoBlock,
}
ANY = "application/octet-stream"


def media_block(source: Source, media: str | None, name: str | None = None) -> MediaBlock:
    """The block for this type of media; what is neither seen nor heard is a document."""
    kind = _KINDS.get((media or "").partition("/")[0], DocumentBlock)
    return kind(source, media, name)


def source_of(url: str) -> Source:
    """Where a URL leads: the bytes in it, or the address."""
    head, comma, data = url.partition(",")
    inline = comma and head.startswith("data:") and head.endswith(";base64")
    return Source("base64", data) if inline else Source("url", url)


def url_of(block: MediaBlock) -> str | None:
    """The URL that leads to it; None for what has none."""
    source = block.source
    if source.data is None:
        return None
    if source.kind == "base64":
        return f"data:{block.media_type or ANY};base64,{source.data}"
    if source.kind == "text":
        return f"data:text/plain;base64,{b64encode(source.data.encode()).decode()}"
    return source.data if source.kind == "url" else None


def is_media(block: Block) -> bool:
    return isinstance(block, ImageBlock | AudioBlock | VideoBlock | DocumentBlock)
