"""The playground, in a real browser: one prompt on several models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.page.conftest import Place, standing, watched
from tests.gateway.page.rooms import VIEWS, Scripted
from tests.gateway.page.test_accessible import fits
from tests.gateway.page.test_browser import articles, start

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
from playwright.sync_api import expect


def opened(page: Any) -> Any:
    page.get_by_role("navigation").get_by_role("link", name="Playground").click()
    expect(page.get_by_role("heading", name="Playground")).to_be_visible()
    return page.locator(".answers > section")


def test_a_prompt_runs_on_several_models_side_by_side(page: Any) -> None:
    answers = opened(page)
    providers = answers.get_by_role("heading", level=2)
    expect(providers).to_have_text(["anthropic", "openai"])  # and not two old ones of the first
    page.get_by_label("Prompt", exact=True).fill("compare")
    page.get_by_role("button", name="Add a model").click()
    count = answers.count()
    assert count >= 2
    assert "models=" in page.url
    page.get_by_role("button", name="Run").click()
    for number in range(count):
        answer = answers.nth(number)
        expect(answer.locator(".answer")).to_contain_text("compare")
        expect(answer.locator("dl")).to_contain_text("In all")
        expect(answer.locator("dl")).to_contain_text("out")
    page.reload()
    expect(page.get_by_label("Prompt", exact=True)).to_have_value("compare")
    expect(answers).to_have_count(count)
    answers.first.get_by_role("button", name="Remove this model").click()
    expect(answers).to_have_count(count - 1)


@pytest.mark.parametrize(("width", "columns"), [(1280, 4), (820, 2), (390, 1)])
def test_four_models_stand_side_by_side_with_their_answers_as_markdown(
    browser: Any, tmp_path: Path, width: int, columns: int
) -> None:
    with standing(tmp_path, behind=Scripted) as (place, _), watched(browser, place) as page:
        page.set_viewport_size({"width": width, "height": 900})
        VIEWS["playground-four"](page, None)
        lefts = page.locator(".answers > section").evaluate_all(
            "all => all.map((each) => Math.round(each.getBoundingClientRect().left))"
        )
        assert len(set(lefts)) == columns
        assert page.locator(".answer table").count() >= 1
        assert page.locator(".answer .prose li strong code").count() >= 1
        assert page.locator(".answer pre .hl-string, .answer pre code").count() >= 1
        fits(page, width)
        chosen = page.get_by_role("combobox", name="Model").first
        chosen.select_option(index=8)
        name = chosen.input_value()
        expect(page.get_by_role("region", name=f"Answer of {name}")).to_contain_text("appears here")


def test_a_failure_is_shown_beside_the_others(page: Any) -> None:
    answers = opened(page)
    page.get_by_label("Prompt", exact=True).fill("fail")
    page.get_by_role("button", name="Run").click()
    expect(answers.first.get_by_role("alert")).not_to_be_empty()
    expect(answers.first.locator("dt")).to_have_text(["In all"])


def test_the_last_turn_of_a_session_is_tried_on_other_models(page: Any, place: Place) -> None:
    start(page, place.home / "tried", "read a.txt")
    expect(articles(page, "assistant").last).to_contain_text("Answer")
    page.get_by_role("navigation").get_by_role("link", name="Sessions").click()
    page.get_by_label("Search").fill("tried")
    page.get_by_role("list", name="Sessions").get_by_role("link").click()
    page.get_by_role("link", name="Try on other models").click()
    expect(page.get_by_text("The prompt follows 1 message of")).to_be_visible()
    page.wait_for_timeout(500)  # longer than a search waits for the next letter
    assert "q=" not in page.url, "what was typed in the last view"
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".answers > section").first.locator("dl")).to_contain_text("Tokens")
