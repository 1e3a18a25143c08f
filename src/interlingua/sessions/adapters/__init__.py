"""A dialect bound to a model and to the tool ids of a session.

`adapter.py` is the contract, `ids.py` the map between our ids and a provider's, `stream.py` what
becomes of the events of a stream, `assemble.py` what a session knows about an answer beyond it.
"""

from interlingua.sessions.adapters.adapter import Adapter
from interlingua.sessions.adapters.assemble import AdapterStream, RequestContext
from interlingua.sessions.adapters.ids import IdMap

__all__ = ["Adapter", "AdapterStream", "IdMap", "RequestContext"]
