"""What every store can do."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from interlingua.errors import WriteError
from interlingua.model.blocks import RefusalBlock, TextBlock
from interlingua.model.ids import is_tool_id, is_ulid
from interlingua.model.message import Message, micros
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.store.rows import EventRow, SessionRow
from tests.store.places import TU_1, TU_2, ask
from tests.store.stored import call, new_session


def test_a_session_is_found_as_it_was_made(store: Store) -> None:
    policy = {"rules": [1, "zwei", None], "deep": {"a": 1.5}}
    made = store.create_session("/w", name="first", active_model="a:b", routing_policy=policy)
    assert is_ulid(made.id)
    assert store.session(made.id) == made
    assert made.routing_policy == policy
    assert made.created_at.tzinfo is UTC
    assert made.message_count == 0


def test_a_session_may_bring_its_own_id_and_only_once(store: Store) -> None:
    assert new_session(store, id="mine") == "mine"
    with pytest.raises(ConflictError):
        store.create_session("/other", id="mine")
    assert store.session("mine").workspace_path == "/work"


def test_sessions_are_listed_the_last_changed_first_page_by_page(store: Store) -> None:
    ids = [new_session(store) for _ in range(5)]
    store.append(ids[1], [Message.user("hi")])
    pages: list[SessionRow] = []
    before = None
    while page := store.sessions(limit=2, before=before):
        pages += page
        before = page[-1]
    assert [row.id for row in pages] == [ids[1], ids[4], ids[3], ids[2], ids[0]]


def test_only_what_is_named_is_changed(store: Store) -> None:
    made = store.create_session("/w", name="first", active_model="a:b", routing_policy={"x": 1})
    changed = store.update_session(made.id, name=None, active_model="c:d")
    assert (changed.name, changed.active_model, changed.routing_policy) == (None, "c:d", {"x": 1})
    assert changed.updated_at >= made.updated_at
    assert store.session(made.id) == changed


def test_a_deleted_session_leaves_nothing_behind(store: Store) -> None:
    gone, stays = new_session(store), new_session(store)
    for id, tool in ((gone, TU_1), (stays, TU_2)):
        store.append(id, [Message.assistant([TextBlock("needle"), call(tool)])])
        store.append(id, [Message.tool_result(tool, "needle")])
        store.append_events([event(f"e-{id}", id)])
    assert len(store.search("needle")) == 4
    store.delete_session(gone)
    with pytest.raises(NotFoundError, match="no session"):
        store.session(gone)
    for table in ("messages", "tool_calls", "events", "message_texts"):
        found = ask(store, f"SELECT DISTINCT session_id FROM {table}")
        assert [id for (id,) in found] == [stays], table
    assert {hit.session_id for hit in store.search("needle")} == {stays}


@pytest.mark.parametrize(
    "text", ["a\0b", "\u2400", "\u24000\u24001\0", "\U0001f9d1\u200d\U0001f52c", "'; --", "%s ? \\"]
)
def test_any_text_survives_in_every_column(store: Store, text: str) -> None:
    session = store.create_session(text, name=text, active_model=text, id="id" + text)
    message = Message.user(text, name=text).replace(id="m" + text)
    result = Message.tool_result("t" + text, text)
    used = Message.assistant(call("t" + text, text))
    sent = [message, used, result]
    store.append(session.id, sent, provider_ids={"t" + text: text}, check=False)
    found = store.session(session.id)
    assert (found.workspace_path, found.name, found.active_model) == (text, text, text)
    assert store.messages(session.id)[0].name == text
    assert store.messages(session.id)[0].text == text
    (row,) = store.tool_calls(session.id)
    assert (row.id, row.name, row.provider_id, row.status) == ("t" + text, text, text, "succeeded")
    store.search("anything")
    ask(store, "SELECT * FROM conversation")


def test_what_is_no_unicode_text_is_refused_in_every_column(store: Store) -> None:
    session, odd = new_session(store), "a\ud800b"
    used = Message.assistant(call(TU_1))
    for ask_for in (
        lambda: store.create_session(odd),
        lambda: store.create_session("/w", name=odd),
        lambda: store.session(odd),
        lambda: store.message(session, odd),
        lambda: store.append(session, [Message.user("x", name=odd)]),
        lambda: store.append(session, [Message.user(odd)]),
        lambda: store.append(session, [used], provider_ids={TU_1: odd}),
        lambda: store.update_session(session, routing_policy={"a": odd}),
    ):
        with pytest.raises((StoreError, WriteError), match="surrogate"):
            ask_for()
    assert store.search(odd) == []
    assert store.messages(session) == []
    store.append(session, [used])


def test_a_fork_has_the_messages_up_to_a_point_and_lives_on_its_own(store: Store) -> None:
    parent = store.create_session("/w", active_model="a:b", routing_policy={"x": 1})
    used = Message.assistant([TextBlock("look"), call(TU_1)], MessageMetadata(provider="p"))
    answer = Message.tool_result(TU_1, "found")
    added = store.append(
        parent.id,
        [Message.user("q"), used, answer, Message.assistant("done"), Message.user("more")],
        provider_ids={TU_1: "toolu_1"},
    ).messages
    fork = store.fork(parent.id, added[2].id, name="try again")
    assert (fork.parent_id, fork.parent_message_id) == (parent.id, added[2].id)
    assert (fork.workspace_path, fork.active_model, fork.routing_policy) == ("/w", "a:b", {"x": 1})
    assert store.session(fork.id) == fork
    copies = store.messages(fork.id)
    assert [message.text for message in copies] == ["q", "look", ""]
    assert [message.created_at for message in copies] == [m.created_at for m in added[:3]]
    assert not {message.id for message in copies} & {message.id for message in added}
    (row,) = store.tool_calls(fork.id)
    assert is_tool_id(row.id)
    assert (row.provider_id, row.status) == ("toolu_1", "succeeded")
    assert row.result_message_id == copies[2].id
    assert copies[2].metadata.parent_tool_use_id == row.id
    assert store.append(fork.id, [Message.user("other way")]).first == 4
    assert len(store.messages(parent.id)) == 5
    store.delete_session(parent.id)
    assert len(store.messages(fork.id)) == 4


def test_a_fork_without_a_message_has_all_of_them(store: Store) -> None:
    parent = new_session(store)
    assert store.messages(store.fork(parent).id) == []
    store.append(parent, [Message.user(str(number)) for number in range(1203)])
    fork = store.fork(parent)
    assert fork.message_count == 1203
    texts = [message.text for message in store.messages(fork.id)]
    assert texts == [str(number) for number in range(1203)]


def test_a_call_with_a_foreign_id_keeps_it_as_the_providers_in_a_fork(store: Store) -> None:
    parent = new_session(store)
    store.append(parent, [Message.assistant(call("call_77"))], check=False)
    (row,) = store.tool_calls(store.fork(parent).id)
    assert row.provider_id == "call_77"


def event(id: str, session: str, type: str = "turn.started") -> EventRow:
    time = datetime(2026, 5, 8, 12, 0, 0, 123_456, tzinfo=UTC)
    payload = {"n": 1, "text": "a\0b", "list": [1.5, None]}
    return EventRow(id, session, type, time, "user", "private", payload, "turn-1")


def test_events_are_numbered_without_gaps_in_each_session(store: Store) -> None:
    first = store.append_events([event("1", "a"), event("2", "b"), event("3", "a")])
    assert [(row.session_id, row.seq) for row in first] == [("a", 1), ("b", 1), ("a", 2)]
    second = store.append_events([event("4", "a", "turn.completed"), event("5", "a")])
    assert [row.seq for row in second] == [3, 4]
    assert store.events("a") == [first[0], first[2], *second]
    assert store.events("a", after=2, limit=1) == second[:1]
    assert store.events("a", types=["turn.completed", "x"]) == second[:1]
    assert store.events("c") == []
    assert store.append_events([]) == []


def test_an_event_that_comes_again_keeps_its_place(store: Store) -> None:
    (first,) = store.append_events([event("1", "a")])
    items = [event("2", "a"), event("1", "a"), event("3", "b"), event("2", "a")]
    assert [row.seq for row in store.append_events(items)] == [2, 1, 1, 2]
    assert [row.id for row in store.events("a")] == ["1", "2"]
    assert store.events("a")[0] == first


def test_the_views_tell_the_story(store: Store) -> None:
    session = store.create_session("/w", name="n").id
    time = datetime(2026, 5, 8, 12, 30, tzinfo=UTC)
    usage = Usage(input_tokens=8, output_tokens=42, cost_usd=Decimal("0.000654"))
    metadata = MessageMetadata(model="a:m", provider="a", usage=usage, user_id="u", team_id="t")
    added = [
        Message.user("hi"),
        Message.assistant([TextBlock("one"), call(TU_1, "f"), RefusalBlock("two")], metadata),
        Message.tool_result(TU_1, ["x", "y"]),
    ]
    store.append(session, [message.replace(created_at=time) for message in added])
    rows = ask(store, "SELECT seq, role, model, status, text FROM conversation ORDER BY seq")
    assert rows == [
        (1, "user", None, "complete", "hi"),
        (2, "assistant", "a:m", "complete", "one\n[calls f]\ntwo"),
        (3, "tool", None, "complete", "x\ny"),
    ]
    assert ask(store, "SELECT name, message_count FROM session_list") == [("n", 3)]
    assert ask(store, "SELECT seq, name, status FROM call_list") == [(2, "f", "succeeded")]
    columns = "model, user_id, team_id, input_tokens, output_tokens, CAST(day AS TEXT)"
    costs = ask(store, f"SELECT {columns} FROM message_costs")
    assert costs == [("a:m", "u", "t", 8, 42, "2026-05-08")]
    ((cost,),) = ask(store, "SELECT CAST(cost_usd AS TEXT) FROM message_costs")
    assert Decimal(cost) == Decimal("0.000654")
    stored = ask(store, "SELECT DISTINCT created_at FROM messages")
    assert stored == [(micros(time),)]
