"""Tasks over HTTP: agents that run in the background, their events, questions to users.

`api.py` has the paths, `runs.py` the runs of this process, `feeds.py` the event stream of one task
and its questions to users, `overview.py` the event stream of all tasks.
"""
