"""The page at `/docs`: every path is on it, under the strict policy, with no script and no outside
request."""

from __future__ import annotations

import asyncio
import re
from html import escape
from pathlib import Path

from interlingua.gateway.page import POLICY
from interlingua.gateway.paths.docs_page import html
from interlingua.gateway.paths.openapi import document
from tests.gateway.serving import key, served


def test_every_path_is_on_the_page_and_nothing_of_elsewhere(tmp_path: Path) -> None:
    async def run() -> None:
        key(tmp_path)
        async with served(tmp_path) as gateway:
            status, text, headers = await gateway.ask("GET", "/docs")
            assert status == 200
            assert headers["content-type"].startswith("text/html")
            assert headers["content-security-policy"] == POLICY
            for link in re.findall(r'(?:href|src)="([^"]*)"', text):
                assert (await gateway.ask("GET", link))[0] == 200, link

    asyncio.run(run())
    text = html().decode()
    for path, methods in document()["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {escape(path)}</code>" in text
    assert "<script" not in text
    assert "style=" not in text, "the policy refuses inline styles"
    assert not re.search(r"https?://", text)
    assert "daily_cap_usd" in text
    assert "rating" in text
