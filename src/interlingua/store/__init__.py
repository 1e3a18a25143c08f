"""Where sessions live: one protocol, two engines (SQLite and PostgreSQL), sync and async.

`open.py` is the way in. `operations.py` says once, in SQL, what each call does; the engines run it.
"""
