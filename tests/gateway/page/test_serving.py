"""What a browser gets, what others get, and how little the page's files may do."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.page import INDEX, contents
from tests.gateway.page.conftest import apart
from tests.gateway.serving import Served, key, served

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def run(home: Path, work: Callable[[Served], Awaitable[None]]) -> None:
    async def serve() -> None:
        async with served(home) as gateway:
            await work(gateway)

    apart(serve())


def test_browsers_get_the_page_and_all_others_what_they_got(tmp_path: Path) -> None:
    async def work(gateway: Served) -> None:
        status, text, headers = await gateway.ask("GET", "/", headers=BROWSER)
        assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert text.startswith("<!doctype html>")
        for accept in ("*/*", "application/json"):
            _, reply, headers = await gateway.ask("GET", "/", headers={"accept": accept})
            assert reply["name"] == "interlingua"
            assert headers["vary"] == "accept"

    run(tmp_path, work)


def test_no_code_runs_but_the_files_of_the_page(tmp_path: Path) -> None:
    async def work(gateway: Served) -> None:
        _, text, headers = await gateway.ask("GET", "/", headers=BROWSER)
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["require-trusted-types-for"] == "'script'"
        assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:", text)
        asked = re.findall(r'<(?:link|script|img)[^>]* (?:src|href)="(/[^"]*)"', text)
        assert len(asked) >= 5
        for path in (*asked, *[f"/page/{name}" for name in contents() if name != INDEX]):
            status, _, reply = await gateway.ask("GET", path)
            assert status == 200, path
            assert reply["x-content-type-options"] == "nosniff"
            assert reply["cache-control"] == "no-store"

    run(tmp_path, work)


def test_an_address_is_the_page_in_a_browser_and_json_for_programs(tmp_path: Path) -> None:
    async def work(gateway: Served) -> None:
        shared = ("/convert", "/sessions", "/sessions/x", "/requests", "/requests/x", "/tasks")
        for path in (*shared, "/tasks/x", "/playground"):
            status, text, headers = await gateway.ask("GET", path, headers=BROWSER)
            assert (status, headers["vary"]) == (200, "accept"), path
            assert text.startswith("<!doctype html>")
            _, found, headers = await gateway.ask("GET", path)
            assert headers["content-type"] == "application/json", path
            assert isinstance(found, dict)
        status, _, headers = await gateway.ask(
            "GET", "/task/x", headers=BROWSER, allow_redirects=False
        )
        assert (status, headers["location"]) == (307, "/tasks/x")
        status, text, headers = await gateway.ask("GET", "/nothing/here", headers=BROWSER)
        assert (status, text[:15]) == (404, "<!doctype html>")
        assert (await gateway.ask("GET", "/nothing/here"))[0] == 404
        assert (await gateway.ask("GET", "/v1/sessions", headers=BROWSER))[1] == {
            "sessions": [],
            "has_more": False,
        }
        _, _, headers = await gateway.ask("GET", "/favicon.ico")
        assert headers["content-type"] == "image/svg+xml"

    run(tmp_path, work)


def test_modules_come_as_scripts_and_nothing_beside_them_is_served(tmp_path: Path) -> None:
    async def work(gateway: Served) -> None:
        _, text, headers = await gateway.ask("GET", "/page/app.js")
        assert headers["content-type"].startswith("text/javascript")
        for name in re.findall(r'from "\./(\w+\.js)"', text):
            assert name in contents()
        for path in ("__init__.py", "index.html", "../api.py", "..%2fapi.py", "", "app.js/"):
            assert (await gateway.ask("GET", f"/page/{path}"))[0] == 404, path
        assert (await gateway.ask("POST", "/page/app.js"))[0] == 405

    run(tmp_path, work)


def test_the_page_is_there_without_a_key_and_what_it_shows_is_not(tmp_path: Path) -> None:
    token = key(tmp_path).token

    async def work(gateway: Served) -> None:
        assert (await gateway.ask("GET", "/", headers=BROWSER))[0] == 200
        assert (await gateway.ask("GET", "/page/app.js"))[0] == 200
        for path in ("/convert", "/tasks", "/sessions"):
            assert (await gateway.ask("GET", path, headers=BROWSER))[0] == 200  # the page, empty
            assert (await gateway.ask("GET", path))[0] == 401
            assert (await gateway.ask("GET", path, token=token))[0] == 200

    run(tmp_path, work)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_pages_of_elsewhere_get_none_of_it(tmp_path: Path, headers: dict[str, str]) -> None:
    async def work(gateway: Served) -> None:
        assert (await gateway.ask("GET", "/page/app.js", headers=headers))[0] == 403
        body = {"text": "{}", "target": "anthropic"}
        assert (await gateway.ask("POST", "/convert", body, headers=headers))[0] == 403

    run(tmp_path, work)


SVG = "http://www.w3.org/2000/svg"
"""The name of a namespace, which is no address."""


def test_no_file_of_the_page_makes_markup_of_text() -> None:
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function"
    scripts: dict[str, Any] = {n: c for n, c in contents().items() if n.endswith(".js")}
    assert len(scripts) >= 5
    for name, data in scripts.items():
        assert not re.search(ways, data.decode()), name
        text = data.decode().replace(SVG, "")
        assert not re.search(r"https?://", text), f"{name} asks nobody else"
