"""What readers of streams share: calls told by events, and messages that do not end well."""

from __future__ import annotations

from interlingua import arguments
from interlingua.dialects.kernel.calls import recovery
from interlingua.dialects.kernel.words import NO_REASON
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.events import BlockStart, Event, FrameMark, ToolUseEnd, ToolUseStart
from interlingua.model.exchange import ProviderError
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason

BROKEN_OFF = "the stream ended before the message did"


def call_of(start: ToolUseStart, end: ToolUseEnd | None = None) -> ToolUseBlock:
    """The call that these events tell."""
    block = ToolUseBlock(
        start.id,
        start.name,
        {},
        executor=start.executor,
        call_type=start.call_type,
        raw=start.raw,
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
    """A call with the arguments that came in pieces, and what had to be done to read them."""
    text = "".join(pieces)
    if not text:
        return block, None
    given, mode = arguments.recover(text)
    if mode == "strict":
        return block.replace(input=given), None
    return block.replace(input=given, raw_arguments=text), recovery(mode, block.id)


def start_of_block(index: int, block: Block, mark: FrameMark | None = None) -> Event:
    """The event that opens a block; a call has one of its own."""
    if type(block) is not ToolUseBlock:
        return BlockStart(index, block, frame=mark)
    return ToolUseStart(index, block.id, block.name, block.executor, raw=block.raw, frame=mark)


def failed(message: Message, error: ProviderError) -> Message:
    """What there is of a message when its stream fails."""
    metadata = message.metadata.replace(
        status=MessageStatus.ERROR, stop_reason=StopReason.ERROR, error_message=error.message
    )
    return message.replace(metadata=metadata)


def without_reason(metadata: MessageMetadata) -> MessageMetadata:
    """What is known of a message that ended without a word why: it may be cut off."""
    found = Diagnostic(NO_REASON, "the stream ended without a word why")
    return metadata.replace(
        stop_reason=StopReason.OTHER, diagnostics=(*metadata.diagnostics, found)
    )
