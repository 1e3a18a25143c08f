"""Tasks over HTTP: agents that run in the background of the gateway, and who watches them.

`api.py` has the paths, `running.py` the runs of this process, `live.py` what is being said right
now, `feeds.py` and `overview.py` the two event streams, `asking.py` the questions whether a tool
may run.
"""
