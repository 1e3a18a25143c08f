"""Stores sessions: each operation written once, for SQLite and PostgreSQL, sync and async.

`open.py` opens a store. `sessions.py`, `messages.py`, `requests.py` and their siblings have each
operation as SQL steps; the engines (`sqlite.py`, `postgres.py`) run them.
"""
