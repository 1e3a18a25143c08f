"""Blocks while they are written into a stream."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.base import Quiet, Wire
from interlingua.dialects.openai_responses.citations import write_citation
from interlingua.dialects.openai_responses.content import write_part
from interlingua.dialects.openai_responses.failures import read_failure, write_failure
from interlingua.dialects.openai_responses.response import write_response
from interlingua.dialects.openai_responses.spelling import put_back
from interlingua.dialects.openai_responses.stream_frames import ERROR, PART_TYPES, Piece, piece_of
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.dialects.openai_responses.writing import ItemWriter
from interlingua.dialects.streaming import FAILED
from interlingua.losses import Report
from interlingua.model.blocks import Block, Citation, ThinkingBlock
from interlingua.model.events import MessageStart
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

QUIET = Quiet(NAME, None, Report(NAME))
"""Keeps no account: the losses of a stream are counted once, when all of it is known."""
_BEGUN = MessageMetadata(stop_reason=StopReason.PAUSE, status=MessageStatus.PARTIAL)


def opening(event: MessageStart) -> Wire:
    """A response that has just begun."""
    told = _BEGUN.replace(response_model=event.model, response_id=event.response_id)
    return write_response(Response(Message(Role.ASSISTANT, metadata=told)), QUIET)


def error_of(error: ProviderError, body: Wire | None = None) -> Wire:
    """The frame of an error that stands in place of a response. What its code does not tell is
    said by the error object of a body."""
    if body is None:
        body = write_failure(Response(FAILED, error=error), error, QUIET)
    if error.raw is not None and NAME in error.raw:
        return {"type": ERROR, **body}
    wire: Wire = {"type": ERROR, "code": error.code, "message": error.message, "param": None}
    again = read_failure(wire).error
    if again is None or again.kind is not error.kind:
        wire |= body
    return wire


def part_of(block: Block, piece: Piece | None) -> Wire | None:
    """The block as a part of an item."""
    if type(block) is ThinkingBlock:
        word = PART_TYPES[piece or piece_of(block)]  # type: ignore[index]  # thinking has one
        return put_back({"type": word, "text": block.text}, block.raw)
    return write_part(block, QUIET, made=True)


def cited(value: Any) -> Wire | None:
    """A citation; one that was stored with its event is plain JSON."""
    return write_citation(msgspec.convert(value, Citation), QUIET)


def write_item(writer: ItemWriter, blocks: tuple[Block, ...]) -> list[Wire]:
    """The items of these blocks, which nothing before them belongs to."""
    before, index = len(writer.items), 0
    writer.parts = None
    while index < len(blocks):
        index += writer.block(blocks, index)
    writer.parts = None
    return writer.items[before:]
