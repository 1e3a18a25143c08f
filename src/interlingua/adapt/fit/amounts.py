"""Limits of a model for pictures and documents: how many, how large, which types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from interlingua.adapt.fit.fitter import Fitter
from interlingua.adapt.fit.media import MEDIA, left_out, rewrite_blocks
from interlingua.adapt.fit.tools import KNOWN
from interlingua.model.blocks import DocumentBlock, ImageBlock, ToolResultBlock
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.profiles.estimate.features import image_size
from interlingua.profiles.fields import Limits
from interlingua.profiles.profile import Profile

_RESPELLED = {"image/jpg": "image/jpeg"}
"""Types that people write and hardly any model takes."""
_SIZED = ("image_bytes", "image_pixels", "document_bytes", "request_bytes")


class Piece(NamedTuple):
    """An image or a document, and the number of its turn."""

    block: Any
    turn: int

    @property
    def is_image(self) -> bool:
        return type(self.block) is ImageBlock

    @property
    def data(self) -> str:
        source = self.block.source
        return source.data or "" if source.kind == "base64" else ""


class Why(NamedTuple):
    """The field of the profile that excludes a piece, and the reason as text."""

    field: str
    words: str


def limits_media(profile: Profile) -> bool:
    """Whether the profile limits the number or size of images and documents."""
    limits = profile.limits
    return any(getattr(limits, name) is not None for name in (*_COUNTS, *_SIZED))


def taken_types(profile: Profile) -> tuple[str, ...] | None:
    """The types of images that a rule accepts. The list for choosing a model is no such rule,
    since it has only what is certain to be accepted."""
    rule = profile.rule(_TYPES)
    return profile.media.image_types if rule is not None and rule.id != KNOWN else None


_TYPES = "media.image_types"


def fit_amounts(fitter: Fitter) -> None:
    types = taken_types(fitter.profile)
    if types is None and not limits_media(fitter.profile):
        return
    pieces = list(_pieces(fitter.messages))
    if not pieces:
        return
    gone: list[Why | None] = [_unfit(each, fitter.profile.limits, types) for each in pieces]
    for name in _COUNTS:
        most = getattr(fitter.profile.limits, name)
        if most is not None:
            _keep_last(pieces, gone, name, most)
    if fitter.profile.limits.request_bytes is not None:
        _keep_within(pieces, gone, fitter.profile.limits.request_bytes)
    respelled = any(_RESPELLED.get(each.block.media_type or "") for each in pieces if each.is_image)
    if respelled or any(gone):
        order = iter(gone)
        rewrite_blocks(fitter, lambda blocks: _counted_out(fitter, blocks, order))


def _pieces(messages: Iterable[Message]) -> Iterator[Piece]:
    """All pieces, in the order of `rewrite_blocks`."""
    turn, before = 0, None
    for message in messages:
        speaker = message.role is Role.ASSISTANT
        turn += speaker is not before
        before = speaker
        inner = [b.content for b in message.content if type(b) is ToolResultBlock]
        for blocks in (message.content, *inner):
            for block in blocks:
                if _is_counted(block):
                    yield Piece(block, turn)


def _is_counted(block: Any) -> bool:
    """Whether it is an image or a document; one of plain text is text."""
    if type(block) not in MEDIA:
        return False
    if type(block) is DocumentBlock:
        return block.source.kind not in ("text", "blocks")
    return type(block) is ImageBlock


# -- one by one -----------------------------------------------------------------------------------


def _unfit(piece: Piece, limits: Limits, types: tuple[str, ...] | None) -> Why | None:
    """Why this piece is not accepted, even on its own."""
    size = len(piece.data) * 3 // 4
    if not piece.is_image:
        return _too_large(size, limits.document_bytes, "limits.document_bytes", "documents")
    kind = (piece.block.media_type or "").lower()
    if types is not None and piece.data and kind and _RESPELLED.get(kind, kind) not in types:
        return Why(_TYPES, f"no {kind}")
    if limits.image_pixels is not None and piece.data:
        sides = image_size(piece.data)
        if sides is not None and max(sides) > limits.image_pixels:
            words = f"images of at most {limits.image_pixels} pixels a side"
            return Why("limits.image_pixels", words)
    return _too_large(size, limits.image_bytes, "limits.image_bytes", "images")


def _too_large(size: int, most: int | None, field: str, kind: str) -> Why | None:
    if most is None or size <= most:
        return None
    return Why(field, f"{kind} of at most {most} bytes")


# -- all together ---------------------------------------------------------------------------------

Which = Callable[[Piece], int | None]
"""Among which others a piece is counted; None where it is not."""
_COUNTS: dict[str, tuple[str, Which]] = {
    "images": ("images", lambda piece: 0 if piece.is_image else None),
    "documents": ("documents", lambda piece: None if piece.is_image else 0),
    "media": ("images and documents", lambda piece: 0),
    "turn_images": ("images in a turn", lambda piece: piece.turn if piece.is_image else None),
    "turn_documents": ("documents in a turn", lambda piece: None if piece.is_image else piece.turn),
}


def _keep_last(pieces: Sequence[Piece], gone: list[Why | None], name: str, most: int) -> None:
    """Keeps the last pieces, which are the more likely ones to be talked about."""
    words, which = _COUNTS[name]
    counts: Counter[int] = Counter()
    for index in range(len(pieces) - 1, -1, -1):
        among = which(pieces[index])
        if among is None or gone[index] is not None:
            continue
        counts[among] += 1
        if counts[among] > most:
            gone[index] = Why(f"limits.{name}", f"{most} {words} at most")


def _keep_within(pieces: Sequence[Piece], gone: list[Why | None], most: int) -> None:
    size = 0
    for index in range(len(pieces) - 1, -1, -1):
        if gone[index] is None and pieces[index].data:
            size += len(pieces[index].data)
            if size > most:
                size -= len(pieces[index].data)
                gone[index] = Why("limits.request_bytes", f"requests of at most {most} bytes")


def _counted_out(fitter: Fitter, blocks: Sequence[Any], order: Iterator[Why | None]) -> list[Any]:
    return [_piece(fitter, each, next(order)) if _is_counted(each) else each for each in blocks]


def _piece(fitter: Fitter, block: Any, why: Why | None) -> Any:
    if why is None:
        return _respelled(fitter, block)
    what = "image" if type(block) is ImageBlock else "document"
    fitter.drop_block(block, why.field, because("media_limit", limit=why.words))
    return left_out(what, f"this model takes {why.words}")


def _respelled(fitter: Fitter, block: Any) -> Any:
    usual = _RESPELLED.get(block.media_type or "")
    if usual is None or taken_types(fitter.profile) is None:
        return block
    reason = because("media_type_alias", usual=usual)
    fitter.lost_at(block, "media_type", _TYPES, reason)
    return fitter.stands_for(block.replace(media_type=usual), block)
