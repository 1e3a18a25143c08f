"""Buses and their subscribers, for tests."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from interlingua.events import Bus, Event
from interlingua.events.payloads import SessionResumed, TurnStarted

RESUMED = SessionResumed(message_count=2)

STARTED = TurnStarted(
    message_hash="ab12", estimated_input_tokens=9, has_images=False, has_tool_calls_in_history=False
)


def own(events: list[Event]) -> list[Event]:
    """Without those that the bus emits about itself."""
    return [event for event in events if not event.type.startswith("bus.")]


def emit(bus: Bus, session_id: str = "s1", **more: Any) -> Event:
    event = bus.emit("session.resumed", RESUMED, session_id=session_id, **more)
    assert event is not None
    return event


def named(caplog: pytest.LogCaptureFixture, message: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.getMessage() == message]


class Collector:
    def __init__(self) -> None:
        self.events: list[Event] = []

    async def __call__(self, event: Event) -> None:
        self.events.append(event)
