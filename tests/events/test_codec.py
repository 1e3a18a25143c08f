"""Events as JSON: what is written is read again, also what only a newer program knows."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from interlingua.errors import ReadError
from interlingua.events import (
    Actor,
    Bus,
    EventQuery,
    MemoryLog,
    dump_event,
    dump_payload,
    load_event,
    load_payload,
)
from interlingua.events.payloads import SessionEnded

ENDED = SessionEnded(
    disposition="completed", turn_count=2, total_cost_usd=Decimal("0.000654"), duration_ms=5
)


def event_json() -> bytes:
    event = Bus(strict=True).emit("session.ended", ENDED, session_id="s", turn_id="t")
    assert event is not None
    assert load_event(dump_event(event)) == event
    return dump_event(event)


def test_an_event_is_the_same_after_json() -> None:
    event = load_event(event_json())
    assert event.payload == ENDED
    assert msgspec.json.decode(event_json())["payload"]["total_cost_usd"] == "0.000654"


def test_a_payload_alone_is_what_a_store_keeps() -> None:
    event = load_event(event_json())
    assert load_payload(event.type, dump_payload(event)) == ENDED


@pytest.mark.parametrize("change", [{"type": "session.paused"}, {"payload": {"mood": "good"}}])
def test_what_a_newer_program_wrote_is_kept_as_it_is(change: dict[str, object]) -> None:
    wire = msgspec.json.decode(event_json()) | change
    event = load_event(msgspec.json.encode(wire))
    assert isinstance(event.payload, dict)
    assert msgspec.json.decode(dump_event(event)) == wire


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"id": 1}', b"\xff", "{"])
def test_what_is_no_event_is_an_error_that_says_so(data: bytes | str) -> None:
    with pytest.raises(ReadError, match="event"):
        load_event(data)


def test_a_payload_that_is_no_object_is_an_error() -> None:
    with pytest.raises(ReadError, match=r"payload of session\.ended"):
        load_payload("session.ended", b"[1]")


def test_a_query_gives_events_in_order_after_a_cursor_and_up_to_its_limit() -> None:
    log = MemoryLog()
    bus = Bus(log, strict=True)
    for number in range(10):
        bus.emit("session.resumed", {}, session_id=f"s{number % 2}", turn_id=f"t{number}")
    with bus:
        bus.flush_sync()
    odd = log.events(EventQuery(session_ids=frozenset({"s1"})))
    assert [event.turn_id for event in odd] == ["t1", "t3", "t5", "t7", "t9"]
    after = log.events(EventQuery(after=odd[1].id, before=odd[4].id, limit=3))
    assert [event.turn_id for event in after] == ["t4", "t5", "t6"]
    assert log.events(EventQuery(types=frozenset({"turn.started"}))) == []
    assert log.events(EventQuery(actors=frozenset({Actor.TOOL}))) == []
    assert log.events(EventQuery(turn_id="t4")) == after[:1]
    assert log.events(EventQuery(parent_event_id="x")) == []


def test_the_log_in_memory_forgets_the_oldest() -> None:
    log = MemoryLog(capacity=3)
    bus = Bus(log, strict=True)
    sent = [bus.emit("session.resumed", {}) for _ in range(5)]
    with bus:
        bus.flush_sync()
    assert log.events(EventQuery()) == sent[2:]
