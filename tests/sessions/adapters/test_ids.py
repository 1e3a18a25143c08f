"""A session's tool ids, and what each provider calls the same call."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.model.events import MessageComplete
from interlingua.sessions.adapters import IdMap
from tests.laws.acceptable import problems
from tests.sessions.adapters.answers import CONTEXT, DIALECTS, adapter, calls_of, history, is_ours
from tests.sessions.wires import TOOLS, answer


@pytest.mark.requirement("S002-66", "S002-67")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_provider_is_told_its_own_ids_and_only_those(dialect: str) -> None:
    dialect_name = adapter(dialect)
    wire = answer(dialect, 1, calls=True)
    theirs = il.dialect(dialect).read_response(wire).message.tool_calls
    messages = history(dialect, dialect_name)
    ours = messages[2].tool_calls
    request = dialect_name.request(messages)
    assert [call.id for call in request.messages[2].tool_calls] == [call.id for call in theirs]
    for our, their in zip(ours, theirs, strict=True):
        assert dialect_name.ids.theirs(our.id, dialect_name.provider) == their.id
        assert dialect_name.ids.ours(their.id, dialect_name.provider) == our.id
    assert b"tu_" not in dialect_name.to_wire(messages).json()


@pytest.mark.requirement("S002-68", "S002-66")
@pytest.mark.parametrize("there", DIALECTS)
@pytest.mark.parametrize("here", DIALECTS)
def test_calls_and_results_agree_after_a_change_of_provider(here: str, there: str) -> None:
    ids = IdMap()
    first, second = adapter(here, ids=ids), adapter(there, ids=ids)
    messages = history(here, first)
    written = second.to_wire(messages, TOOLS)
    assert problems(there, "request", written.wire) == []
    content = il.dialect(there).read_request(written.wire, written.model, written.stream)
    called = [c.id for m in content.messages for c in m.tool_calls if is_ours(c)]
    answered = [
        block.tool_use_id
        for m in content.messages
        for block in m.content
        if isinstance(block, il.ToolResultBlock) and m.role is il.Role.TOOL
    ]
    assert called == answered
    assert len(called) == 2


@pytest.mark.requirement("S002-79")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_calls_with_one_id_are_two_calls_streamed_or_not(dialect: str) -> None:
    """Some servers give every call the same id."""
    wire = answer(dialect, 1, calls=True)
    dialect_name = il.dialect(dialect)
    read = dialect_name.read_response(wire)
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
    events = [reported for event in il.unfold(same) for reported in incoming.take(event)]
    assert isinstance(events[-1], MessageComplete)
    streamed = events[-1].response.message
    for message in (whole, streamed):
        assert len({call.id for call in message.tool_calls}) == len(message.tool_calls)
    assert calls_of(events) == [call.id for call in streamed.tool_calls]
