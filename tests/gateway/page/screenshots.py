"""Pictures of each view of the page, into `docs/page/`: `make screenshots`."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import sync_playwright

import interlingua as il
from tests.gateway.page.conftest import Place, launch, standing
from tests.gateway.page.rooms import VIEWS, Room, Scripted, furnished
from tests.gateway.page.test_admin_view import at, staffed
from tests.gateway.stats_speed import rows

FOLDER = Path(__file__).parents[3] / "docs" / "page"
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}
MODELS = (
    "anthropic:claude-sonnet-4-6",
    "openai:gpt-5",
    "gemini:gemini-3.1-pro",
    "openai:gpt-5-mini",
)
BUSY = (80, 65, 72, 60, 48, 18, 12)
"""How many of a hundred requests are made on a Monday, a Tuesday and so on, at least."""
SHOTS: dict[str, tuple[str, str, dict[str, int]]] = {
    "overview": ("overview", "light", WIDE),
    "overview-narrow": ("overview", "dark", NARROW),
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
    "convert-several": ("convert-several", "light", WIDE),
    "playground": ("playground-four", "light", WIDE),
    "requests": ("requests", "light", WIDE),
    "request": ("fallback", "dark", WIDE),
}
"""File: view, colours, size."""


def traffic(home: Path) -> None:
    """Some weeks of requests, for the overview."""
    made = [
        replace(
            row,
            model=MODELS[int(row.duration_ms) % 7 % 4],
            asked=("fast", "smart", "coding")[row.duration_ms % 3],
            tenant=None,
            key_id=None,
            team_id=None,
        )
        for number, row in enumerate(rows(2400))
        if number * 7919 % 100 < BUSY[row.at.weekday()] + row.at.day % 4 * 5
    ]
    with il.open_store(str(home / "gateway.db")) as store:
        store.append_requests(made)


def shoot_empty(browser: Any, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="page-") as home, standing(Path(home)) as (place, _):
        page = browser.new_page(base_url=place.base, viewport=WIDE)
        page.goto("/")
        page.get_by_text("Nothing has passed this gateway yet").wait_for()
        page.screenshot(path=folder / "overview-empty.png", animations="disabled", caret="hide")
        page.close()


def shoot_admin(browser: Any, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="page-") as home:
        token = staffed(Path(home))
        with standing(Path(home)) as (place, _):
            page = browser.new_page(base_url=place.base, viewport=WIDE)
            at(page, token)
            page.get_by_role("region", name="All keys").wait_for()
            page.screenshot(path=folder / "admin.png", animations="disabled", caret="hide")
            page.close()


def shoot(browser: Any, place: Place, room: Room, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, (view, scheme, size) in SHOTS.items():
        context = browser.new_context(
            base_url=place.base, color_scheme=scheme, viewport=size, reduced_motion="reduce"
        )
        page = context.new_page()
        VIEWS[view](page, room)
        page.wait_for_timeout(500)  # what comes as events is drawn, too
        page.screenshot(path=folder / f"{name}.png", animations="disabled", caret="hide")
        context.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory(prefix="page-") as home:
        traffic(Path(home))
        with (
            standing(Path(home), behind=Scripted) as (place, _),
            sync_playwright() as playwright,
            closing(launch(playwright)) as browser,
        ):
            shoot(browser, place, furnished(place), folder)
            shoot_empty(browser, folder)
            shoot_admin(browser, folder)
    for path in sorted(folder.glob("*.png")):
        print(f"{path} {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
