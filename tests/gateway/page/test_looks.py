"""Views with nothing and with much to show, by the keyboard alone, and soon there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from tests.gateway.page.conftest import NEEDED, Place, standing
from tests.gateway.page.install import AXE
from tests.gateway.page.rooms import VIEWS, Room, Scripted, furnished
from tests.gateway.page.test_accessible import ALL, WAYS, fits, serious, unreached
from tests.gateway.stats_speed import rows

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")

PLACES = ("/", "/tasks", "/sessions", "/requests", "/convert", "/playground", "/nothing")
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
SOON = 1000 if NEEDED in os.environ else 10_000
"""Milliseconds to the first paint; in the gate other tests run beside it."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Room]]:
    with standing(tmp_path_factory.mktemp("looks"), behind=Scripted) as (place, _):
        yield place, furnished(place)


def context_of(browser: Any, place: Place, width: int, scheme: str) -> Any:
    size = {"width": width, "height": 900}
    return browser.new_context(base_url=place.base, color_scheme=scheme, viewport=size)


@pytest.mark.parametrize(("width", "scheme"), WAYS if ALL else WAYS[-1:])
def test_nothing_to_show_is_a_view_too(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    with standing(tmp_path) as (place, _):
        context = context_of(browser, place, width, scheme)
        page = context.new_page()
        for path in PLACES:
            page.goto(path)
            page.locator("main h1, main h2").first.wait_for()
            page.wait_for_function(f"{PAINT} !== undefined")
            assert page.evaluate(PAINT) <= SOON, path
            fits(page, width)
            assert not ALL or unreached(page) == [], path
            if AXE.exists():
                assert serious(page) == [], path
        context.close()


def test_much_to_show_is_cut_to_what_is_read(browser: Any, tmp_path: Path) -> None:
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        store.append_requests(list(rows(3000)))
        for number in range(150):
            store.create_session(f"/work/{number}", name=f"A session {number} " + "x" * 200)
    with standing(tmp_path) as (place, _):
        for width in (1280, 390):
            context = context_of(browser, place, width, "light")
            page = context.new_page()
            for path, drawn in (("/", "table"), ("/requests", "tbody tr"), ("/sessions", "li")):
                page.goto(path)
                page.locator(f"main {drawn}").first.wait_for()
                assert page.evaluate(PAINT) <= SOON, path
                fits(page, width)
                assert page.locator("main *").count() < 6000, path
            context.close()


@pytest.mark.parametrize("name", list(VIEWS) if ALL else ["overview", "task"])
def test_the_keyboard_reaches_everything(browser: Any, room: tuple[Place, Room], name: str) -> None:
    place, there = room
    context = context_of(browser, place, 1280, "light")
    page = context.new_page()
    VIEWS[name](page, there)
    assert unreached(page) == []
    context.close()
