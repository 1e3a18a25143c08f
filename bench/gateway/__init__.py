"""The gateway against a bare pass-through: requests and streams a second, in one run.

One core for the gateway, the other for who asks and who answers. `upstream.py` answers from memory,
`bare.py` passes bytes through and does nothing else, `load.py` asks as fast as it is answered. The
gateway runs as users start it, with a key that has a cap, its trace and its store.
"""

from bench.gateway.run import rows

__all__ = ["rows"]
