"""A dialect bound to a model and to the tool ids of a session.

`adapter.py` has the adapter, `ids.py` the map between our ids and a provider's, `assemble.py` the
message that a session stores: its events, ids, cost and routing record.
"""

from interlingua.sessions.adapters.adapter import Adapter
from interlingua.sessions.adapters.assemble import AdapterStream, RequestContext
from interlingua.sessions.adapters.ids import IdMap

__all__ = ["Adapter", "AdapterStream", "IdMap", "RequestContext"]
