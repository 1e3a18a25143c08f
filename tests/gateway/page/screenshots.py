"""Pictures of each view of the page, into `docs/page/`: `make screenshots`."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.gateway.page.conftest import Place, launch, standing
from tests.gateway.page.rooms import VIEWS, Room, Scripted, furnished

FOLDER = Path(__file__).parents[3] / "docs" / "page"
WIDE = {"width": 1100, "height": 760}
NARROW = {"width": 360, "height": 700}
SHOTS: dict[str, tuple[str, str, dict[str, int]]] = {
    "task": ("task", "light", WIDE),
    "task-dark": ("task", "dark", WIDE),
    "task-narrow": ("task", "light", NARROW),
    "sessions": ("sessions", "light", WIDE),
    "session": ("session", "light", WIDE),
    "session-narrow": ("session", "dark", NARROW),
    "view-as": ("view-as", "light", WIDE),
    "export": ("export", "light", WIDE),
    "convert": ("convert", "light", WIDE),
    "convert-narrow": ("convert", "dark", NARROW),
    "playground": ("playground", "light", WIDE),
    "requests": ("requests", "light", WIDE),
    "request": ("request", "dark", WIDE),
}
"""File: view, colours, size."""


def shoot(browser: Any, place: Place, room: Room, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, (view, scheme, size) in SHOTS.items():
        context = browser.new_context(
            base_url=place.base, color_scheme=scheme, viewport=size, reduced_motion="reduce"
        )
        page = context.new_page()
        VIEWS[view](page, room)
        page.screenshot(path=folder / f"{name}.png", animations="disabled", caret="hide")
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    with (
        tempfile.TemporaryDirectory(prefix="page-") as home,
        standing(Path(home), behind=Scripted) as (place, _),
        sync_playwright() as playwright,
        closing(launch(playwright)) as browser,
    ):
        shoot(browser, place, furnished(place), folder)
    for path in sorted(folder.glob("*.png")):
        print(f"{path} {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
