"""Stores sessions: each operation written once, for SQLite and PostgreSQL, sync and async.

`open.py` is the way in. `operations.py` says once, in SQL, what each call does; the engines run it.
"""
