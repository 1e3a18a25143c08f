"""L8 over recorded traffic: what is stored comes back byte for byte."""

from __future__ import annotations

import pytest

from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message
from interlingua.store.base import Store
from tests.laws.corpus import corpus_or_skip
from tests.laws.strategies import DIALECTS
from tests.store import corpus
from tests.store.places import ask

requirement = pytest.mark.requirement


@requirement("S002-103")
def test_recorded_conversations_come_back_byte_for_byte(store: Store) -> None:
    corpus_or_skip()
    counts, _ = corpus.run(store, stride=31)
    assert set(counts) == set(DIALECTS)
    assert sum(counts.values()) > 200


def test_the_check_notices_a_changed_byte(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [Message.user("hello")]
    assert corpus.examine(store, messages) is None
    load = store.messages

    def changed(session_id: str) -> list[Message]:
        return [message.replace(content=(TextBlock("hallo"),)) for message in load(session_id)]

    monkeypatch.setattr(store, "messages", changed)
    assert corpus.examine(store, messages) == "loaded differently"
    assert ask(store, "SELECT count(*) FROM messages") == [(2,)]
