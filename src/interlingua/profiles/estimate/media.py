"""Tokens of images and other media: by the rules that providers publish, where the size is known.

Images are cut into tiles or measured in pixels. The size is read from the first bytes of inline
images; one given by address is taken to be of a usual size. Sound, film and pages have flat rates,
which are rough.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterable, Iterator

import msgspec

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    ToolResultBlock,
    VideoBlock,
)
from interlingua.model.message import Message

USUAL_SIZE = (1024, 768)
_HEAD = 65_536
"""Characters of an inline image that are looked at: a JPEG may have its size behind a preview."""


class MediaRules(msgspec.Struct, frozen=True):
    """Either pixels for a token, or a base and so much for a tile."""

    longest: int
    """Larger images are made smaller until the longer side is this."""
    pixels_per_token: int = 0
    base: int = 0
    tile: int = 0
    tile_side: int = 0
    shorter: int = 0
    """Then they are made smaller until the shorter side is this."""
    small: int = 0
    """Images with both sides up to this are one tile."""
    low: int | None = None
    """With detail `low`."""
    most: int = 0
    document: int = 2000
    audio: int = 400
    video: int = 3000


def media_tokens(messages: Iterable[Message], rules: MediaRules) -> float:
    return sum(media_of(block, rules) for message in messages for block in message.content)


def media_of(block: Block, rules: MediaRules) -> float:
    """The same for one block."""
    return sum(
        _tokens(each, rules)
        for each in _all_blocks((block,))
        if isinstance(each, (ImageBlock, AudioBlock, VideoBlock, DocumentBlock))
    )


def _all_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, ToolResultBlock):
            yield from block.content


def _tokens(block: ImageBlock | AudioBlock | VideoBlock | DocumentBlock, rules: MediaRules) -> int:
    match block:
        case ImageBlock():
            size = None
            if block.source.kind == "base64" and block.source.data:
                size = image_size(block.source.data)
            return image_tokens(size or USUAL_SIZE, rules, block.detail)
        case AudioBlock():
            return rules.audio
        case VideoBlock():
            return rules.video
        case DocumentBlock():
            if block.source.kind == "text":
                return len(block.source.data or "") // 4
            return rules.document


def image_tokens(size: tuple[int, int], rules: MediaRules, detail: str | None = None) -> int:
    if detail == "low" and rules.low is not None:
        return rules.low
    width, height = (max(1, side) for side in size)
    shrink = min(1.0, rules.longest / max(width, height))
    if rules.shorter:
        shrink = min(shrink, rules.shorter / min(width, height))
    width, height = math.ceil(width * shrink), math.ceil(height * shrink)
    if rules.pixels_per_token:
        tokens = math.ceil(width * height / rules.pixels_per_token)
    elif max(width, height) <= rules.small:
        tokens = rules.base + rules.tile
    else:
        side = rules.tile_side
        tokens = rules.base + rules.tile * math.ceil(width / side) * math.ceil(height / side)
    return min(tokens, rules.most) if rules.most else tokens


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height of a base64 PNG, GIF, WebP or JPEG; None if they cannot be read."""
    head = data[: _HEAD - _HEAD % 4]
    try:
        raw = base64.b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return None
    try:
        if raw.startswith(b"\x89PNG\r\n\x1a\n"):
            return _pair(struct.unpack(">II", raw[16:24]))
        if raw.startswith((b"GIF87a", b"GIF89a")):
            return _pair(struct.unpack("<HH", raw[6:10]))
        if raw.startswith(b"RIFF") and raw[8:12] == b"WEBP":
            return _webp(raw)
        if raw.startswith(b"\xff\xd8"):
            return _jpeg(raw)
    except (struct.error, IndexError):
        pass
    return None


def _pair(sides: tuple[int, ...]) -> tuple[int, int]:
    return sides[0], sides[1]


def _webp(raw: bytes) -> tuple[int, int] | None:
    match raw[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", raw[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(raw[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width = int.from_bytes(raw[24:27], "little") + 1
            return width, int.from_bytes(raw[27:30], "little") + 1
        case _:
            return None


def _jpeg(raw: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(raw):
        if raw[place] != 0xFF:
            return None
        marker = raw[place + 1]
        # The markers that begin a frame carry the size; three of their numbers mean other things.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[place + 5 : place + 9])
            return width, height
        place += 2 + int(struct.unpack(">H", raw[place + 2 : place + 4])[0])
    return None
