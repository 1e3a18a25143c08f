"""`python -m tests.replay`: the replay server on its own, until it is interrupted.

Prints its URL on the first line, so that another program can read it."""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Iterator

import interlingua as il
from tests.cassettes import cases, cassette
from tests.laws import corpus
from tests.replay.exchanges import Exchange, from_corpus
from tests.replay.faults import FAULTS, fault_from
from tests.replay.server import ReplayServer


def exchanges(dialect: str | None) -> Iterator[Exchange]:
    """Committed cassettes and what our writers generate; recorded traffic where there is some."""
    for name in [dialect] if dialect else il.dialects():
        yield from cases.exchanges(name)
    for tape in cassette.committed():
        if dialect in (None, tape.dialect):
            yield from tape.replayed()
    if corpus.corpus_folder().is_dir():
        yield from from_corpus(dialect)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.replay", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--dialect", choices=il.dialects(), help="serve only this one's exchanges")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between frames")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        type=fault_from,
        help=f"what happens to the next request, e.g. 'cut after=100'; {', '.join(sorted(FAULTS))}",
    )
    arguments = parser.parse_args()
    found = list(exchanges(arguments.dialect))
    with ReplayServer(found, port=arguments.port, pace=arguments.pace) as server:
        server.stage(*arguments.fault)
        print(server.url, flush=True)
        print(f"{len(found)} exchanges; Ctrl-C stops it", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
