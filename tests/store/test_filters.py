"""Sessions by where they were made, their model, folder, time and name; and their forks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.rows import SessionFilter

NOW = datetime.now(UTC)


@pytest.fixture
def filled(store: Store) -> Store:
    store.create_session("/projects/one", name="First 100% try", active_model="openai:gpt-5")
    store.create_session("/projects/one/inner", active_model="anthropic:claude-sonnet-4-6")
    policy = {"owner": None, "task": True}
    store.create_session("/projects/one_more", name="agent", routing_policy=policy)
    store.create_session("/elsewhere", name="over HTTP", routing_policy={"owner": None})
    store.create_session("/elsewhere", name="of somebody", routing_policy={"owner": "u17"})
    return store


def paths(store: Store, owner: str | None = None, **wanted: object) -> list[str]:
    rows = store.sessions_of(owner, wanted=SessionFilter(**wanted))  # type: ignore[arg-type]  # by name
    return sorted(row.workspace_path for row in rows)


def test_sessions_are_found_by_where_they_were_made(filled: Store) -> None:
    assert paths(filled, origin="task") == ["/projects/one_more"]
    assert paths(filled, origin="gateway") == ["/elsewhere"]
    assert paths(filled, origin="chat") == ["/projects/one", "/projects/one/inner"]
    assert paths(filled, "u17", origin="gateway") == ["/elsewhere"]
    assert {row.origin for row in filled.sessions_of(None)} == {"task", "gateway", "chat"}


def test_sessions_are_found_by_words_model_and_folder(filled: Store) -> None:
    assert paths(filled, words="100% TRY") == ["/projects/one"]
    assert paths(filled, words="1_0") == []
    assert paths(filled, words="sonnet") == ["/projects/one/inner"]
    assert paths(filled, model="GPT") == ["/projects/one"]
    assert paths(filled, folder="/projects/one/") == ["/projects/one", "/projects/one/inner"]
    assert paths(filled, folder="/projects/one", model="claude") == ["/projects/one/inner"]


def test_sessions_are_found_by_time_and_page(filled: Store) -> None:
    hour = timedelta(hours=1)
    assert paths(filled, since=NOW + hour) == []
    assert len(paths(filled, since=NOW - hour, until=NOW + hour)) == 4
    wanted = SessionFilter(folder="/projects")
    first = filled.sessions_of(None, 2, wanted=wanted)
    rest = filled.sessions_of(None, 2, first[-1], wanted)
    assert len({row.id for row in [*first, *rest]}) == 3


def test_forks_of_a_session_are_found(store: Store) -> None:
    session = store.create_session("/projects")
    added = store.append(session.id, [Message.user("one"), Message.user("two")])
    forks = [store.fork(session.id, added.messages[0].id, name=name) for name in ("a", "b")]
    inner = store.fork(forks[0].id, name="c")
    assert [row.id for row in store.forks_of(session.id)] == [fork.id for fork in forks]
    assert [row.id for row in store.forks_of(forks[0].id)] == [inner.id]
    assert store.forks_of(session.id)[0].parent_message_id == added.messages[0].id
