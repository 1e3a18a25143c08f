"""Flat lists of messages, as wires have them whose results are messages of their own and whose
calls stand beside the text: Ollama's and Cohere's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.kernel.calls import OpenCalls
from interlingua.dialects.kernel.errors import ShapeError, require
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata


def read_list(
    listed: list[Any], read: Callable[[Wire, int, OpenCalls], Message]
) -> tuple[Message, ...]:
    """The messages of a body; `read` is told the number of each, and the calls that are open."""
    calls = OpenCalls()
    messages: list[Message] = []
    try:
        for wire in listed:
            messages.append(read(require(wire, dict), len(messages), calls))
    except ShapeError as error:
        raise error.inside(f".messages[{len(messages)}]") from None
    return tuple(messages)


def read_calls(
    listed: list[Any],
    read: Callable[[Any, Any, int, list[Diagnostic]], Block],
    place: Any,
    first: int,
    found: list[Diagnostic],
) -> list[Block]:
    """Calls, of which the first one has this number in its message."""
    calls: list[Block] = []
    try:
        for wire in listed:
            calls.append(read(wire, place, first + len(calls), found))
    except ShapeError as error:
        raise error.inside(f".tool_calls[{len(calls)}]") from None
    return calls


def message_of(
    of_model: MessageMetadata,
    role: Role,
    content: tuple[Block, ...],
    raw: Raw | None,
    found: list[Diagnostic],
    calls: OpenCalls,
) -> Message:
    """A message whose calls are open now; `of_model` is for those of a model."""
    for block in content:
        if type(block) is ToolUseBlock:
            calls.add(block.id, block.name)
    is_ours = role is Role.ASSISTANT
    if raw is None and not found:
        return Message(role, content, metadata=of_model) if is_ours else Message(role, content)
    protocol = of_model.protocol if is_ours else None
    metadata = MessageMetadata(protocol=protocol, diagnostics=tuple(found), provider_raw=raw)
    return Message(role, content, metadata=metadata)


def write_results(
    message: Message, write: Callable[[ToolResultBlock], Wire], recorder: LossRecorder
) -> list[Wire]:
    """One wire message for each result."""
    written = []
    for block in message.content:
        if type(block) is ToolResultBlock:
            written.append(write(block))
        else:
            recorder.dropped(block, "a tool's message holds results")
    raw = message.metadata.provider_raw
    if raw is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")
    return written
