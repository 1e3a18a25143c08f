"""The roles and names in docs/page.md are those of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.page.conftest import PATIENCE, Place, standing
from tests.gateway.page.rooms import VIEWS, Room, Scripted, furnished
from tests.gateway.page.test_admin_view import at, staffed

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
PAGE = Path(__file__).parents[3] / "docs" / "page.md"
WAYS = {
    "every view": "sessions",
    "Overview": "overview",
    "Task": "task",
    "Sessions": "sessions",
    "Session": "session-unfolded",
    "Convert": "convert",
    "Playground": "playground",
    "Requests": "requests",
    "Request": "fallback",
}
"""How to get to a view of the table, by the name of it in `rooms`."""
ELSEWHERE = ("First request", "New task", "Administration")


def listed() -> dict[str, list[tuple[str, str]]]:
    """By view: roles and names."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("## Drive it with a program")
    rows = re.findall(r"^\| ([A-Za-z ]+) \| (.*\") \|$", rest, re.M)
    return {view: re.findall(r'(\w+) "([^"]+)"', text) for view, text in rows}


def has_all(page: Any, view: str) -> None:
    page.locator("main details").evaluate_all("all => all.forEach((e) => (e.open = true))")
    for role, name in listed()[view]:
        page.get_by_role(role, name=name).first.wait_for(state="attached", timeout=PATIENCE)


def test_every_view_is_in_the_table() -> None:
    assert sorted(listed()) == sorted([*WAYS, *ELSEWHERE])
    assert sum(map(len, listed().values())) > 100


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Room]]:
    with standing(tmp_path_factory.mktemp("names"), behind=Scripted) as (place, _):
        yield place, furnished(place)


def test_a_view_has_the_names_that_the_docs_say(browser: Any, room: tuple[Place, Room]) -> None:
    place, there = room
    context = browser.new_context(base_url=place.base, viewport={"width": 1280, "height": 800})
    page = context.new_page()
    for view, way in WAYS.items():
        VIEWS[way](page, there)
        has_all(page, view)
    page.goto("/tasks")
    page.get_by_role("heading", name="New task").wait_for()
    has_all(page, "New task")
    context.close()


def test_a_new_gateway_and_its_administration_have_theirs(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "keyed").mkdir()
    with standing(tmp_path) as (place, _):
        page = browser.new_page(base_url=place.base)
        page.goto("/")
        page.get_by_text("Nothing has passed this gateway yet").wait_for()
        has_all(page, "First request")
        page.close()
    token = staffed(tmp_path / "keyed")
    with standing(tmp_path / "keyed") as (place, _):
        context = browser.new_context(base_url=place.base)
        page = context.new_page()
        at(page, token)
        page.get_by_role("region", name="All keys").wait_for()
        has_all(page, "Administration")
        context.close()
