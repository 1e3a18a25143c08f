"""The trace: events of a closed catalogue, and the bus that delivers them.

`bus.py` takes events in, `delivery.py` hands them out, `catalogue.py` lists the types and
`payloads/` what each of them says. Keeping events is the store's part (`log.py` says what is
expected of it).
"""

from interlingua.events.bus import Bus
from interlingua.events.catalogue import (
    CATALOGUE,
    EventType,
    dump_event,
    dump_payload,
    find,
    load_event,
    load_payload,
)
from interlingua.events.event import (
    NO_SESSION,
    Actor,
    BusError,
    Event,
    EventError,
    QueueFullError,
    Sensitivity,
    TurnTrace,
)
from interlingua.events.log import (
    AsyncEventSink,
    EventLog,
    EventQuery,
    EventSink,
    Filter,
    MemoryLog,
    Subscription,
)
from interlingua.events.payloads import Payload

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
