"""What happened, as events: a closed catalogue, and the bus that carries them.

`bus.py` takes events in, `delivery.py` hands them out, `catalogue.py` lists the types and
`payloads/` what each of them says. Keeping events is the store's part (`log.py` says what is
expected of it).
"""

from interlingua.bus.bus import Bus
from interlingua.bus.catalogue import CATALOGUE, EventType, find
from interlingua.bus.codec import dump_event, dump_payload, load_event, load_payload
from interlingua.bus.errors import BusError, EventError, QueueFullError
from interlingua.bus.event import NO_SESSION, Actor, Event, Sensitivity
from interlingua.bus.log import AsyncEventSink, EventLog, EventQuery, EventSink, MemoryLog
from interlingua.bus.payloads.base import Payload
from interlingua.bus.subscribers import Filter, Subscription
from interlingua.bus.turn import TurnTrace

__all__ = [
    "CATALOGUE",
    "NO_SESSION",
    "Actor",
    "AsyncEventSink",
    "Bus",
    "BusError",
    "Event",
    "EventError",
    "EventLog",
    "EventQuery",
    "EventSink",
    "EventType",
    "Filter",
    "MemoryLog",
    "Payload",
    "QueueFullError",
    "Sensitivity",
    "Subscription",
    "TurnTrace",
    "dump_event",
    "dump_payload",
    "find",
    "load_event",
    "load_payload",
]
