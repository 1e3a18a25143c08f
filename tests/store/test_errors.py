"""What a store raises."""

from __future__ import annotations

import pytest

from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.store.open import open_store
from tests.store.stored import new_session

NONE = "01HZ0000000000000000000000"


def test_what_is_missing_is_named(store: Store) -> None:
    session = new_session(store)
    message = Message.user("x").replace(id=NONE, session_id=session)
    for ask_for in (
        lambda: store.session("nowhere"),
        lambda: store.update_session("nowhere", name="x"),
        lambda: store.delete_session("nowhere"),
        lambda: store.append("nowhere", [Message.user("x")]),
        lambda: store.fork("nowhere"),
        lambda: store.message(session, "none"),
        lambda: store.messages(session, after="none"),
        lambda: store.fork(session, "none"),
        lambda: store.save(message),
        lambda: store.save(message.replace(session_id="nowhere")),
    ):
        with pytest.raises(NotFoundError, match=rf"no (session|message) '(nowhere|none|{NONE})'"):
            ask_for()


def test_a_closed_store_says_so(address: str) -> None:
    store = open_store(address)
    store.close()
    store.close()
    for ask_for in (store.sessions, lambda: store.create_session("/w")):
        with pytest.raises(StoreError, match="closed") as raised:
            ask_for()
        assert raised.value.reason == "closed"


def test_no_error_quotes_what_was_said(store: Store) -> None:
    session = new_session(store)
    secret = Message.user("my secret words").replace(id=NONE)
    store.append(session, [secret])
    with pytest.raises(ConflictError) as raised:
        store.append(session, [secret])
    assert "secret" not in str(raised.value)
