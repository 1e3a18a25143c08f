"""Adapters: a dialect bound to a model and to a session's tool ids.

`adapter.py` is the contract, `ids.py` the map between our ids and a provider's, `stream.py` what
becomes of the events of a stream, `assemble.py` what a session knows about an answer beyond it.
"""

from interlingua.adapters.adapter import Adapter
from interlingua.adapters.assemble import RequestContext
from interlingua.adapters.ids import IdMap
from interlingua.adapters.stream import AdapterStream

__all__ = ["Adapter", "AdapterStream", "IdMap", "RequestContext"]
