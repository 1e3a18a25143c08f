"""`python -m bench`: every measurement, one table. `--quick` takes fewer rounds.

Exits with 1 when a target is missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from bench import (
    bulk,
    canonical,
    cli,
    client,
    gateway,
    import_time,
    sessions,
    store,
    streams,
    transcripts,
    translate,
)
from bench.measure import Row

SECTIONS = {
    "canonical": canonical.rows,
    "import": import_time.rows,
    "translate": translate.rows,
    "streams": streams.rows,
    "store": store.rows,
    "sessions": sessions.rows,
    "client": client.rows,
    "gateway": gateway.rows,
    "cli": cli.rows,
    "transcripts": transcripts.rows,
    "bulk": bulk.rows,
}
LINE = "{:<40} {:>26} {:>14} {:>8}  {}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher numbers")
    parser.add_argument("--only", choices=sorted(SECTIONS), help="one section")
    chosen = parser.parse_args()
    print(LINE.format("workload", "floor", "ratio", "target", "ok"))
    missed = 0
    for row in _rows(chosen.only, chosen.quick):
        print(_line(row), flush=True)
        missed += not row.ok
    return 1 if missed else 0


def _rows(only: str | None, quick: bool) -> Iterator[Row]:
    for name, rows in SECTIONS.items():
        if only in (None, name):
            yield from rows(quick)


def _line(row: Row) -> str:
    target = "-" if row.target is None else f"{row.target:g}"
    verdict = "-" if row.target is None else "yes" if row.ok else "NO"
    return LINE.format(row.workload, row.floor, f"{row.value:.2f} {row.unit}", target, verdict)


if __name__ == "__main__":
    sys.exit(main())
