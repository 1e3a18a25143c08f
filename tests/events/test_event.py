"""The events of a turn name the event that caused them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from interlingua.events import Bus, Event, EventError, EventQuery, MemoryLog, TurnTrace
from interlingua.events.catalogue import CATALOGUE
from interlingua.events.event import ONCE, PARENTS

PAYLOADS: dict[str, dict[str, Any]] = {
    "turn.started": {
        "message_hash": "x",
        "estimated_input_tokens": 1,
        "has_images": False,
        "has_tool_calls_in_history": False,
    },
    "route.decided": {"chosen_model": "a:b", "winner_index": 0, "elapsed_ms": 0.1, "chain": []},
    "llm.call_started": {
        "model": "a:b",
        "provider": "a",
        "estimated_input_tokens": 1,
        "request_id": "r",
    },
    "llm.call_completed": {
        "model": "a:b",
        "provider": "a",
        "input_tokens": 1,
        "output_tokens": 1,
        "cost_usd": Decimal("0.1"),
        "pricing_version": "1",
        "latency_ms": 3,
        "stop_reason": "tool_use",
    },
    "tool.called": {
        "tool_use_id": "tu_1",
        "name": "n",
        "input_hash": "x",
        "input_size": 2,
        "side_effects": "read",
    },
    "tool.completed": {
        "tool_use_id": "tu_1",
        "name": "n",
        "success": True,
        "output_size": 1,
        "latency_ms": 1,
    },
    "tool.failed": {"tool_use_id": "tu_1", "name": "n", "error_class": "timeout"},
    "turn.completed": {
        "stop_reason": "end_turn",
        "llm_call_count": 2,
        "tool_call_count": 1,
        "input_tokens": 1,
        "output_tokens": 1,
        "cost_usd": None,
        "wall_time_ms": 1,
    },
}


def play(trace: TurnTrace, type: str, **more: Any) -> Event:
    event = trace.emit(type, PAYLOADS[type] | more)
    assert event is not None
    return event


def test_each_event_of_a_turn_names_its_cause() -> None:
    trace = TurnTrace(Bus(strict=True), "s", "t")
    start = play(trace, "turn.started")
    route = play(trace, "route.decided")
    call = play(trace, "llm.call_started")
    answer = play(trace, "llm.call_completed")
    one = play(trace, "tool.called", tool_use_id="tu_1")
    two = play(trace, "tool.called", tool_use_id="tu_2")
    two_done = play(trace, "tool.failed", tool_use_id="tu_2")
    one_done = play(trace, "tool.completed", tool_use_id="tu_1")
    not_found = play(trace, "tool.failed", tool_use_id="tu_3", error_class="not_found")
    second = play(trace, "llm.call_started")
    end = play(trace, "turn.completed")
    parents = [
        (start, None),
        (route, start.id),
        (call, start.id),
        (answer, call.id),
        (one, answer.id),
        (two, answer.id),
        (two_done, two.id),
        (one_done, one.id),
        (not_found, answer.id),
        (second, not_found.id),
        (end, start.id),
    ]
    for event, parent in parents:
        assert event.parent_event_id == parent, event.type
        assert (event.session_id, event.turn_id) == ("s", "t")


def test_a_later_call_follows_from_the_tool_that_completed() -> None:
    trace = TurnTrace(Bus(strict=True), "s", "t")
    for type in ("turn.started", "llm.call_started", "llm.call_completed", "tool.called"):
        play(trace, type)
    done = play(trace, "tool.completed")
    assert play(trace, "llm.call_started").parent_event_id == done.id


@pytest.mark.parametrize("strict", [True, False])
def test_a_turn_has_exactly_one_route_decided(strict: bool) -> None:
    log = MemoryLog()
    bus = Bus(log, strict=strict)
    trace = TurnTrace(bus, "s", "t")
    play(trace, "turn.started")
    play(trace, "route.decided")
    with pytest.raises(EventError, match="turn t has one already"):
        trace.emit("route.decided", PAYLOADS["route.decided"])
    with bus:
        bus.flush_sync()
    types = [event.type for event in log.events(EventQuery(turn_id="t"))]
    assert types == ["turn.started", "route.decided"]


def test_the_table_of_causes_names_types_of_the_catalogue() -> None:
    named = {name for groups in PARENTS.values() for group in groups for name in group}
    assert named | set(PARENTS) | ONCE <= set(CATALOGUE)
