"""Memory that was freed goes back to the system, and no request leaves a circle behind it."""

from __future__ import annotations

import gc
import weakref

import msgspec
import pytest

from interlingua.adapt.remembered import Conversations, WrittenTurns
from interlingua.client.targets import Targets
from interlingua.dialects.registry import dialect
from interlingua.gateway.server import worker
from interlingua.gateway.server.worker import GROWTH, LONGEST, SECONDS, FreedMemory
from tests.laws.test_incremental import AGENT


def test_it_is_given_back_when_it_has_grown_and_less_often_while_that_is_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held, trimmed = [100 * GROWTH], 0

    def trim(_: int) -> int:
        nonlocal trimmed
        trimmed += 1
        held[0] = min(held[0], 90 * GROWTH)
        return 1

    monkeypatch.setattr(worker, "resident", lambda: held[0])
    freed = FreedMemory()
    freed._trim = trim
    for _ in range(SECONDS):
        freed.tick()
    assert trimmed == 1
    for _ in range(2 * LONGEST):
        freed.tick()
    assert trimmed == 1  # it has not grown
    held[0] = 200 * GROWTH
    for _ in range(LONGEST):
        freed.tick()
    assert trimmed == 2


def test_where_the_library_has_no_such_call_nothing_happens() -> None:
    freed = FreedMemory()
    freed._trim = None
    for _ in range(SECONDS):
        freed.tick()


def test_turns_that_were_written_go_without_the_collector() -> None:
    read = Conversations(2**24, least=0)
    targets = Targets(environ={"ANTHROPIC_API_KEY": "x"})
    target = targets.find("anthropic:claude-sonnet-4-5")
    conversation = read.read(msgspec.json.encode(AGENT), dialect("openai-chat"))
    assert conversation is not None
    gc.collect()
    gc.disable()
    try:
        prepared = targets.prepare(conversation.request, target, False, None, conversation)
        assert isinstance(prepared.turns, WrittenTurns)
        gone = weakref.ref(prepared.turns)
        del prepared
        conversation.written.clear()
        assert gone() is None
    finally:
        gc.enable()
