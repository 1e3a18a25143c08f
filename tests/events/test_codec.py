"""Events as JSON: what is written is read again, also what only a newer program knows."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from interlingua.errors import ReadError
from interlingua.events import (
    Bus,
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
