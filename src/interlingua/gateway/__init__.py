"""The gateway: any official SDK on one side, any provider on the other.

`service.py` puts the parts together, `gateway.py` has what requests share. `relay/app.py` serves a
request: `shared/fronts.py` finds the API of its path, `relay/sending.py` asks the provider, and
`relay/whole.py` or `relay/stream.py` answers. `shared/state.py` has the interfaces of the parts.
"""
