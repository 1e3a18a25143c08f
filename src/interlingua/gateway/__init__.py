"""The gateway: any official SDK on one side, any provider on the other.

`app.py` takes requests in, `fronts.py` knows whose they are, `relay.py` sends them on and brings
the answers back; `state.py` says which parts there are and what they expect of each other.
"""
