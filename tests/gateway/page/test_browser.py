"""The page in a real browser, found by the names that a screen reader says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.page.conftest import Place, standing, watched
from tests.gateway.serving import ANTHROPIC

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
from playwright.sync_api import expect


def start(page: Any, folder: Path, words: str, model: str | None = None) -> None:
    folder.mkdir(exist_ok=True)
    page.get_by_role("link", name="New task").click()
    page.get_by_label("Folder").fill(str(folder))
    if model is not None:
        page.get_by_label("Model").fill(model)
    page.get_by_role("textbox", name="Message").fill(words)
    page.get_by_role("button", name="Send").click()


def articles(page: Any, role: str) -> Any:
    return page.get_by_role("log", name="Conversation").get_by_role("article", name=role)


def test_a_task_is_started_and_answers(page: Any, place: Place) -> None:
    start(page, place.home / "first", "hello there")
    expect(articles(page, "user")).to_have_count(1)
    expect(articles(page, "assistant")).to_contain_text("to: hello there")
    expect(page.get_by_role("region", name="Conversation")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    page.get_by_role("textbox", name="Message").fill("and again")
    page.keyboard.press("Enter")
    expect(articles(page, "assistant")).to_have_count(2)
    expect(articles(page, "assistant").last).to_contain_text("to: and again")
    page.reload()
    expect(articles(page, "user")).to_have_count(2)
    expect(articles(page, "assistant")).to_have_count(2)


def test_a_thought_has_a_line_and_each_message_a_link_into_the_transcript(
    page: Any, place: Place
) -> None:
    start(page, place.home / "thinks", "think about it")
    thought = articles(page, "assistant").locator("details > summary")
    expect(thought).to_have_text("Thinking: Hm, let me think.")
    page.reload()
    expect(thought).to_have_text("Thinking: Hm, let me think.")
    articles(page, "user").get_by_label("Link to this message").click()
    expect(articles(page, "user")).to_be_focused()
    assert "/sessions/" in page.url


def test_a_tool_that_writes_runs_when_it_is_approved(page: Any, place: Place) -> None:
    start(page, place.home / "asks", "write b.txt")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    expect(articles(page, "tool")).to_contain_text("write_file: done")
    expect(articles(page, "tool")).to_have_count(1)
    articles(page, "tool").locator("summary").first.click()
    expect(articles(page, "tool").get_by_text("written", exact=True)).to_be_visible()
    expect(articles(page, "tool").locator("ins")).to_have_count(0)  # its earlier text is unknown
    expect(articles(page, "assistant").last).to_contain_text("Answer")
    assert (place.home / "asks" / "b.txt").read_text() == "written\n"


def test_a_tool_that_is_denied_does_not_run(page: Any, place: Place) -> None:
    start(page, place.home / "denies", "write b.txt")
    page.get_by_role("button", name="Deny").click()
    expect(articles(page, "tool")).to_contain_text("write_file: failed")
    assert not (place.home / "denies" / "b.txt").exists()


def test_a_message_is_sent_again_edited_and_branched_from(page: Any, place: Place) -> None:
    start(page, place.home / "again", "first words")
    expect(articles(page, "assistant")).to_contain_text("to: first words")
    page.get_by_role("textbox", name="Message").fill("second words")
    page.keyboard.press("Enter")
    expect(articles(page, "assistant")).to_have_count(2)
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    first = page.url
    articles(page, "user").last.get_by_role("button", name="Edit and ask again").click()
    page.get_by_label("Edited message").fill("other words")
    page.get_by_role("button", name="Ask this instead").click()
    expect(articles(page, "assistant").last).to_contain_text("to: other words")
    expect(articles(page, "user")).to_have_text([re.compile("first words"), re.compile("other")])
    assert page.url != first
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    articles(page, "user").first.get_by_role("button", name="Retry from here").click()
    expect(articles(page, "assistant")).to_have_count(1)
    expect(articles(page, "assistant")).to_contain_text("to: first words")
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    articles(page, "user").get_by_role("button", name="Edit and ask again").click()
    page.get_by_label("Edited message").fill("quite other words\nand more")
    page.get_by_role("button", name="Ask this instead").click()
    expect(page.get_by_role("heading", name="quite other words", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    articles(page, "assistant").get_by_role("button", name="Branch from here").click()
    expect(page.get_by_text("starts a branch after the chosen answer")).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("third words")
    page.keyboard.press("Enter")
    expect(articles(page, "assistant").last).to_contain_text("to: third words")
    expect(articles(page, "user")).to_have_count(2)
    page.goto(first)
    expect(page.get_by_text("The task has ended")).to_be_visible()
    expect(articles(page, "user")).to_have_count(2)
    expect(page.get_by_role("button", name="Retry from here")).to_have_count(0)
    page.get_by_text("The task has ended").get_by_role("link", name="transcript").click()
    expect(page.get_by_role("link", name="All sessions")).to_be_visible()


def test_back_forward_and_reload_keep_the_place_and_what_is_typed(page: Any, place: Place) -> None:
    start(page, place.home / "history", "hello history")
    expect(articles(page, "assistant")).to_contain_text("to: hello history")
    page.get_by_role("textbox", name="Message").fill("half a thought")
    page.get_by_role("navigation").get_by_role("link", name="Sessions").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("half a thought")
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("half a thought")
    page.go_forward()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    page.goto("/tasks/01AAAAAAAAAAAAAAAAAAAAAAAA")
    expect(page.get_by_text("There is no such task")).to_be_visible()
    page.goto("/nothing")
    expect(page.get_by_text("There is nothing at this address")).to_be_visible()
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_text_comes_as_it_is_said_and_what_waits_can_be_taken_back(page: Any, place: Place) -> None:
    start(page, place.home / "slow", "slow")
    expect(articles(page, "assistant")).to_contain_text("w3 w4")
    assert "w399" not in articles(page, "assistant").inner_text(), "it is not whole yet"
    box = page.get_by_role("textbox", name="Message")
    for words in ("second", "third"):
        box.fill(words)
        page.get_by_role("button", name="Send").click()
        expect(box).to_have_value("")
    queue = page.get_by_role("list", name="Queue").get_by_role("listitem")
    expect(queue).to_have_count(2)
    queue.first.get_by_role("button", name="Take back").click()
    expect(queue).to_have_count(1)
    expect(queue).to_contain_text("third")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_disabled()
    expect(page.get_by_role("list", name="Queue")).to_be_hidden()


def test_the_list_of_tasks_is_live(page: Any, browser: Any, place: Place) -> None:
    folder = place.home / "elsewhere"
    other = browser.new_context(base_url=place.base).new_page()
    other.goto("/")
    start(other, folder, "hi from elsewhere")
    page.goto("/tasks")
    tasks = page.get_by_role("list", name="Task list")
    expect(tasks.get_by_role("link", name="hi from elsewhere")).to_contain_text("idle")
    other.get_by_role("button", name="End task").click()
    expect(tasks.get_by_role("link", name="hi from elsewhere")).to_have_count(0)
    other.context.close()


def test_the_keyboard_alone_is_enough(page: Any, place: Place) -> None:
    (place.home / "keys").mkdir()
    page.goto("/tasks")
    expect(page.get_by_label("Folder")).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('label')?.textContent") == "Folder":
            break
    page.keyboard.type(str(place.home / "keys"))
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("write b.txt")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="May write_file run?")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    assert page.title() == "write b.txt · interlingua"
    approve = page.get_by_role("button", name="Approve")
    for _ in range(5):  # it stands just before
        page.keyboard.press("Shift+Tab")
        if approve.evaluate("each => each === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(articles(page, "tool")).to_contain_text("write_file: done")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()


def test_a_gateway_that_is_gone_is_named_and_found_again(page: Any) -> None:
    page.goto("/requests")
    expect(page.get_by_text("Live: new requests appear on top.")).to_be_visible()
    page.route("**/*", lambda route: route.abort())
    page.get_by_role("navigation").get_by_role("link", name="Playground").click()
    expect(page.get_by_role("alert")).to_contain_text("The gateway cannot be reached.")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Playground")).to_be_visible()
    page.route("**/v1/chat/completions", lambda route: route.abort())
    page.get_by_label("Prompt", exact=True).fill("hello")
    page.get_by_role("button", name="Run").click()
    failed = page.locator(".answers").get_by_role("alert").first
    expect(failed).to_contain_text("The gateway cannot be reached.")
    page.unroute_all()


def test_a_session_has_its_transcript_and_other_views(page: Any, place: Place) -> None:
    start(page, place.home / "kept", "read a.txt")
    expect(articles(page, "assistant").last).to_contain_text("Answer")
    page.get_by_role("navigation").get_by_role("link", name="Sessions").click()
    page.get_by_label("Search").fill("kept")
    page.get_by_role("list", name="Sessions").get_by_role("link").click()
    expect(articles(page, "user").first).to_contain_text("read a.txt")
    used = page.get_by_role("region", name="Tokens and cost")
    expect(used.get_by_role("row").last).to_contain_text("anthropic:claude-sonnet-4-6")
    expect(used.get_by_role("row").last).to_contain_text("200")
    call = articles(page, "assistant").first.get_by_role("group")
    expect(call.locator(".tree")).to_be_hidden()
    call.get_by_text("read_file").click()
    expect(call.locator(".tree")).to_contain_text("a.txt")
    page.get_by_role("combobox", name="View as").select_option("gemini")
    expect(page.get_by_role("region", name="Converted")).to_contain_text('"functionCall"')
    articles(page, "assistant").last.get_by_label("Link to this message").click()
    expect(articles(page, "assistant").last).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_telephone_shows_all_of_it(browser: Any, place: Place, scheme: str) -> None:
    context = browser.new_context(
        base_url=place.base, viewport={"width": 360, "height": 700}, color_scheme=scheme
    )
    page = context.new_page()
    page.goto("/")
    start(page, place.home / f"phone-{scheme}", "x" * 500)
    expect(articles(page, "assistant")).to_contain_text("Answer")
    for view in ("Sessions", "Convert", "Tasks"):
        page.get_by_role("navigation").get_by_role("link", name=view).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") is (scheme == "light")
    context.close()


def test_a_gateway_with_keys_asks_for_one(browser: Any, tmp_path: Path) -> None:
    with standing(tmp_path, keyed=True) as (place, token):
        context = browser.new_context(base_url=place.base)
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Key").fill("gw_wrong")
        page.get_by_role("button", name="Use this key").click()
        page.get_by_label("Key").fill(token)
        page.get_by_role("button", name="Use this key").click()
        start(page, tmp_path / "mine", "hello")
        expect(articles(page, "assistant")).to_contain_text("to: hello")
        assert token not in page.url
        context.close()


def test_the_first_request_is_sent_from_the_page_and_then_there_is_an_overview(
    browser: Any, tmp_path: Path
) -> None:
    with standing(tmp_path) as (place, _), watched(browser, place) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto("/")
        connect = page.get_by_role("region", name="Connect")
        connect.get_by_role("tab", name="Anthropic SDK").click()
        connect.get_by_role("button", name="Copy Anthropic SDK").click()
        expect(connect.get_by_text("Copied.")).to_be_attached()
        assert place.base in page.evaluate("navigator.clipboard.readText()")
        sending = page.get_by_role("region", name="First request")
        sending.get_by_label("Model").select_option(ANTHROPIC)
        sending.get_by_role("button", name="Send").click()
        expect(sending).to_contain_text("to: Say hello in three languages.")
        expect(page.get_by_role("heading", name="The first request has passed")).to_be_visible()
        expect(page.get_by_role("link", name="Show the overview")).to_be_in_viewport()
        page.get_by_role("link", name="See this request").click()
        expect(page.get_by_role("list", name="Waterfall")).to_be_visible()
        page.get_by_role("navigation").get_by_role("link", name="Overview").click()
        expect(page.get_by_role("button", name="Requests 1")).to_be_visible()
        page.get_by_role("button", name="Spend").click()
        expect(page.get_by_role("img", name="Spend by day: at most $0.0006")).to_be_visible()
        page.get_by_role("button", name="Today", exact=True).click()
        expect(page.get_by_role("img", name="Spend by hour")).to_be_visible()
        assert page.url.endswith("/?days=1&show=spend")
        expect(page.get_by_role("table", name="By model")).to_contain_text("$0.0006")


def test_of_a_thousand_tasks_two_hundred_are_drawn_at_first(page: Any, place: Place) -> None:
    task = {"status": "idle", "created": 1, "cwd": "/x", "ended": None, "queued": 0}
    tasks = [{**task, "id": f"t{number}", "name": f"task {number}"} for number in range(1000)]
    result = f"event: daemon.tasks.synchronized\ndata: {json.dumps({'tasks': tasks})}\n\n"
    events = f"{place.base}/events"
    page.route(events, lambda route: route.fulfill(body=result, content_type="text/event-stream"))
    page.goto("/tasks")
    drawn = page.get_by_role("list", name="Task list").get_by_role("listitem")
    expect(drawn).to_have_count(200)
    page.get_by_role("button", name="800 more").click()
    expect(drawn).to_have_count(400)
    page.unroute(events)


ANSWER = """json ## Result

A **bold** word, `code`, [a page](https://example.org/x) and [no page](javascript:alert(1)).

| city | people |
| --- | ---: |
| Ulaanbaatar | 1,700,000 |

1. First
   - nested

```python
def area(r):
    return 3.14 * r  # a comment
```
"""


def test_answers_are_shown_as_markdown_and_the_newest_is_in_view(page: Any, place: Place) -> None:
    start(page, place.home / "markdown", ANSWER + "\n\n".join(f"Line {n}." for n in range(60)))
    answer = articles(page, "assistant").last
    expect(answer.get_by_role("heading", name="Result")).to_be_attached()
    expect(answer.locator("strong")).to_have_text("bold")
    expect(answer.get_by_role("cell", name="1,700,000")).to_be_attached()
    expect(answer.locator("ol > li > ul > li")).to_have_text("nested")
    expect(answer.locator("pre .hl-comment")).to_have_text("# a comment")
    assert answer.locator("a:not(.anchor)").evaluate_all("all => all.map((each) => each.href)") == [
        "https://example.org/x"
    ]
    expect(answer).to_contain_text("[no page](javascript:alert(1))")
    expect(answer.get_by_text("Line 59.")).to_be_in_viewport()
    page.get_by_label("Message", exact=True).fill("write b.txt")
    page.get_by_label("Message", exact=True).press("Enter")
    asked = page.get_by_role("group", name="May write_file run?")
    expect(asked.get_by_text("b.txt", exact=True)).to_be_visible()
    expect(asked.locator("ins")).to_have_text("+ written\n")
    expect(asked.get_by_text("a new file")).to_be_visible()
    expect(asked.get_by_text(re.compile(r"Denied in \d+ min"))).to_be_visible()
    expect(asked.get_by_text("It changes files of the workspace.")).to_be_visible()
    expect(articles(page, "user").last).to_be_in_viewport()
    page.get_by_role("button", name="Deny").click()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    answer = articles(page, "assistant").filter(has_text="Ulaanbaatar")
    answer.get_by_role("button", name="Copy this code").click()
    code = "def area(r):\n    return 3.14 * r  # a comment"
    page.wait_for_function(
        "async (code) => (await navigator.clipboard.readText()) === code", arg=code
    )
