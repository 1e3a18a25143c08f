"""An answer while a stream tells it. It is put together as the wire would have it whole, and read
as such, so that both ways give the same value."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec

from interlingua.dialects.base import Wire
from interlingua.dialects.bedrock import parts
from interlingua.dialects.bedrock.response import read_response
from interlingua.dialects.bedrock.stream_frames import INPUT, TEXT, THINKING, Piece
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.shape import ShapeError
from interlingua.dialects.streaming import failed, finish_call, start_of_block
from interlingua.model.blocks import (
    Block,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.events import (
    BlockEnd,
    Event,
    FrameMark,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
)
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic

_Unset = msgspec.UnsetType
UNSET = msgspec.UNSET


class _Input(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str = msgspec.field(name="input")


class _Thought(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str


class _Delta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: str | _Unset = UNSET
    thought: _Thought | _Unset = msgspec.field(name="reasoningContent", default=UNSET)
    input: _Input | _Unset = msgspec.field(name="toolUse", default=UNSET)


class PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """The frame that there are most of, with nothing unusual in it; `p` hides its length."""

    index: int = msgspec.field(name="contentBlockIndex")
    delta: _Delta
    p: str | _Unset = UNSET

    def text_for(self, piece: Piece | None) -> str | None:
        """The piece, if it is one of this kind and nothing else."""
        text, thought, given = self.delta.text, self.delta.thought, self.delta.input
        if piece is TEXT and thought is UNSET and given is UNSET and text is not UNSET:
            return text
        if piece is THINKING and text is UNSET and given is UNSET and thought is not UNSET:
            return thought.text
        if piece is INPUT and text is UNSET and thought is UNSET and given is not UNSET:
            return given.text
        return None


_EVENTS: dict[Piece | None, Any] = {
    TEXT: TextDelta,
    THINKING: ThinkingDelta,
    INPUT: ToolUseInputDelta,
}
_PIECES: dict[type, Piece] = {TextBlock: TEXT, ThinkingBlock: THINKING, ToolUseBlock: INPUT}


def read_part(wire: Wire) -> Block:
    """One part of an answer."""
    return parts.read_part(wire, parts.READERS)


class Part:
    """A block that is being told: how it began, and what came since."""

    def __init__(self, index: int, at: int, block: Block, wire: Wire | None = None) -> None:
        self.index = index
        self.at = at
        self.block = block
        self.wire = wire or {}
        self.piece = _PIECES.get(type(block))
        self.event: Any = _EVENTS.get(self.piece)
        self.pieces: list[str] = []
        self.citations: list[Wire] = []
        self.items: list[Any] = []
        self.blobs: list[str] = []
        self.signature: str | None = None

    def finish(self) -> tuple[Block, Diagnostic | None]:
        """The block as reading a whole answer gives it."""
        if type(self.block) is ToolUseBlock:
            return finish_call(self.block, self.pieces)
        if type(self.block) is UnknownBlock:
            return self.block, None
        if self.piece is TEXT and not self.citations:
            return TextBlock("".join(self.pieces)), None
        wire = self._whole()
        try:
            return read_part(wire), None
        except ShapeError:  # such as an image that could not be made
            return UnknownBlock({NAME: wire}), None

    def _whole(self) -> Wire:
        text = "".join(self.pieces)
        if self.piece is TEXT:
            cited: Wire = {"citations": self.citations}
            if self.pieces:
                cited["content"] = [{"text": text}]
            return {"citationsContent": cited}
        if self.piece is THINKING:
            thought: Wire = {"text": text}
            if self.signature is not None:
                thought["signature"] = self.signature
            return {"reasoningContent": {"reasoningText": thought}}
        if type(self.block) is RedactedThinkingBlock:
            return {"reasoningContent": {"redactedContent": joined(self.blobs)}}
        ((key, inner),) = self.wire.items()
        if key == "toolResult":
            return {key: {**inner, "content": self.items}}
        whole = dict(inner)
        for item in self.items:
            whole.update(item)
        if self.blobs:
            whole["source"] = {**whole.get("source", {}), "bytes": joined(self.blobs)}
        return {key: whole}

    def start(self, mark: FrameMark) -> Event:
        return start_of_block(self.index, self.block, mark)

    def end(self, block: Block, mark: FrameMark) -> Event:
        if type(block) is not ToolUseBlock:
            return BlockEnd(self.index, block, frame=mark)
        more = (block.raw_arguments, block.signature, block.raw)
        return ToolUseEnd(self.index, block.input, *more, frame=mark)


def joined(blobs: list[str]) -> str:
    """Pieces of one blob, each in base64."""
    if len(blobs) == 1:
        return blobs[0]
    try:
        return base64.b64encode(b"".join(map(base64.b64decode, blobs))).decode()
    except (binascii.Error, ValueError):
        return "".join(blobs)


class Answer:
    """The message of a stream, so far."""

    def __init__(self, message: Wire | None = None) -> None:
        self.wire: Wire = {}
        self.message = message or {}
        self.count = 0
        self.open: dict[int, Part] = {}
        self._blocks: dict[int, Block] = {}
        self._found: list[Diagnostic] = []

    def add(self, at: int, block: Block, wire: Wire | None = None) -> Part:
        """A block that begins."""
        part = self.open[at] = Part(self.count, at, block, wire)
        self.count += 1
        return part

    def finish(self, part: Part) -> Block:
        block, found = part.finish()
        self._blocks[part.index] = block
        if found is not None:
            self._found.append(found)
        return block

    def say(self, wire: Wire) -> None:
        """What a whole answer has beside its message. Padding is of the frame alone."""
        for key, value in wire.items():
            if key != "p" and (value is not None or key not in self.wire):
                self.wire[key] = value

    def response(self) -> Response:
        """What reading the whole answer gives."""
        output = {"message": {"role": "assistant", **self.message, "content": []}}
        response = read_response({"output": output, **self.wire})
        message, told = response.message, response.message.metadata
        content = tuple([block for _, block in sorted(self._blocks.items())])
        if self._found:
            told = told.replace(diagnostics=(*told.diagnostics, *self._found))
        return response.replace(message=message.replace(content=content, metadata=told))

    def partial(self, error: ProviderError) -> Message:
        """What there is of it when the stream fails."""
        for part in self.open.values():
            self._blocks[part.index], _ = part.finish()
        return failed(self.response().message, error)
