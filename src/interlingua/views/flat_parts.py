"""The four kinds of content part in the flat view: text, image, audio, file."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    UnknownBlock,
)
from interlingua.views.account import Account
from interlingua.views.base import form_of, own_raw, present, with_rest
from interlingua.views.flat_extra import NAME
from interlingua.views.media import read_source, write_source
from interlingua.views.reading import Fields

Media = ImageBlock | AudioBlock | DocumentBlock
Part = TextBlock | Media | UnknownBlock
PARTS: dict[str, type[Media] | None] = {
    "text": None,
    "image": ImageBlock,
    "audio": AudioBlock,
    "file": DocumentBlock,
}
_PART_OF: dict[type[Block], str] = {cls: word for word, cls in PARTS.items() if cls is not None}

_TREES: dict[str, str] = {"image": "image", "audio": "audio", "file": "application"}
FORMATS: dict[str, str] = {
    "jpg": "image/jpeg",
    "mp3": "audio/mpeg",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
}
"""Short formats whose media type is not just the tree of the part and the word."""


def plain_text(blocks: Sequence[Part]) -> str | None:
    """The text of content that a string would say as well."""
    match blocks:
        case [TextBlock(text=text) as block] if text and not own_raw(NAME, block.raw):
            return text
    return None


def read_part(fields: Fields) -> Part:
    whole = dict(fields.left)
    cls = fields.word("type", PARTS)
    if cls is None:
        return TextBlock(fields.need("text", str), raw=fields.raw())
    name, format = fields.maybe("name", str), fields.maybe("format", str)
    media_type = _media_type(whole["type"], format)
    source, media_type, url = read_source(fields, media_type)
    if source is None:
        return UnknownBlock({NAME: whole})  # nothing to show, and it goes home as it is
    short = format if format != media_type else None
    return cls(source, media_type, name, raw=fields.raw(format=short, source=url))


def _media_type(part: str, format: str | None) -> str | None:
    if format is None or "/" in format:
        return format
    return FORMATS.get(format, f"{_TREES[part]}/{format}")


def text_part(block: TextBlock | ThinkingBlock | RefusalBlock) -> JsonObject:
    return with_rest(NAME, block.raw, {"type": "text", "text": block.text})


def write_part(block: Block, path: str, account: Account, *held: str) -> JsonObject | None:
    match block:
        case TextBlock():
            account.fields(block, path, "text", *held)
            return text_part(block)
        case ImageBlock() | AudioBlock() | DocumentBlock():
            return _write_media(block, path, account)
        case UnknownBlock() if part := own_raw(NAME, block.raw):
            account.fields(block, path)
            return part
        case _:
            account.block(path, block)
            return None


def _write_media(block: Media, path: str, account: Account) -> JsonObject | None:
    form = form_of(NAME, block.raw)
    where = write_source(block, path, account, as_url=form.get("source") == "url")
    if where is None:
        return None
    account.fields(block, path, "source", "media_type", "name")
    part = _PART_OF[type(block)]
    format = form.get("format")
    if not isinstance(format, str) or _media_type(part, format) != block.media_type:
        format = block.media_type
    if form.get("source") == "url" and "url" in where:
        format = None
    out = present(type=part, format=format, name=block.name, **where)
    return with_rest(NAME, block.raw, out)
