"""Scripts in everything that a model, a tool, a file or a user can say: none runs, all is shown."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateway.page.conftest import Place, apart
from tests.gateway.page.scripts import AROUND, COUNT, letters, payloads, safe_links, unharmed

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
from playwright.sync_api import expect


async def plant(place: Place, said: list[str]) -> tuple[str, str]:
    """A task that says all of them, and one whose tool does; many tasks have them as names."""
    async with aiohttp.ClientSession(place.base) as http:

        async def ask(path: str, body: Any) -> Any:
            while True:
                async with http.post(path, json=body) as reply:
                    if reply.status != 429:
                        assert reply.status in (200, 201), await reply.text()
                        return await reply.json()
                await asyncio.sleep(0.1)  # the queue is full

        def folder(name: str) -> str:
            made = place.home / "planted" / name
            made.mkdir(parents=True)
            return str(made)

        for number, text in enumerate(said[:: len(AROUND)]):
            made = {
                "cwd": folder(f"{number}"),
                "name": text,
                "model": "anthropic:claude-sonnet-4-6",
            }
            await ask("/task", made)
        task = (await ask("/task", {"cwd": folder("says")}))["task"]["id"]
        for text in said:
            body = {"role": "assistant", "content": text}
            await ask(f"/task/{task}/message", body)
        await ask(f"/task/{task}/message", {"role": "user", "content": f"json {said[0]}"})
        tools = folder("<img src=x onerror=window.ran=1>")
        (Path(tools) / "a<b>.txt").write_text("\n".join(said))
        message = {"role": "user", "content": "read a<b>.txt"}
        tool = (await ask("/task", {"cwd": tools, "message": message}))["task"]["id"]
        return task, tool


def test_no_script_in_what_is_shown_runs(page: Any, place: Place) -> None:
    content = payloads()
    assert len(set(content)) == COUNT
    task, tool = apart(plant(place, content))
    log = page.get_by_role("log", name="Conversation")
    page.goto(f"/#/tasks/{task}")
    page.get_by_role("button", name="Show everything from the beginning").click()
    expect(log.get_by_role("article", name="assistant")).to_have_count(COUNT + 1, timeout=30_000)
    shown = log.locator("article.assistant .prose").all_text_contents()
    assert letters(content) == [
        one and two for one, two in zip(letters(content), letters(shown), strict=False)
    ]
    assert safe_links(page)
    unharmed(page)
    names = page.get_by_role("list", name="Task list").locator(".name").all_text_contents()
    assert set(content[:: len(AROUND)]) <= set(names)
    page.goto(f"/#/tasks/{tool}")
    expect(log.get_by_role("article", name="tool")).to_contain_text("read_file: done")
    log.get_by_text("read_file: done").click()
    assert content[-1] in log.get_by_role("article", name="tool").text_content()
    unharmed(page)
    page.goto(f"/#/sessions/{task}")
    earlier = page.get_by_role("button", name="Earlier messages")
    for count in (200, 300, COUNT + 2):
        earlier.evaluate("button => button.click()")  # a hand would scroll, and that loads as well
        expect(log.get_by_role("article")).to_have_count(count, timeout=20_000)
    unharmed(page)
    page.get_by_role("combobox", name="View as").select_option("openai-chat")
    expect(page.get_by_role("region", name="Converted")).to_contain_text("window.ran")
    unharmed(page)


def test_no_script_in_a_body_runs(page: Any) -> None:
    content = payloads()
    body = {
        "model": content[0],
        "messages": [{"role": "user", "content": text} for text in content],
        **{text: text for text in content[:20]},
    }
    page.goto("/convert?from=openai-chat")
    page.get_by_label("Your body").fill(json.dumps(body))
    expect(page.get_by_role("region", name="Losses").get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_label("Result", exact=True)).to_have_value(re.compile("window.ran"))
    unharmed(page)
