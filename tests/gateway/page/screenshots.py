"""Pictures of the page for the documentation: `python -m tests.gateway.page.screenshots`.

They are made in a real browser, with a gateway on loopback and the scripted provider behind it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.gateway.page.conftest import ARGUMENTS, BROWSERS, Place, standing
from tests.gateway.page.test_browser import start
from tests.gateway.page.test_sessions_view import change_of_model, secretive

FOLDER = Path(__file__).parents[3] / "docs" / "page"
SIZE = {"width": 1000, "height": 700}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    path = next(found for name in BROWSERS if (found := shutil.which(name)))
    with (
        tempfile.TemporaryDirectory() as home,
        standing(Path(home)) as (place, _),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_context(base_url=place.base, viewport=SIZE).new_page()
        page.goto("/")
        for name, view in VIEWS.items():
            view(page, place)
            page.wait_for_timeout(500)
            page.screenshot(path=str(FOLDER / f"{name}.png"))
        browser.close()


def tasks(page: Any, place: Place) -> None:
    start(page, place.home / "garden", "write b.txt")
    page.get_by_role("button", name="Approve").wait_for()


def sessions(page: Any, place: Place) -> None:
    change_of_model(place)
    secretive(place)
    page.goto("/#/sessions")
    page.get_by_role("list", name="Sessions").get_by_role("link").first.wait_for()


def session(page: Any, place: Place) -> None:
    row, _ = change_of_model(place)
    page.goto(f"/#/sessions/{row.id}")
    page.get_by_role("img", name="were read from the cache").wait_for()


def view_as(page: Any, place: Place) -> None:
    page.get_by_role("combobox", name="View as").select_option("openai-chat")
    page.locator("mark").first.wait_for()
    page.get_by_role("combobox", name="View as").scroll_into_view_if_needed()
    page.get_by_role("region", name="Converted").scroll_into_view_if_needed()


def export(page: Any, place: Place) -> None:
    row = secretive(place)
    page.goto(f"/#/sessions/{row.id}")
    page.get_by_text("Export", exact=True).click()
    page.get_by_role("button", name="Show what is taken out").click()
    page.get_by_role("list", name="Taken out").get_by_role("listitem").first.wait_for()


def convert(page: Any, place: Place) -> None:
    page.goto("/#/convert")
    page.get_by_role("button", name="Example").click()
    page.get_by_role("list", name="Losses").get_by_role("listitem").first.wait_for()


def requests(page: Any, place: Place) -> None:
    page.goto("/#/requests")
    page.get_by_role("heading", level=1).wait_for()


VIEWS = {
    "tasks": tasks,
    "sessions": sessions,
    "session": session,
    "view-as": view_as,
    "export": export,
    "convert": convert,
    "requests": requests,
}

if __name__ == "__main__":
    main()
