"""Shared by readers of streams: calls from events, pieces with the same spelling, and messages that
end badly."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from interlingua.dialects.kernel.calls import recovery
from interlingua.dialects.kernel.wire import Wire, decode_quickly, parse
from interlingua.dialects.kernel.words import NO_REASON
from interlingua.model import arguments
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.codec import STORED_DEPTH, require_shallow
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    FrameMark,
    StreamError,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason
from interlingua.streams.frames import Frame

BROKEN_OFF = "stream ended before the message was complete"
DONE = "[DONE]"


def json_of(frame: Frame, what: str, key: str = "", kinds: Collection[str] = ()) -> Any:
    """The JSON of a frame; None for `[DONE]`, and for the blank frames with which some gateways
    keep a connection open. An object that lacks its kind under `key` has it from the frame's name,
    if that is one of `kinds`: some gateways send it there only."""
    name, data = frame
    if data == DONE or not data or data.isspace():
        return None
    wire = parse(data, what)
    if len(data) > 2 * STORED_DEPTH:  # a shorter one cannot be deep
        require_shallow(wire, what)
    if name in kinds and type(wire) is dict and wire.get(key) is None:
        return {**wire, key: name}
    return wire


def call_of(start: ToolUseStart, end: ToolUseEnd | None = None) -> ToolUseBlock:
    """The call of these events."""
    block = ToolUseBlock(
        start.id,
        start.name,
        {},
        executor=start.executor,
        call_type=start.call_type,
        raw=start.raw,
        caller=start.caller,
    )
    if end is None:
        return block
    return block.replace(
        input=end.input,
        raw_arguments=end.raw_arguments,
        signature=end.signature,
        raw=start.raw if end.raw is None else end.raw,
    )


def finish_call(block: ToolUseBlock, pieces: list[str]) -> tuple[ToolUseBlock, Diagnostic | None]:
    """A call with the arguments joined from its pieces, and the repairs needed to read them."""
    text = "".join(pieces)
    if not text:
        return block, None
    input, mode = arguments.recover(text)
    if mode == "strict":
        return block.replace(input=input), None
    return block.replace(input=input, raw_arguments=text), recovery(mode, block.id)


def start_of_block(
    index: int, block: Block, mark: FrameMark | None = None, choice: int = 0
) -> Event:
    """The event that opens a block; a call has one of its own."""
    if type(block) is not ToolUseBlock:
        return BlockStart(index, block, choice=choice, frame=mark)
    attrs = (block.id, block.name, block.executor, block.call_type, block.raw, block.caller)
    return ToolUseStart(index, *attrs, choice=choice, frame=mark)


def end_of_block(index: int, block: Block, choice: int = 0) -> Event:
    """The event that closes it."""
    if type(block) is not ToolUseBlock:
        return BlockEnd(index, block, choice=choice)
    attrs = (block.input, block.raw_arguments, block.signature, block.raw)
    return ToolUseEnd(index, *attrs, choice=choice)


def merge(known: Wire, update: Wire, apart: Collection[str] = ()) -> None:
    """Later values win, but a null does not erase an earlier value."""
    for key, value in update.items():
        if key not in apart and (value is not None or key not in known):
            known[key] = value


def with_found(message: Message, *found: Diagnostic) -> Message:
    """The message, with diagnostics of its irregularities."""
    if not found:
        return message
    metadata = message.metadata
    return message.replace(metadata=metadata.replace(diagnostics=(*metadata.diagnostics, *found)))


class Blocks:
    """The blocks of an answer by their indexes, as they end, and their oddities."""

    def __init__(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._found: list[Diagnostic] = []

    def put(self, index: int, block: Block, found: Diagnostic | None = None) -> Block:
        self._blocks[index] = block
        if found is not None:
            self._found.append(found)
        return block

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple([block for _, block in sorted(self._blocks.items())])

    def filled(self, response: Response) -> Response:
        """The rest of an answer, with these blocks."""
        message = with_found(response.message.replace(content=self.blocks), *self._found)
        return response.replace(message=message)


class Unfinished(Protocol):
    """An answer under assembly."""

    def partial(self, error: ProviderError) -> Message:
        """The partial message when the stream fails."""


A = TypeVar("A", bound=Unfinished)


class MessageReader(Generic[A]):
    """A stream in which messages may follow each other: the current one, and the end of a stream
    that fails or breaks off."""

    def __init__(self) -> None:
        self._answer: A | None = None
        self._complete = False
        self._failed = False

    def close(self) -> list[Event]:
        """The stream has ended; a message that has not is broken off."""
        if self._failed or self._is_over():
            return []
        return [self._break_off(ProviderError(ErrorKind.NETWORK, BROKEN_OFF))]

    def _is_over(self) -> bool:
        """Whether nothing may come but another message."""
        return self._complete and self._answer is None

    def _break_off(self, error: ProviderError) -> StreamError:
        partial = None if self._answer is None else self._answer.partial(error)
        self._failed = True
        return StreamError(error, partial)


def failed(message: Message, error: ProviderError) -> Message:
    """The partial message when its stream fails."""
    metadata = message.metadata.replace(
        status=MessageStatus.ERROR, stop_reason=StopReason.ERROR, error_message=error.message
    )
    return message.replace(metadata=metadata)


def without_reason(metadata: MessageMetadata) -> MessageMetadata:
    """Metadata of a message that ended without a reason: it may be cut off."""
    found = Diagnostic(NO_REASON, "the stream ended without a reason")
    return metadata.replace(
        stop_reason=StopReason.OTHER, diagnostics=(*metadata.diagnostics, found)
    )


# -- pieces that are spelled alike ----------------------------------------------------------------

Spot = tuple[Wire, str]
"""The place of a text in the JSON of a frame: the object, and the key."""
UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
_MARK = "\ufffc a piece \ufffc"
_STRING = r'\s*:\s*("(?:[^"\\]|\\.)*+")'
decode_text = msgspec.json.Decoder(str).decode


class Pattern:
    """The spelling of a block's pieces: everything that is the same in each of their frames, to the
    letter. A matching frame is the same JSON with another text, so nothing else in it has to be
    read."""

    __slots__ = ("_after", "_before", "_between", "_ends", "_has_pad", "_starts")

    def __init__(self, literals: Sequence[str], has_pad: bool) -> None:
        self._before, *self._between, self._after = literals
        self._starts, self._ends = len(self._before), -len(self._after)
        self._has_pad = has_pad

    @property
    def around(self) -> tuple[str, str] | None:
        """The text before and behind the piece, if it occurs once."""
        return None if self._between else (self._before, self._after)

    def find(self, data: str) -> str | None:
        """The piece in a frame; None where it does not fit."""
        if not (data.startswith(self._before) and data.endswith(self._after)):
            return None
        try:
            if self._between:
                return self._find_all(data)
            return decode_text(data[self._starts : self._ends])
        except UNREADABLE:
            return None

    def _find_all(self, data: str) -> str | None:
        at, found = self._starts, []
        for literal in self._between:
            end = data.find(literal, at)
            if end < 0:
                return None
            found.append(data[at:end])
            at = end + len(literal)
        found.append(data[at : self._ends])
        if self._has_pad:
            decode_text(found.pop())
        return decode_text(found[0]) if found.count(found[0]) == len(found) else None


def pattern_of(
    data: str, wire: Wire, spots: Sequence[Spot], pad: str | None = None
) -> Pattern | None:
    """The pattern of a frame with this JSON whose piece is at these places, with a `pad` without
    meaning after it. A pattern is right if the frame with another text at these places is the
    same JSON with that text there."""
    spots = [*spots, (wire, pad)] if pad is not None else spots
    found = [re.search(f'"{re.escape(key)}"{_STRING}', data) for _, key in spots]
    spans = [match.span(1) for match in found if match is not None]
    ordered = sorted(set(spans))
    if len(ordered) < len(spots) or (pad is not None and spans[-1] != ordered[-1]):
        return None
    starts, ends = [0, *(end for _, end in ordered)], [*(start for start, _ in ordered), len(data)]
    literals = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    return Pattern(literals, pad is not None) if _is_same(literals, wire, spots) else None


def _is_same(literals: Sequence[str], wire: Wire, spots: Sequence[Spot]) -> bool:
    texts = [holder[key] for holder, key in spots]
    for holder, key in spots:
        holder[key] = _MARK
    try:
        return bool(decode_quickly(f'"{_MARK}"'.join(literals)) == wire)
    except UNREADABLE:
        return False
    finally:
        for (holder, key), text in zip(spots, texts, strict=True):
            holder[key] = text


class ReadInPieces(Protocol):
    """A block under assembly."""

    index: int
    pieces: list[str]
    event: Any
    """Makes the event of a piece."""
