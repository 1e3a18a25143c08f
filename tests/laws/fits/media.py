"""How many images and documents a body has, and how large they are."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.laws.fits.names import Model
from tests.laws.fits.refusal import Refusal, at

MEGABYTE = 1 << 20
CLAUDE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")


class Shown(NamedTuple):
    """One image or document: of which kind, in which turn, with what data and type."""

    kind: str
    turn: int
    data: str = ""
    type: str = ""


def messages(model: Model, wire: Any) -> Iterator[Refusal]:
    """Claude, in Messages."""
    found = [each for n, m in enumerate(wire.get("messages") or ()) for each in _claude(m, n)]
    most = 100 if model.version < (4, 6) else 600
    if len(found) > most:
        yield Refusal("ANT-MEDIA", f"{len(found)} images and documents of {most}")
    if sum(len(each.data) for each in found) > 32_000_000:
        yield Refusal("ANT-REQUEST", "more than 32 MB")
    for each in found:
        if each.kind == "image":
            yield from large(each, 5 * MEGABYTE, 8000)
            if each.data and each.type not in CLAUDE_TYPES:
                yield Refusal("ANT-TYPE", each.type)


def converse(wire: Any) -> Iterator[Refusal]:
    """Any model, in Converse."""
    for number, message in enumerate(wire.get("messages") or ()):
        found = list(_converse(message.get("content") or (), number))
        images = [each for each in found if each.kind == "image"]
        documents = [each for each in found if each.kind == "document"]
        if len(images) > 20:
            yield Refusal("BR-IMAGES", f"{len(images)} images in a message")
        if len(documents) > 5:
            yield Refusal("BR-DOCUMENTS", f"{len(documents)} documents in a message")
        for each in images:
            yield from large(each, int(3.75 * MEGABYTE), 8000)
        for each in documents:
            yield from large(each, int(4.5 * MEGABYTE), None)


def chat(wire: Any, most: int, rule: str) -> Iterator[Refusal]:
    """Hosts of Chat, which count them."""
    count = sum(
        part.get("type") == "image_url"
        for message in wire.get("messages") or ()
        for part in message.get("content") or ()
        if isinstance(part, dict)
    )
    if count > most:
        yield Refusal(rule, f"{count} images of {most}")


def large(shown: Shown, most: int, pixels: int | None) -> Iterator[Refusal]:
    if len(shown.data) * 3 // 4 > most:
        yield Refusal("MEDIA-BYTES", f"a {shown.kind} of {len(shown.data) * 3 // 4} bytes")
    sides = png_sides(shown.data)
    if pixels is not None and sides is not None and max(sides) > pixels:
        yield Refusal("MEDIA-PIXELS", f"an image of {sides[0]} x {sides[1]}")


def png_sides(data: str) -> tuple[int, int] | None:
    if not data.startswith("iVBORw0KGgo"):
        return None
    width, height = struct.unpack(">II", base64.b64decode(data[:32])[16:24])
    return width, height


def _claude(message: Any, turn: int) -> Iterator[Shown]:
    content = at(message, "content")
    waiting = list(content) if isinstance(content, list) else []
    while waiting:
        part = waiting.pop(0)
        inner = part.get("content") if part.get("type") == "tool_result" else None
        waiting += inner if isinstance(inner, list) else []
        source = part.get("source") or {}
        if part.get("type") in ("image", "document") and source.get("type") not in _TEXTS:
            data = source.get("data") if source.get("type") == "base64" else None
            yield Shown(part["type"], turn, data or "", source.get("media_type") or "")


_TEXTS = ("text", "content")


def _converse(content: Any, turn: int) -> Iterator[Shown]:
    for part in content:
        yield from _converse(at(part, "toolResult", "content") or (), turn)
        for kind in ("image", "document"):
            source = at(part, kind, "source")
            if source is not None and not {"text", "content"} & set(source):
                data = source.get("bytes")
                yield Shown(kind, turn, data if isinstance(data, str) else "")
