"""The trace: events of a closed catalogue, and the bus that delivers them.

`bus.py` accepts events, `delivery.py` delivers them, `catalogue.py` lists the types and
`payloads.py` their fields. A store keeps events; `log.py` has the protocol for it.
"""

from interlingua.events.bus import Bus as Bus
from interlingua.events.catalogue import CATALOGUE as CATALOGUE
from interlingua.events.catalogue import EventType as EventType
from interlingua.events.catalogue import dump_event as dump_event
from interlingua.events.catalogue import dump_payload as dump_payload
from interlingua.events.catalogue import find as find
from interlingua.events.catalogue import load_event as load_event
from interlingua.events.catalogue import load_payload as load_payload
from interlingua.events.event import NO_SESSION as NO_SESSION
from interlingua.events.event import Actor as Actor
from interlingua.events.event import BusError as BusError
from interlingua.events.event import Event as Event
from interlingua.events.event import EventError as EventError
from interlingua.events.event import QueueFullError as QueueFullError
from interlingua.events.event import Sensitivity as Sensitivity
from interlingua.events.event import TurnTrace as TurnTrace
from interlingua.events.log import AsyncEventSink as AsyncEventSink
from interlingua.events.log import EventLog as EventLog
from interlingua.events.log import EventQuery as EventQuery
from interlingua.events.log import EventSink as EventSink
from interlingua.events.log import Filter as Filter
from interlingua.events.log import MemoryLog as MemoryLog
from interlingua.events.log import Subscription as Subscription
from interlingua.events.payloads import Payload as Payload
