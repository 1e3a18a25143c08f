"""The contract of adapters, the same for every dialect."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

import interlingua as il
from interlingua.costs.table import PriceTable
from interlingua.model.events import Event, MessageComplete, StreamError, ToolUseEnd, ToolUseStart
from interlingua.profiles.capabilities import capabilities
from interlingua.profiles.estimate.estimator import estimate_input_tokens
from interlingua.sessions.adapters import Adapter, IdMap, RequestContext
from tests.laws.acceptable import problems
from tests.sessions.wires import (
    ERRORS,
    MODELS,
    SPOKEN,
    TOOLS,
    answer,
    image,
    stream,
    without_usage,
)

DIALECTS = sorted(MODELS)
OURS = re.compile("tu_[0-9A-HJKMNP-TV-Z]{26}")
RECORD = il.RoutingRecord(
    il.RoutingMode.DEFAULT, "anthropic:claude-sonnet-4-6", "workspace default"
)
CONTEXT = RequestContext(routing=RECORD, latency_ms=820, input_tokens=12)


def adapter(dialect: str, **more: Any) -> Adapter:
    model = MODELS[dialect]
    return Adapter(model, SPOKEN.get(model), **more)


def results(message: il.Message) -> list[il.Message]:
    return [il.Message.tool_result(c.id, "done") for c in message.tool_calls if is_ours(c)]


def is_ours(call: il.ToolUseBlock) -> bool:
    return call.executor == "client"


def history(dialect: str, spoken: Adapter) -> list[il.Message]:
    """A question with a picture, an answer with two calls, and their results."""
    asked = il.Message.user([il.TextBlock("What is this?"), image()])
    called = spoken.from_wire_response(answer(dialect, 1, calls=True), CONTEXT)
    return [il.Message.system("Be brief."), asked, called, *results(called)]


@pytest.mark.requirement("S002-77")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_is_one_that_the_provider_takes(dialect: str) -> None:
    spoken = adapter(dialect)
    written = spoken.to_wire(history(dialect, spoken), TOOLS, il.Options(max_output_tokens=99))
    assert problems(dialect, "request", written.wire) == []
    assert list(written.report) == []
    said = il.dialect(dialect).read_request(written.wire, written.model, written.stream)
    assert [tool.name for tool in said.tools] == [tool.name for tool in TOOLS]
    assert said.options.max_output_tokens == 99
    name = MODELS[dialect].partition(":")[2]
    assert name in (written.model, said.model)


@pytest.mark.requirement("S002-78", "S002-65", "S002-52")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_is_a_message_with_what_the_context_knows(dialect: str) -> None:
    spoken = adapter(dialect)
    message = spoken.from_wire_response(answer(dialect, 1, calls=True), CONTEXT)
    assert message.role is il.Role.ASSISTANT
    assert message.text == "It is so."
    assert all(OURS.fullmatch(call.id) for call in message.tool_calls)
    assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    known = message.metadata
    assert (known.model, known.provider) == (MODELS[dialect], MODELS[dialect].partition(":")[0])
    assert known.protocol == dialect
    assert known.routing == RECORD
    assert known.usage is not None
    assert (known.usage.input_tokens, known.usage.output_tokens) == (8, 42)
    assert known.usage.latency_ms == 820
    assert not known.usage.estimated
    assert known.stop_reason is il.StopReason.TOOL_USE
    assert message.id is None, "only the core makes message ids"


@pytest.mark.requirement("S002-66", "S002-67")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_provider_is_told_its_own_ids_and_only_those(dialect: str) -> None:
    spoken = adapter(dialect)
    wire = answer(dialect, 1, calls=True)
    theirs = il.dialect(dialect).read_response(wire).message.tool_calls
    messages = history(dialect, spoken)
    ours = messages[2].tool_calls
    request = spoken.request(messages)
    assert [call.id for call in request.messages[2].tool_calls] == [call.id for call in theirs]
    for our, their in zip(ours, theirs, strict=True):
        assert spoken.ids.theirs(our.id, spoken.provider) == their.id
        assert spoken.ids.ours(their.id, spoken.provider) == our.id
    assert b"tu_" not in spoken.to_wire(messages).json()


@pytest.mark.requirement("S002-68", "S002-66")
@pytest.mark.parametrize("there", DIALECTS)
@pytest.mark.parametrize("here", DIALECTS)
def test_calls_and_results_agree_after_a_change_of_provider(here: str, there: str) -> None:
    ids = IdMap()
    first, second = adapter(here, ids=ids), adapter(there, ids=ids)
    messages = history(here, first)
    written = second.to_wire(messages, TOOLS)
    assert problems(there, "request", written.wire) == []
    said = il.dialect(there).read_request(written.wire, written.model, written.stream)
    called = [c.id for m in said.messages for c in m.tool_calls if is_ours(c)]
    answered = [
        block.tool_use_id
        for m in said.messages
        for block in m.content
        if isinstance(block, il.ToolResultBlock) and m.role is il.Role.TOOL
    ]
    assert called == answered
    assert len(called) == 2


def calls_of(events: list[Event]) -> list[str]:
    return [event.id for event in events if isinstance(event, ToolUseStart)]


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
def test_two_calls_with_one_id_are_two_calls_streamed_or_not(dialect: str) -> None:
    """Some servers give every call the same id."""
    wire = answer(dialect, 1, calls=True)
    spoken = il.dialect(dialect)
    read = spoken.read_response(wire)
    content = tuple(
        block.replace(id="call_0")
        if isinstance(block, il.ToolUseBlock) and block.executor == "client"
        else block
        for block in read.message.content
    )
    same = read.replace(message=read.message.replace(content=content))
    one = adapter(dialect)
    whole = one.take(same, CONTEXT)
    incoming = adapter(dialect).incoming(CONTEXT)
    events = [told for event in il.unfold(same) for told in incoming.take(event)]
    assert isinstance(events[-1], MessageComplete)
    streamed = events[-1].response.message
    for message in (whole, streamed):
        assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    assert calls_of(events) == [call.id for call in streamed.tool_calls]


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
def test_what_a_stream_said_before_it_became_unreadable_is_told(dialect: str) -> None:
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
    told = "".join(getattr(event, "text", "") for event in events)
    assert "Heard." in told, "in the same piece of bytes, before the garbage"


@pytest.mark.requirement("S002-78")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_body_is_an_empty_message_that_says_so(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    message = adapter(dialect).from_wire_response(ERRORS[dialect], CONTEXT)
    assert message.content == ()
    assert message.metadata.status is il.MessageStatus.ERROR
    assert message.metadata.stop_reason is il.StopReason.ERROR
    assert message.metadata.error_message
    assert message.metadata.usage is None, "nothing is made up for what never arrived"
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


@pytest.mark.requirement("S002-78", "S002-80")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_usage_that_is_missing_is_estimated_flagged_and_logged(
    dialect: str, caplog: pytest.LogCaptureFixture
) -> None:
    spoken = adapter(dialect)
    wire = without_usage(dialect, answer(dialect, 1))
    message = spoken.from_wire_response(wire, CONTEXT)
    usage = message.metadata.usage
    assert usage is not None
    assert usage.estimated
    assert usage.input_tokens == 12, "what was estimated before sending"
    assert usage.output_tokens is not None
    assert usage.output_tokens > 0
    assert "usage_estimated" in {found.type for found in message.metadata.diagnostics}
    told = [r for r in caplog.records if r.getMessage() == "usage_estimated"]
    assert [r.levelno for r in told] == [logging.WARNING]
    assert "It is so." not in caplog.text


@pytest.mark.requirement("S002-80")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_estimate_counts_messages_and_tools_before_anything_is_sent(dialect: str) -> None:
    spoken = adapter(dialect)
    short = [il.Message.user("Hello")]
    long = [il.Message.user("Hello there, how are you today? " * 200)]
    bare, told = spoken.estimate_input_tokens(short), spoken.estimate_input_tokens(long)
    assert type(bare) is int
    assert 0 < bare < 60
    assert 1000 < told < 3000
    assert spoken.estimate_input_tokens(short, TOOLS) > bare
    assert told == estimate_input_tokens(long, (), MODELS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_adapter_says_what_its_model_can_do_in_this_dialect(dialect: str) -> None:
    spoken = adapter(dialect)
    if dialect not in ("openai-responses", "cohere"):  # their models are ones nobody described
        assert spoken.capabilities == capabilities(MODELS[dialect], dialect)
    assert spoken.capabilities.supports_images
    assert not Adapter("openai:gpt-4").capabilities.supports_images


def test_a_model_that_nobody_described_can_do_what_its_provider_can() -> None:
    spoken = Adapter("anthropic:claude-of-next-year")
    assert spoken.capabilities.supports_tools
    message = spoken.from_wire_response(answer("anthropic", 1), CONTEXT)
    assert message.metadata.usage is not None
    assert message.metadata.usage.cost_usd is None, "an unknown price is never a zero"
    assert "no_price" in {found.type for found in message.metadata.diagnostics}


@pytest.mark.requirement("S002-73", "S002-71")
def test_cost_is_exact_and_names_the_table() -> None:
    prices = PriceTable.from_dict(
        {
            "pricing_version": "2026-05-08",
            "models": {
                "anthropic:claude-sonnet-4-6": {
                    "input_per_mtok_usd": "3",
                    "output_per_mtok_usd": "15",
                }
            },
        }
    )
    usage = (
        adapter("anthropic", prices=prices)
        .from_wire_response(answer("anthropic", 1), CONTEXT)
        .metadata.usage
    )
    assert usage is not None
    assert usage.cost_usd == Decimal("0.000654")
    assert usage.pricing_version == "2026-05-08"
