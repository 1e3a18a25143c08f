"""`python -m tests.store.cuts --seconds 600`: a PostgreSQL connection is cut every 100 ms.

Several threads append all the while. A call that says `unreachable` may have been written or not,
so the caller looks before it tries again, with `after=`. In the end every message is there once.
"""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from typing import NamedTuple

import psycopg

from interlingua.model.message import Message
from interlingua.store.errors import StoreError
from interlingua.store.postgres import PostgresStore
from tests.store.conftest import Server
from tests.store.kills import WrongError

PAUSE = 0.1
CUT = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND application_name = %s
ORDER BY random() LIMIT 1"""
NAME = "interlingua-cuts"


class Tally(NamedTuple):
    appended: int
    cuts: int
    refused: int


def append_surely(store: PostgresStore, session: str, text: str, last: int) -> int:
    """Append one message after `last`, however often it takes; gives how often it was refused."""
    refused = 0
    while True:
        try:
            if store.session(session).message_count == last + 1:
                return refused  # it had been written after all
            store.append(session, [Message.user(text)], after=last)
        except StoreError as error:
            if error.reason not in ("unreachable", "busy"):
                raise
            refused += 1
        else:
            return refused


def run(address: str, seconds: float, threads: int = 4) -> Tally:
    mark = "&" if "?" in address else "?"
    end = time.monotonic() + seconds
    totals: list[tuple[int, int]] = []
    errors: list[BaseException] = []
    with PostgresStore(f"{address}{mark}application_name={NAME}") as store:

        def work(session: str) -> None:
            count = refused = 0
            try:
                while time.monotonic() < end:
                    refused += append_surely(store, session, str(count), count)
                    count += 1
                totals.append((count, refused))
            except BaseException as error:
                errors.append(error)

        sessions = [store.create_session("/w").id for _ in range(threads)]  # before the first cut
        callers = [threading.Thread(target=work, args=(session,)) for session in sessions]
        for caller in callers:
            caller.start()
        cuts = _cut_until(address, end)
        for caller in callers:
            caller.join()
        if errors:
            raise errors[0]
        for session in sessions:
            texts = [message.text for message in store.messages(session)]
            if texts != [str(number) for number in range(len(texts))]:
                raise WrongError("a message that is missing, or there twice")
        appended = sum(store.session(session).message_count for session in sessions)
    if appended != sum(count for count, _ in totals):
        raise WrongError(f"{appended} are there, not {totals}")
    return Tally(appended, cuts, sum(refused for _, refused in totals))


def _cut_until(address: str, end: float) -> int:
    cuts = 0
    with psycopg.connect(address, autocommit=True) as other:
        while time.monotonic() < end:
            cuts += len(other.execute(CUT, [NAME]).fetchall())
            time.sleep(PAUSE)
    return cuts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.store.cuts", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    chosen = parser.parse_args()
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it tells of every cut
    server = Server()
    try:
        tally = run(server.address, chosen.seconds)
    finally:
        server.close()
    print(
        f"{tally.appended} appends by 4 threads while {tally.cuts} connections were cut:"
        f" {tally.refused} calls refused, none lost, none twice"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
