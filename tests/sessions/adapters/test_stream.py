"""A stream on its way in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import interlingua as il
from interlingua.model.events import Event, MessageComplete, StreamError, ToolUseEnd, ToolUseStart
from tests.sessions.adapters.answers import CONTEXT, DIALECTS, OURS, RECORD, adapter, calls_of
from tests.sessions.wires import MODELS, answer, stream


def without_ids(message: il.Message) -> il.Message:
    """Ids are made anew for each reading."""
    names = {call.id: f"call {number}" for number, call in enumerate(message.tool_calls)}
    content = []
    for block in message.content:
        if isinstance(block, il.ToolUseBlock):
            block = block.replace(id=names[block.id])
        elif isinstance(block, il.ToolResultBlock):
            block = block.replace(tool_use_id=names[block.tool_use_id])
        content.append(block)
    return message.replace(content=tuple(content))


@pytest.mark.requirement("S002-79", "S002-65")
@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_gives_events_under_our_ids_and_the_message_of_the_whole_answer(
    dialect: str, calls: bool
) -> None:
    wire = answer(dialect, 1, calls)
    pieces = stream(dialect, wire)

    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def later() -> list[Event]:
        events = adapter(dialect).stream_response(chunks(), CONTEXT)
        return [event async for event in events]

    at_once = list(adapter(dialect).stream_response(pieces, CONTEXT))
    for events in (at_once, asyncio.run(later())):
        last = events[-1]
        assert isinstance(last, MessageComplete)
        message = last.response.message
        assert all(OURS.fullmatch(id) for id in calls_of(events))
        assert calls_of(events) == [call.id for call in message.tool_calls]
        ends = [event.input for event in events if isinstance(event, ToolUseEnd)]
        assert ends == [call.input for call in message.tool_calls]
        assert il.fold(events).message.content == message.content
        whole = adapter(dialect).from_wire_response(wire, CONTEXT)
        assert without_ids(message).content == without_ids(whole).content
        assert message.metadata.usage == whole.metadata.usage
        assert message.metadata.stop_reason is whole.metadata.stop_reason
        assert message.metadata.routing == RECORD
        assert message.metadata.model == MODELS[dialect]


@pytest.mark.requirement("S002-79")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_where_the_bytes_are_cut_changes_nothing(dialect: str) -> None:
    data = b"".join(stream(dialect, answer(dialect, 1, calls=True, text="Grüße, 世界 🙂")))
    whole = list(adapter(dialect).stream_response([data], CONTEXT))
    for size in (1, 7):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        events = list(adapter(dialect).stream_response(pieces, CONTEXT))
        assert [type(event) for event in events] == [type(event) for event in whole]
        one, other = events[-1], whole[-1]
        assert isinstance(one, MessageComplete)
        assert isinstance(other, MessageComplete)
        assert without_ids(one.response.message) == without_ids(other.response.message)
        assert one.response.message.text == "Grüße, 世界 🙂"


@pytest.mark.requirement("S002-79")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_breaks_off_ends_with_an_error_and_what_had_arrived(dialect: str) -> None:
    pieces = stream(dialect, answer(dialect, 1, calls=True))
    events = list(adapter(dialect).stream_response(pieces[: len(pieces) // 2], CONTEXT))
    last = events[-1]
    assert isinstance(last, StreamError)
    assert last.partial is not None
    assert last.partial.metadata.status is il.MessageStatus.ERROR
    assert last.partial.metadata.stop_reason is il.StopReason.ERROR
    assert last.partial.content
    starts = [e.index for e in events if isinstance(e, ToolUseStart)]
    ends = [e.index for e in events if isinstance(e, ToolUseEnd)]
    assert starts == ends, "every call that began has ended, once"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_events_before_a_stream_became_unreadable_are_delivered(dialect: str) -> None:
    pieces = stream(dialect, answer(dialect, 1, text="Heard."))
    garbage = {"ollama": b"{nonsense}\n"}.get(dialect, b"data: {no\n\n")
    chunks = [b"".join(pieces[: -1 if dialect == "ollama" else -2]) + garbage]
    if dialect == "bedrock":
        chunks = [b"".join(pieces[:-2]), b"\x00" * 64]
    events = list(adapter(dialect).stream_response(chunks, CONTEXT))
    assert isinstance(events[-1], StreamError)
    assert sum(isinstance(event, MessageComplete | StreamError) for event in events) == 1
    partial = events[-1].partial
    assert partial is not None
    assert "Heard." in partial.text
    emitted = "".join(getattr(event, "text", "") for event in events)
    assert "Heard." in emitted, "in the same piece of bytes, before the garbage"
