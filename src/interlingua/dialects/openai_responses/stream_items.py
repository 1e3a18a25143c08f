"""The items of an output and their parts, as far as a stream has told them."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_responses.content import read_part
from interlingua.dialects.openai_responses.stream_frames import CONTENT, Piece
from interlingua.dialects.openai_responses.stream_plain import TAKES
from interlingua.dialects.streaming import call_of
from interlingua.model.blocks import Block
from interlingua.model.events import ToolUseStart

encode_text = msgspec.json.Encoder().encode


class Item:
    """An item of the output: its place, how it began, its parts, and how it ended."""

    __slots__ = ("at", "done", "id", "parts", "room", "wire")

    def __init__(self, at: Any, wire: Wire) -> None:
        self.at = at
        self.wire = wire
        self.id = wire.get("id")
        self.parts: dict[tuple[str | None, Any], Part] = {}
        self.done: Wire | None = None
        self.room: range | None = None
        """Indexes kept for further blocks, once another item has begun."""


class Part:
    """A block of an item: its place there, and what was told of it."""

    __slots__ = (
        "block",
        "event",
        "head",
        "id",
        "index",
        "item",
        "logprobs",
        "notes",
        "number",
        "piece",
        "pieces",
        "start",
        "takes",
        "wire",
    )

    def __init__(self, index: int, item: Item, piece: Piece | None, number: Any) -> None:
        self.index = index
        self.item = item
        self.piece = piece
        self.takes, self.event = TAKES.get(piece, (None, None))
        self.number = number
        self.id = item.id
        self.wire: Wire = {}
        self.pieces: list[str] = []
        self.notes: list[Any] = []
        self.logprobs: list[Any] = []
        self.start: ToolUseStart | None = None
        self.block: Block | None = None
        self.head: str | None = None
        self._prepare()

    def _prepare(self) -> None:
        """How the frames of its pieces begin, where they are plain."""
        self.head = None
        if self.piece is None or type(self.id) is not str or type(self.item.at) is not int:
            return
        place = ""
        if self.piece.key is not None:
            if type(self.number) is not int:
                return
            place = f'"{self.piece.key}":{self.number},'
        self.head = (
            f'{{"type":"{self.piece.delta}","item_id":{encode_text(self.id).decode()},'
            f'"output_index":{self.item.at},{place}"delta":'
        )

    def learn(self, wire: Wire) -> None:
        """Take the names that its frames go by."""
        key = self.piece.key if self.piece is not None else None
        id, number = wire.get("item_id"), wire.get(key) if key is not None else self.number
        if id == self.id and number == self.number:
            return
        parts = self.item.parts
        if parts.get((key, self.number)) is self:
            del parts[key, self.number]
            parts[key, number] = self
        self.id, self.number = id, number
        self._prepare()

    def text(self) -> str:
        text = "".join(self.pieces)
        self.pieces = [text]
        return text

    def place(self) -> Wire:
        """What all its frames say."""
        wire: Wire = {"item_id": self.id, "output_index": self.item.at}
        if self.piece is not None and self.piece.key is not None:
            wire[self.piece.key] = self.number
        elif self.piece is None:
            wire[CONTENT] = self.number
        return wire

    def so_far(self) -> Block:
        """The block for itself, where its item does not say which it is."""
        return call_of(self.start) if self.start is not None else read_part(self.whole(), True)

    def whole(self) -> Wire:
        """The part with all that was told of it."""
        wire = dict(self.wire)
        if self.piece is not None:
            wire[self.piece.whole] = (wire.get(self.piece.whole) or "") + self.text()
        for key, more in (("annotations", self.notes), ("logprobs", self.logprobs)):
            if more:
                before = wire.get(key)
                wire[key] = [*(before if type(before) is list else ()), *more]
        return wire
