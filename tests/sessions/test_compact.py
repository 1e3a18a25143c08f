"""A session that is compacted: shorter requests, the whole history in the store, any model next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream

OLD = "the old question"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[il.Store]:
    with il.open_store(str(tmp_path / "store.db")) as store:
        yield store


def answered(session: il.Session, words: str, text: str) -> Any:
    """One turn; returns the body that was sent."""
    turn = session.begin(words)
    call = turn.call()
    wire = call.wire
    dialect = "anthropic" if "max_tokens" in wire else "openai-chat"
    dialect = "openai-responses" if "input" in wire else dialect
    metadata = il.MessageMetadata(
        stop_reason=il.StopReason.END_TURN, usage=il.Usage(input_tokens=5, output_tokens=5)
    )
    response = il.Response(il.Message.assistant(text, metadata))
    call.complete(il.dialect(dialect).write_response(response).wire)
    return wire


@pytest.mark.requirement("S002-115")
def test_what_a_compaction_replaces_is_not_sent(store: il.Store) -> None:
    session = il.Session.create(store, model=ANTHROPIC, system="Be brief.")
    answered(session, OLD, "An old answer.")
    before = [il.dumps(message) for message in session.messages()]
    made = session.compact("They asked something old.")
    (block,) = made.content
    assert isinstance(block, il.CompactionBlock)
    assert block.replaces == 3
    wire = answered(session, "the new question", "A new answer.")
    assert OLD not in str(wire)
    assert "An old answer" not in str(wire)
    assert "They asked something old." in str(wire)
    assert "Be brief." in str(wire)
    remaining = [il.dumps(message) for message in session.messages()]
    assert remaining[: len(before)] == before, "the history is unchanged"
    session.swap(OPENAI)
    wire = answered(session, "and now?", "Now this.")
    assert OLD not in str(wire)
    assert "They asked something old." in str(wire)
    again = il.Session.open(store, session.id)
    assert OLD not in str(answered(again, "once more", "Yes."))


def test_a_vendors_own_compaction_comes_back_to_it_byte_for_byte(store: il.Store) -> None:
    session = il.Session.create(store, model=ANTHROPIC)
    answered(session, OLD, "An old answer.")
    turn = session.begin("go on")
    call = turn.call()
    _ = call.wire
    block = {
        "type": "compaction",
        "content": "What was said.",
        "encrypted_content": "b3BhcXVl",
        "signature": "c2lnbmVk",
    }
    call.complete(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-6",
            "content": [block, {"type": "text", "text": "Going on."}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 5},
        }
    )
    session.swap(OPENAI)
    abroad = answered(session, "elsewhere", "Hello.")
    assert OLD not in str(abroad)
    assert "What was said." in str(abroad)
    session.swap(ANTHROPIC)
    home = answered(session, "home again", "Welcome.")
    assert home["messages"][0]["content"][0] == block
    assert OLD not in str(home)


def test_what_only_another_vendor_can_read_replaces_nothing(store: il.Store) -> None:
    session = il.Session.create(store, model=OPENAI, dialects={"openai": "openai-responses"})
    answered(session, OLD, "An old answer.")
    call = session.begin("go on").call()
    _ = call.wire
    item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "b3BhcXVl"}
    text = {"type": "output_text", "text": "Going on.", "annotations": []}
    message = {"type": "message", "role": "assistant", "content": [text], "status": "completed"}
    output = [item, {**message, "id": "msg_2"}]
    wire = {"id": "resp_1", "object": "response", "status": "completed", "output": output}
    call.complete({**wire, "model": "gpt-4.1", "usage": {"input_tokens": 5, "output_tokens": 5}})
    home = answered(session, "and?", "Yes.")
    assert item in home["input"]
    assert OLD not in str(home)
    session.swap(ANTHROPIC)
    assert OLD in str(answered(session, "elsewhere", "Hello."))


def test_the_model_writes_the_summary(store: il.Store) -> None:
    with Upstream() as provider:
        session = il.Session.create(store, model=ANTHROPIC)
        answered(session, OLD, "An old answer.")
        urls = {"anthropic": provider.url}
        with il.Client(base_urls=urls, environ={"ANTHROPIC_API_KEY": "none"}) as client:
            made = session.compact(client=client)
        assert made.content[0].text.startswith("Answer 1 to: The conversation above")  # type: ignore[union-attr]
        assert OLD in str(provider.requests[0])
        assert session.cost() is not None
        assert made.metadata.usage is not None
        assert made.metadata.usage.cost_usd is not None


def test_what_cannot_be_compacted_is_refused(store: il.Store) -> None:
    session = il.Session.create(store, model=ANTHROPIC, system="Be brief.")
    with pytest.raises(il.InterlinguaError, match="nothing to compact"):
        session.compact("x")
    answered(session, OLD, "An old answer.")
    with pytest.raises(il.InterlinguaError, match="the summary is empty"):
        session.compact(" ")
    session.begin("new")
    with pytest.raises(il.InterlinguaError, match="a turn is in progress"):
        session.compact("x")
