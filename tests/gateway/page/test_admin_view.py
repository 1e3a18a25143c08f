"""Administration on the page: keys, users, teams, budgets and the audit log, by an admin key."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway.keys.key_admin import Terms, add_budget, add_team, add_user, issue, revoke
from tests.gateway.page.conftest import Place, standing, watched
from tests.gateway.page.install import AXE
from tests.gateway.page.test_accessible import ALL, WAYS, fits, serious, unreached
from tests.gateway.serving import key

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
PARTS = ("", "?show=users", "?show=teams", "?show=budgets", "?show=audit")


def staffed(home: Path) -> str:
    """Keys, users, teams and budgets in the store of a gateway; the token of who administers."""
    with il.open_store(str(home / "gateway.db")) as store:
        ada = add_user(store, "ada@example.org", "Ada", Decimal(20))
        team = add_team(store, "Research", None, Decimal(500))
        add_team(store, "Support", Decimal(50), Decimal(900))
        caps = Terms(daily_cap_usd=Decimal(5), monthly_cap_usd=Decimal(100), concurrent=4)
        issue(store, "ci", str(home), caps, team_id=team.id)
        issue(store, "laptop", str(home), Terms(requests_per_minute=60), user_id=ada.id)
        old = issue(store, "old laptop", str(home), user_id=ada.id)
        revoke(store, old.key.id)
        add_budget(store, "model", "openai:gpt-5", None, Decimal(30))
    return key(home, "boss", admin=True).token


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, str]]:
    home = tmp_path_factory.mktemp("office")
    token = staffed(home)
    with standing(home) as (place, _):
        yield place, token


def at(page: Any, token: str, path: str = "/admin") -> None:
    """With this key, at an address."""
    page.add_init_script(f"sessionStorage.setItem('interlingua-key', {token!r})")
    page.goto(path)
    page.locator("main h1").wait_for()


@pytest.mark.parametrize(("width", "scheme"), WAYS if ALL else WAYS[-1:])
def test_every_part_fits_and_has_no_serious_findings(
    browser: Any, office: tuple[Place, str], width: int, scheme: str
) -> None:
    place, token = office
    size = {"width": width, "height": 800}
    context = browser.new_context(base_url=place.base, color_scheme=scheme, viewport=size)
    page = context.new_page()
    for part in PARTS:
        at(page, token, f"/admin{part}")
        page.get_by_role("navigation", name="Administration").wait_for()
        fits(page, width)
        assert not AXE.exists() or serious(page) == [], part
    at(page, token)
    page.get_by_role("button", name="Issue a key").click()
    fits(page, width)
    assert not AXE.exists() or serious(page) == []
    context.close()


def test_a_key_is_issued_changed_rotated_and_revoked(
    browser: Any, office: tuple[Place, str]
) -> None:
    place, token = office
    with watched(browser, place) as page:
        at(page, token)
        page.get_by_role("link", name="Administration").first.wait_for()
        page.keyboard.press("Tab")
        page.get_by_role("button", name="Issue a key").focus()
        page.keyboard.press("Enter")
        page.keyboard.type("from the page")
        page.get_by_role("combobox", name="Team").select_option("Research")
        page.get_by_label("Per day").fill("7.5")
        page.get_by_label("Models and routes, one a line").fill("claude-sonnet-4-6")
        page.keyboard.press("Control+End")
        page.get_by_role("button", name="Issue the key").click()
        result = page.get_by_role("region", name="the token").inner_text()
        assert result.startswith("gw_")
        page.keyboard.press("Enter")
        page.locator("dialog").wait_for(state="detached")
        assert result not in page.content()
        line = page.get_by_role("row").filter(has_text="from the page")
        assert "of $7.50 a day" in line.inner_text()
        assert "only anthropic:claude-sonnet-4-6" in line.inner_text()

        page.get_by_role("button", name="Change from the page").click()
        page.get_by_label("Requests at a time").fill("3")
        page.get_by_label("Per day").fill("")
        page.get_by_role("button", name="Save").click()
        line.filter(has_text="3 at a time").wait_for()
        assert "a day" not in line.inner_text()

        page.get_by_role("button", name="Rotate from the page").click()
        page.get_by_label("The old token stays valid for").select_option("not at all")
        page.get_by_role("button", name="Rotate", exact=True).click()
        assert page.get_by_role("region", name="the token").inner_text() != result
        page.get_by_role("button", name="Done").click()

        page.get_by_role("button", name="Revoke from the page").click()
        page.keyboard.press("Escape")
        assert line.is_visible()
        page.get_by_role("button", name="Revoke from the page").click()
        page.keyboard.press("Enter")  # the focus is on Cancel
        assert line.is_visible()
        page.get_by_role("button", name="Revoke from the page").click()
        page.get_by_role("button", name="Revoke", exact=True).click()
        line.wait_for(state="detached")
        page.get_by_label("that ended").check()
        assert line.count() == 2

        page.get_by_role("link", name="Audit log").click()
        log = page.get_by_role("list", name="Changes")
        assert "boss revoked the key from the page" in log.inner_text()
        page.go_back()
        page.get_by_role("region", name="All keys").wait_for()


def test_users_teams_and_budgets_are_added_and_ended(
    browser: Any, office: tuple[Place, str]
) -> None:
    place, token = office
    with watched(browser, place) as page:
        at(page, token, "/admin?show=users")
        page.get_by_role("button", name="Add a user").click()
        page.get_by_label("Name").fill("Grace")
        page.get_by_label("E-mail").fill("ada@example.org")
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("alert").filter(has_text="ada@example.org").or_(
            page.locator("dialog [role=alert]:not(:empty)")
        ).first.wait_for()
        page.get_by_label("E-mail").fill("grace@example.org")
        page.get_by_role("button", name="Add", exact=True).click()
        grace = page.get_by_role("row").filter(has_text="Grace")
        grace.wait_for()
        page.get_by_role("button", name="Disable Grace").click()
        page.get_by_role("button", name="Disable", exact=True).click()
        grace.filter(has_text="disabled").wait_for()
        page.get_by_role("button", name="Enable Grace").click()
        grace.filter(has_text="active").wait_for()
        page.get_by_role("link", name="Budgets").click()
        page.get_by_role("button", name="Add a budget").click()
        page.get_by_label("Of which value").fill("project=rome")
        page.get_by_role("combobox", name="Kind").select_option("tag")
        page.get_by_label("Per week").fill("3")
        page.get_by_role("button", name="Add", exact=True).click()
        page.get_by_role("row").filter(has_text="project=rome").wait_for()
        page.get_by_role("button", name="Remove the budget of project=rome").click()
        page.get_by_role("button", name="Remove", exact=True).click()
        page.get_by_role("row").filter(has_text="project=rome").wait_for(state="detached")


def test_other_keys_see_nothing_of_it(browser: Any, office: tuple[Place, str]) -> None:
    place, token = office
    plain = key(place.home, "plain").token
    with watched(browser, place) as page:
        at(page, plain)
        page.get_by_text("This key cannot administer the gateway").wait_for()
        assert not page.get_by_role("link", name="Administration").is_visible()
        page.get_by_role("button", name="Use another key").click()
        page.get_by_label("Key").fill(token)
        page.get_by_role("button", name="Use this key").click()
        page.get_by_role("region", name="All keys").wait_for()


def test_the_keyboard_reaches_everything(browser: Any, office: tuple[Place, str]) -> None:
    place, token = office
    with watched(browser, place) as page:
        for part in PARTS if ALL else PARTS[:1]:
            at(page, token, f"/admin{part}")
            page.get_by_role("navigation", name="Administration").wait_for()
            assert unreached(page) == [], part
