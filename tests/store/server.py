"""`python -m tests.store.server`: a PostgreSQL for as long as standard input is open. The first
line that it prints is its address; whoever runs several groups of tests names it to them in
`INTERLINGUA_POSTGRES`."""

from __future__ import annotations

import sys

from tests.store.conftest import Server


def main() -> None:
    server = Server()
    try:
        print(server.address, flush=True)
        sys.stdin.read()
    finally:
        server.close()


if __name__ == "__main__":
    main()
