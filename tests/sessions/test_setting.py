"""What a session works with."""

from __future__ import annotations

import pytest

from interlingua.routing.decision import OverrideError
from interlingua.sessions import Session
from interlingua.store.base import Store
from tests.sessions.swaps import SONNET
from tests.sessions.talk import new_session, types
from tests.sessions.wires import TOOLS


def test_an_unknown_model_is_refused_and_nothing_changes(store: Store) -> None:
    session = new_session(store)
    before = types(store, session)
    for name in ("nobody", "nowhere:model"):
        with pytest.raises(OverrideError):
            session.swap(name)
    assert session.model == SONNET
    assert types(store, session) == before


def test_a_model_may_be_called_by_its_alias(store: Store) -> None:
    session = Session.create(store, model="sonnet", tools=TOOLS)
    assert session.model == "anthropic:claude-sonnet-5-5"
    session.swap("gpt-oss")
    assert session.model == "groq:openai/gpt-oss-120b"
    assert store.session(session.id).active_model == "groq:openai/gpt-oss-120b"
