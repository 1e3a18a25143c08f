"""Types the samples of pages, and prints what comes of each: python -m tests.docs docs/client.md"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.reader import Reader, told
from tests.docs.samples import Page, pages
from tests.docs.standin import StandIn


def main(names: list[str]) -> bool:
    """Whether all of it is right."""
    wanted = [page for page in pages() if page.typed() and (not names or page.name in names)]
    with StandIn() as providers:
        return all([_read(page, providers) for page in wanted])


def _read(page: Page, providers: StandIn) -> bool:
    with TemporaryDirectory() as folder:
        reader = Reader(Path(folder), providers)
        done = reader.read(page)
        for each in done:
            print(f"=== {'ok' if each.is_right else 'WRONG'}: {page.name}{told(each)}")
        print(reader.notes_beside())
    return all(each.is_right for each in done)


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
