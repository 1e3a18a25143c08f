"""Tasks over HTTP: agents that run in the background, their events, questions to users.

`api.py` has the paths, `running.py` the runs of this process, `live.py` what is being said right
now, `feeds.py` and `overview.py` the two event streams, `asking.py` the questions whether a tool
may run.
"""
