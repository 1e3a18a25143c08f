"""Convert, in a real browser: losses are marked in the body that was pasted."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.gateway.page.conftest import Place

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
from playwright.sync_api import expect

BODY = {
    "model": "gpt-4.1",
    "messages": [{"role": "user", "name": "ada", "content": "hi"}],
    "frequency_penalty": 0.5,
    "max_tokens": 100,
}
WHY = "frequency_penalty dropped: Anthropic has no equivalent"


def opened(page: Any, body: Any = None) -> None:
    page.get_by_role("navigation").get_by_role("link", name="Convert").click()
    if body is not None:
        text = body if isinstance(body, str) else json.dumps(body, indent=2)
        page.get_by_label("Your body").fill(text)


def findings(page: Any) -> Any:
    return page.get_by_role("region", name="Losses").get_by_role("listitem")


def result(page: Any) -> Any:
    return page.get_by_label("Result", exact=True)


def test_losses_are_marked_in_the_body_and_lead_there_and_back(page: Any) -> None:
    opened(page, BODY)
    expect(page.get_by_role("status").filter(has_text="OpenAI Chat")).to_contain_text("request")
    expect(findings(page).filter(has_text=WHY)).to_contain_text("$.frequency_penalty")
    marks = page.locator(".code-colours mark")
    expect(marks).to_have_text(['"model": "gpt-4.1"', '"name": "ada"', '"frequency_penalty": 0.5'])
    remarks = page.locator(".code-remark")
    named = ["model 'gpt-4.1' belongs to OpenAI", "name dropped", "frequency_penalty dropped"]
    expect(remarks).to_have_text(named)  # behind their lines
    text = json.dumps(BODY, indent=2)
    keys = ("model", "name", "frequency_penalty")
    lines = [text[: text.index(f'"{key}"')].count("\n") for key in keys]
    tops = remarks.evaluate_all("all => all.map((each) => each.offsetTop)")
    assert tops == [8 + 20 * line for line in lines]
    expect(findings(page).locator(".line")).to_have_text([f"line {line + 1}" for line in lines])
    findings(page).filter(has_text=WHY).get_by_role("button").click()
    area = page.get_by_label("Your body")
    expect(area).to_be_focused()
    chosen = area.evaluate("each => each.value.slice(each.selectionStart, each.selectionEnd)")
    assert chosen == '"frequency_penalty": 0.5'
    page.get_by_role("button", name=re.compile(f"^Line {lines[-1] + 1}: {WHY}")).click()
    expect(findings(page).filter(has_text=WHY).get_by_role("button")).to_be_focused()


def test_the_pointer_lights_a_loss_and_its_place(page: Any) -> None:
    page.goto("/convert")
    page.get_by_label("Examples").select_option("OpenAI Chat request")
    page.locator(".code-mark").first.wait_for()
    seed = page.locator("#main li[id]").filter(has_text="$.seed")
    body = page.get_by_label("Your body")
    body.hover(position={"x": 60, "y": 8 + 2.5 * 20})  # the third line
    expect(seed).to_have_class("lit")
    assert "seed dropped" in body.get_attribute("title")
    expect(page.locator(".code-colours mark.lit")).to_have_text('"seed": 7')
    body.hover(position={"x": 60, "y": 8 + 4.5 * 20})
    expect(seed).not_to_have_class("lit")
    seed.hover()
    expect(page.locator(".code-colours mark.lit")).to_have_text('"seed": 7')


def test_another_target_another_report(page: Any) -> None:
    opened(page, BODY)
    expect(findings(page).filter(has_text=WHY)).to_have_count(1)
    page.get_by_label("Target format").select_option("gemini")
    expect(result(page)).to_have_value(re.compile('"contents"'))
    expect(findings(page).filter(has_text=WHY)).to_have_count(0)
    page.get_by_role("button", name="Add a target").click()
    expect(page.get_by_label("Target format")).to_have_count(2)
    expect(findings(page).filter(has_text=WHY)).to_have_count(1)
    assert "to=gemini%2Canthropic" in page.url


def test_warnings_are_told_from_losses_and_three_targets_have_room(page: Any) -> None:
    opened(page, BODY)
    group = page.get_by_role("region", name="Losses")
    expect(findings(page).filter(has_text=WHY)).to_be_visible()
    losses = group.locator(".finding .dot:not(.note)")
    expect(group.locator("h3")).to_have_text(re.compile(f"{losses.count()} losses\\s*1 warning"))
    expect(findings(page).filter(has_text="belongs to OpenAI").locator(".note")).to_be_visible()
    for _ in range(2):
        page.get_by_role("button", name="Add a target").click()
    expect(page.get_by_label("Target format")).to_have_count(3)
    panes = page.locator(".code-pane")
    for width, columns in ((1280, 2), (1920, 4)):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [panes.nth(number).bounding_box() for number in range(4)]
        assert len({round(box["x"]) for box in boxes}) == columns
        assert all(box["width"] > 380 for box in boxes)
    page.set_viewport_size({"width": 390, "height": 844})
    count = page.locator(".report").evaluate(
        "all => all.querySelectorAll('.dot:not(.note):not(.info)').length"
    )
    expect(page.get_by_role("button", name=f"Losses {count}")).to_be_visible()


def test_a_link_holds_the_body_and_a_reload_keeps_it(page: Any) -> None:
    opened(page, BODY)
    page.wait_for_function("() => location.hash.startsWith('#z:')")
    url = page.url
    assert "gpt-4.1" not in url
    page.goto("/")
    page.goto(url)
    expect(page.get_by_label("Your body")).to_have_value(json.dumps(BODY, indent=2))
    expect(findings(page).filter(has_text=WHY)).to_have_count(1)
    long = {**BODY, "messages": [{"role": "user", "content": "é" * 120_000}]}
    page.get_by_label("Your body").fill(json.dumps(long))
    page.wait_for_function("() => !location.hash && sessionStorage.getItem('draft convert')")
    page.reload()
    expect(page.get_by_label("Your body")).to_have_value(json.dumps(long))


def test_a_stream_and_a_transcript_are_converted_too(page: Any) -> None:
    opened(page)
    page.get_by_label("Examples").select_option("Claude stream")
    page.get_by_label("Target format").select_option("gemini")
    expect(findings(page).filter(has_text="signature dropped")).to_contain_text(
        "#4 $.delta.signature"
    )
    expect(page.locator(".code-colours mark")).to_have_text('"signature":"c2lnbmF0dXJl"')
    lines = [
        {
            "type": "session",
            "version": 3,
            "id": "s",
            "timestamp": "2026-01-01T00:00:00Z",
            "cwd": "/x",
        },
        {
            **{"type": "message", "id": "a", "parentId": None, "timestamp": "2026-01-01T00:00:01Z"},
            "message": {
                "role": "user",
                "content": [{"type": "text", "text": "hi"}],
                "timestamp": 1,
            },
        },
    ]
    page.get_by_label("Your body").fill("\n".join(map(json.dumps, lines)))
    expect(page.get_by_role("status").filter(has_text="pi transcript")).to_be_visible()
    expect(result(page)).to_have_value(re.compile('"hi"'))


def test_what_cannot_be_read_is_named_with_its_place(page: Any) -> None:
    opened(page, '{\n  "messages": [{"role": "user",, "content": ""}]\n}')
    expect(page.get_by_role("alert").first).to_contain_text("line 2, column 32")
    expect(page.locator(".code-colours mark.error")).to_have_text(",")
    expect(page.get_by_role("button", name=re.compile("^Line 2: invalid JSON"))).to_be_visible()
    expect(page.locator(".code-remark")).to_have_text("object keys must be strings")
    page.get_by_label("Your body").fill('{"messages": [{"role": "usr"')
    expect(page.get_by_role("alert").first).to_contain_text("line 1, column 29")
    page.goto("/convert?from=openai-chat")
    page.get_by_label("Your body").fill('{"messages": [{"role": "usr", "content": ""}]}')
    expect(page.get_by_role("alert").filter(has_text="usr")).to_be_visible()


def test_a_conversion_is_copied_as_a_program_and_a_command(page: Any, place: Place) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(page, BODY)
    page.get_by_role("button", name="Copy as Python").click()
    page.wait_for_function(
        "async () => (await navigator.clipboard.readText()).startsWith('import')"
    )
    made: dict[str, Any] = {}
    exec(compile(page.evaluate("navigator.clipboard.readText()"), "copied", "exec"), made)
    assert made["written"].wire["messages"][0]["role"] == "user"
    page.get_by_role("button", name="Copy as curl").click()
    copied = f"async () => (await navigator.clipboard.readText()).startsWith('curl {place.base}')"
    page.wait_for_function(copied)


def test_formatting_keeps_numbers_as_they_are_written(page: Any) -> None:
    opened(page, '{"a":[1.0,12345678901234567890,{}],"b":"x"}')
    page.get_by_role("button", name="Format").click()
    text = '{\n  "a": [\n    1.0,\n    12345678901234567890,\n    {}\n  ],\n  "b": "x"\n}'
    expect(page.get_by_label("Your body")).to_have_value(text)
