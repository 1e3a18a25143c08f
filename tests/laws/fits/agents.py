"""What coding agents send, said to today's models: `python -m tests.laws.fits.agents FOLDER`.

The folder has what `tests.laws.fits.capture` wrote down. Every request is said to each of the
models, those of its own dialect too, and judged by the checker: none may be refused.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.laws.fits.run import Asked, examine, told


def captured(folder: Path) -> Iterator[Asked]:
    for file in sorted(folder.glob("*.json")):
        read = json.loads(file.read_text(encoding="utf-8"))
        yield Asked(file.stem, read["dialect"], read["model"], read["body"])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", type=int, default=3)
    options = parser.parse_args(argv)
    requests = list(captured(options.folder))
    print(f"{len(requests)} requests in {options.folder}")
    return 1 if told(examine(requests, at_home=True), options.show) else 0


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)  # each loss is a line; a test that calls `main` keeps its log
    sys.exit(main())
