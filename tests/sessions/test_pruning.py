"""How large and how old provider data may get that is kept with messages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import interlingua as il
from interlingua.sessions.pruning import MOST_BYTES, TOO_LARGE, limited, prune
from interlingua.store.base import Store
from tests.cli.running import run, told
from tests.sessions.talk import new_session

NOW = datetime(2026, 11, 1, tzinfo=UTC)
THINKING = il.ThinkingBlock("hm", "c2lnbmVk")


def answer(size: int, days: int = 0, text: str = "a") -> il.Message:
    metadata = il.MessageMetadata(provider_raw={"anthropic": {"x": "y" * size}})
    made = NOW - timedelta(days=days)
    return il.Message.assistant([THINKING, text], metadata).replace(created_at=made)


def raws(store: Store, session: str) -> list[bool]:
    return [m.metadata.provider_raw is not None for m in store.messages(session)]


@pytest.mark.requirement("S002-116")
def test_what_is_too_large_or_too_old_is_pruned_and_nothing_else(store: Store) -> None:
    session = store.create_session("/w").id
    sent = [answer(10, 90), answer(5000, 0), answer(10, 0), il.Message.user("b")]
    before = store.append(session, sent).messages
    other = store.create_session("/w").id
    store.append(other, [answer(5000, 90)])
    row = store.session(session)
    old = NOW - timedelta(days=30)

    would = prune(store, before=old, larger_than=1000, session_id=session, dry_run=True)
    assert raws(store, session) == [True, True, True, False]
    done = prune(store, before=old, larger_than=1000, session_id=session)
    assert would == done
    assert done.messages == 2
    assert done.bytes > 5000
    assert raws(store, session) == [False, False, True, False]
    assert raws(store, other) == [True]
    assert tuple(store.messages(session)) == before  # provider data is no part of equality
    assert store.messages(session)[0].content[0] == THINKING
    assert store.session(session) == row
    assert prune(store, before=old, larger_than=1000, session_id=session).messages == 0


@pytest.mark.requirement("S002-116")
def test_an_answer_stores_no_more_than_the_limit_and_reports_it(store: Store) -> None:
    session = new_session(store, "openai-chat")
    answer = {"role": "assistant", "content": "A test.", "blob": "x" * (MOST_BYTES + 1)}
    wire = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": answer}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    session.begin("hi").call().complete(wire)
    message = session.messages()[-1]
    assert (message.text, message.metadata.provider_raw) == ("A test.", None)
    assert TOO_LARGE in [each.type for each in message.metadata.diagnostics]


def test_the_limit_is_told_and_can_be_lifted() -> None:
    large = answer(100)
    small = limited(large, 50)
    assert small.metadata.provider_raw is None
    assert [each.type for each in small.metadata.diagnostics] == [TOO_LARGE]
    assert small.content == large.content
    assert limited(large, None) is large
    assert limited(large) is large


@pytest.mark.requirement("S002-116")
def test_a_command_prunes(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with il.open_store(path) as store:
        session = store.create_session("/w").id
        store.append(session, [answer(10, 90), answer(5000, -400)])
    where = ("--store", path)
    assert told("sessions", "prune", "--older-than", "30", "--dry-run", *where)["messages"] == 1
    assert told("sessions", "prune", "--older-than", "30", *where)["messages"] == 1
    assert told("sessions", "prune", session, "--larger-than", "1000", *where)["messages"] == 1
    assert told("sessions", "prune", "--larger-than", "0", *where)["messages"] == 0
    assert run("sessions", "prune", *where).exit_code == 2
