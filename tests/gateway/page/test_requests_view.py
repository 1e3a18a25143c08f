"""What passes the gateway, in a real browser."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.model.ids import Ulids
from interlingua.store.requests import RequestRow
from tests.gateway.page.conftest import Place, standing, watched
from tests.gateway.page.rooms import VIEWS, Scripted, furnished
from tests.gateway.serving import ANTHROPIC, asked, key

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
from playwright.sync_api import expect

IDS = Ulids()


def send(place: Place, words: str, token: str = "", **more: Any) -> str:
    """The id of a request."""
    body = json.dumps(asked(words, max_tokens=50, **more)).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{place.base}/v1/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return str(reply.headers["x-request-id"])
    except urllib.error.HTTPError as odd:
        return str(odd.headers["x-request-id"])


def rows(page: Any) -> Any:
    return page.get_by_role("table", name="Requests").locator("tbody").get_by_role("row")


def opened(page: Any) -> None:
    page.get_by_role("navigation").get_by_role("link", name="Requests").click()
    expect(page.get_by_text("Live: new requests appear on top.")).to_be_visible()


def test_requests_appear_as_they_end_with_tokens_cost_losses_and_errors(
    page: Any, place: Place
) -> None:
    opened(page)
    there = rows(page).count()
    send(place, "hello", seed=7)
    expect(rows(page)).to_have_count(there + 1)
    first = rows(page).first
    expect(first).to_contain_text(ANTHROPIC)
    cells = first.get_by_role("cell").all_inner_texts()
    assert [*cells[1:3], *cells[4:6], *cells[8:]] == ["200", ANTHROPIC, "100", "20", "$0.0006", "1"]
    send(place, "fail")
    expect(rows(page).first).to_contain_text("invalid_request")
    expect(rows(page).first.get_by_role("cell", name="400")).to_be_visible()
    page.reload()
    expect(rows(page)).to_have_count(there + 2)


def test_one_request_has_its_losses_at_their_place_and_its_trace(page: Any, place: Place) -> None:
    opened(page)
    there = rows(page).count()
    id = send(place, "hello", seed=7, frequency_penalty=0.5)
    expect(rows(page)).to_have_count(there + 1)
    rows(page).first.get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(ANTHROPIC)
    expect(page.get_by_text(id, exact=True)).to_be_visible()
    losses = page.get_by_role("list", name="Losses")
    for name in ("seed", "frequency_penalty"):  # at their places in the body that was sent
        branch = losses.locator(":scope > li").filter(has=page.get_by_text(name, exact=True))
        lost = branch.locator(f"[data-path='$.options.{name}']")
        expect(lost).to_have_text(f"warning: {name} dropped: Anthropic has no equivalent")
    expect(page.get_by_role("list", name="Attempts")).to_contain_text(f"ok {ANTHROPIC}")
    expect(page.get_by_role("list", name="Waterfall")).to_contain_text("ms")
    page.get_by_text("llm.call_completed").click()
    expect(page.get_by_text('"stop_reason": "end_turn"')).to_be_visible()
    page.get_by_role("link", name="All requests").click()
    expect(rows(page)).to_have_count(there + 1)


def test_requests_are_chosen_and_older_ones_loaded(page: Any, place: Place) -> None:
    for number in range(3):
        send(place, f"hi {number}")
    send(place, "fail")
    opened(page)
    page.get_by_label("Status").select_option("failed")
    expect(rows(page).first).to_contain_text("400")
    expect(rows(page).filter(has_text="$0.0006")).to_have_count(0)
    page.get_by_label("Status").select_option("ok")
    expect(rows(page).filter(has_text="400")).to_have_count(0)
    there = rows(page).count()
    send(place, "fail")
    send(place, "hi again")
    expect(rows(page)).to_have_count(there + 1)
    page.get_by_label("Model").focus()
    passed = page.locator("#asked option")
    expect(passed.first).to_be_attached()
    assert ANTHROPIC in passed.evaluate_all("all => all.map((each) => each.value)")
    page.get_by_label("Model").fill("openai:gpt-4.1")
    page.get_by_label("Model").press("Enter")
    expect(page.get_by_text("No request matches these filters")).to_be_visible()
    assert page.url.endswith("/requests?model=openai%3Agpt-4.1&status=ok")
    page.reload()
    expect(page.get_by_label("Model")).to_have_value("openai:gpt-4.1")
    page.get_by_role("button", name="Clear the filters").click()
    expect(rows(page).filter(has_text="400").first).to_be_visible()
    every = rows(page).count()
    page.get_by_label("Time range").select_option("Last hour")
    expect(page).to_have_url(f"{place.base}/requests?hours=1")
    expect(rows(page)).to_have_count(every)
    with page.expect_download() as wanted:
        page.get_by_role("button", name="CSV").click()
    assert wanted.value.suggested_filename == "requests.csv"


def test_a_page_holds_so_many_and_loads_older_ones(browser: Any, tmp_path: Path) -> None:
    begun = datetime.now(UTC) - timedelta(days=1)
    made = [
        RequestRow(f"req_{IDS.new()}", begun + timedelta(seconds=n), "anthropic", 200, n)
        for n in range(130)
    ]
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        store.append_requests(made)
    with standing(tmp_path) as (place, _):
        context = browser.new_context(base_url=place.base)
        page = context.new_page()
        page.goto("/#/requests")
        expect(rows(page)).to_have_count(100)
        page.get_by_role("button", name="Older requests").click()
        expect(rows(page)).to_have_count(130)
        expect(page.get_by_role("button", name="Older requests")).to_be_hidden()
        more = [
            RequestRow(f"req_{IDS.new()}", datetime.now(UTC), "gemini", 200, n) for n in range(450)
        ]
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            store.append_requests(more)
        expect(rows(page)).to_have_count(500)
        expect(page.get_by_role("button", name="Older requests")).to_be_visible()
        context.close()


def test_a_request_shows_its_attempts_its_cache_and_its_content(
    browser: Any, tmp_path: Path
) -> None:
    with standing(tmp_path, behind=Scripted) as (here, _), watched(browser, here) as page:
        VIEWS["fallback"](page, furnished(here))
        phases = (
            page.get_by_role("list", name="Waterfall").get_by_role("listitem").all_inner_texts()
        )
        assert [" ".join(each.split()) for each in phases] == [
            "anthropic:claude-sonnet-4-6: server_error 620 ms",
            "Pause before the next attempt 500 ms",
            "Until the first byte of openai:gpt-5 720 ms",
            "Streaming 1.3 s",
        ]
        assert "failed after 620 ms" in page.get_by_role("list", name="Attempts").inner_text()
        cache = page.get_by_role("region", name="Cache").inner_text()
        assert "Reason: tools changed" in cache
        assert "messages[4]" in cache
        assert "$0.0043 more" in cache
        talk = page.get_by_role("log", name="Logged conversation").get_by_role("article")
        assert [each.get_attribute("aria-label") for each in talk.all()] == [
            *("system", "user", "assistant"),
        ]
        assert talk.last.locator("li").all_inner_texts()[-1] == "Da Felice"


def test_what_a_client_says_is_text(page: Any, place: Place) -> None:
    name = "<img src=x onerror=alert(1)>"
    send(place, "hi", model=name)
    opened(page)
    expect(rows(page).first).to_contain_text(name)
    rows(page).first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_what_matters(browser: Any, place: Place, scheme: str) -> None:
    send(place, "hello", seed=7)
    size = {"width": 360, "height": 700}
    context = browser.new_context(base_url=place.base, viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto("/#/requests")
    expect(rows(page).first).to_contain_text("$0.0006")
    expect(rows(page).first.get_by_role("cell")).to_have_count(4)
    expect(rows(page).first.get_by_text("1 loss")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    rows(page).first.get_by_role("link").click()
    expect(page.get_by_role("list", name="Losses")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


def test_keys_and_caps_can_be_looked_at_by_who_may(browser: Any, tmp_path: Path) -> None:
    watcher = key(tmp_path, "watcher", read_requests=True).token
    robot = key(tmp_path, "robot", daily_cap_usd=Decimal(5), requests_per_minute=60).token
    with standing(tmp_path) as (place, _):
        send(place, "hello", robot)
        for token, names in ((watcher, ["watcher", "robot"]), (robot, ["robot"])):
            context = browser.new_context(base_url=place.base)
            page = context.new_page()
            page.goto("/#/requests")
            page.get_by_label("Key").fill(token)
            page.get_by_role("button", name="Use this key").click()
            expect(rows(page).first).to_contain_text("robot")
            page.get_by_text("Keys and caps", exact=True).click()
            keys = page.get_by_role("table", name="Keys")
            expect(keys.get_by_role("rowheader")).to_have_text(names)
            expect(keys.get_by_role("row").last).to_contain_text("$0.0006 of $5")
            expect(keys.get_by_role("meter")).to_have_count(1)
            expect(keys.get_by_role("row").last).to_contain_text("60 requests a minute")
            context.close()


def test_a_cost_that_lacks_a_price_is_marked(page: Any, place: Place) -> None:
    def without_prices(route: Any) -> None:
        result = route.fetch().json()
        for row in result["models"]:
            row.update(cost_usd="0", unpriced=row["requests"])
        result["week"].update(cost_usd="0.02", unpriced=1)
        route.fulfill(json=result)

    def without_a_part(route: Any) -> None:
        result = route.fetch().json()
        result["usage"].update(cost_usd="0.02", unpriced=["code_execution"])
        route.fulfill(json=result)

    id = send(place, "hello")
    page.route(re.compile(r"/stats\?"), without_prices)
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    spend = page.get_by_role("row", name=ANTHROPIC).first.get_by_role("cell").last
    expect(spend).to_have_text("?")
    expect(page.get_by_role("main")).to_contain_text("$0.02 + ?")
    page.route(f"**/requests/{id}", without_a_part)
    opened(page)
    rows(page).first.get_by_role("link").first.click()
    card = page.get_by_role("region", name="Tokens and cost")
    expect(card).to_contain_text("$0.02 + ?")
    expect(card).to_contain_text("Without code_execution, whose price is not known.")
