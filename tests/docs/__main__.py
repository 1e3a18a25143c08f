"""Types the samples of pages, and prints what went wrong: python -m tests.docs docs/client.md

With --accept, what consoles show on these pages is written anew where it is something else."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.reader import Done, Reader, told
from tests.docs.samples import Page, pages
from tests.docs.standin import StandIn


def main(names: list[str], accept: bool) -> bool:
    """Whether all of it is right."""
    wanted = [page for page in pages() if page.typed() and (not names or page.name in names)]
    with StandIn() as providers:
        found = [_read(page, providers, accept) for page in wanted]
    return all(found)


def _read(page: Page, providers: StandIn, accept: bool) -> bool:
    with TemporaryDirectory() as folder:
        reader = Reader(Path(folder), providers)
        done = reader.read(page)
        for each in done:
            print(
                f"{page.name}{told(each)}"
                if not each.is_right
                else f"ok {page.name}:{each.typed.line}"
            )
        print(reader.notes_beside(), end="")
    if accept:
        _write(page, done)
    return all(each.is_right for each in done)


def _write(page: Page, done: list[Done]) -> None:
    text = page.text
    for each in done:
        typed = each.typed
        if typed.language == "console" and typed.shown is not None and not each.is_right:
            shown = f"$ {typed.text}{typed.shown}"
            text = text.replace(shown, f"$ {typed.text}{each.output.rstrip()}\n", 1)
    page.path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    words = sys.argv[1:]
    names = [word for word in words if word != "--accept"]
    sys.exit(0 if main(names, "--accept" in words) else 1)
