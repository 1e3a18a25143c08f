"""A gateway in a thread and, where there is one, a real browser in front of it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import pytest

from tests.gateway.page.install import BROWSERS, browser_path
from tests.gateway.serving import Upstream, key, served

NEEDED = "INTERLINGUA_PAGE"
"""Set it (`make page` does) where a browser that does not start is a failure."""
PATIENCE = 60_000
"""Milliseconds that a busy machine may take for what is expected."""
T = TypeVar("T")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


class Place(NamedTuple):
    """Where the gateway is, a folder for tasks, and the provider behind it."""

    base: str
    home: Path
    provider: Upstream


@contextmanager
def standing(
    home: Path, keyed: bool = False, behind: type[Upstream] = Upstream
) -> Iterator[tuple[Place, str]]:
    """A gateway, and a key of it where it asks for one."""
    token = key(home).token if keyed else ""
    ready, over = threading.Event(), threading.Event()
    found: list[str] = []

    async def serve(provider: Upstream) -> None:
        provider.configure(home)
        async with served(home) as here:
            found.append(here.base)
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.05)

    # Sessions of coding agents are those of this folder, and not those of whoever runs the tests.
    elsewhere = {"HOME": str(home), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": "", "XDG_DATA_HOME": ""}
    with behind() as provider, patch.dict(os.environ, elsewhere):
        for name in (name for name, value in elsewhere.items() if not value):
            del os.environ[name]
        thread = threading.Thread(target=lambda: asyncio.run(serve(provider)))
        thread.start()
        assert ready.wait(30)
        try:
            yield Place(found[0], home, provider), token
        finally:
            over.set()
            thread.join(30)


def apart(work: Coroutine[Any, Any, T]) -> T:
    """Done in a thread of its own: in this one there may be the event loop of a browser."""
    with ThreadPoolExecutor(1) as elsewhere:
        return elsewhere.submit(asyncio.run, work).result()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with standing(tmp_path_factory.mktemp("page")) as (here, _):
        yield here


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """As long as it is there, this thread has an event loop that runs: see `apart`."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: `make page` installs it"
    )
    if browser_path() is None:
        pytest.skip(f"no browser is installed ({', '.join(BROWSERS)}): `make page` installs one")
    api.expect.set_options(timeout=PATIENCE)
    with api.sync_playwright() as playwright:
        try:
            made = launch(playwright)
        except api.Error:
            if os.environ.get(NEEDED):
                raise
            pytest.skip("the browser does not start here: `make page` shows why")
        yield made
        made.close()


def launch(playwright: Any) -> Any:
    return playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)


@pytest.fixture
def page(browser: Any, place: Place) -> Iterator[Any]:
    with watched(browser, place) as made:
        made.goto("/")
        yield made


@contextmanager
def watched(browser: Any, place: Place) -> Iterator[Any]:
    """A page that may not complain about anything, nor ask anybody else."""
    context = browser.new_context(base_url=place.base, viewport={"width": 1100, "height": 800})
    made = context.new_page()
    odd: list[str] = []
    made.on("pageerror", lambda error: odd.append(str(error)))
    made.on("console", lambda said: odd.append(said.text) if _complains(said) else None)
    made.on("dialog", lambda dialog: odd.append(f"dialog: {dialog.message}") or dialog.dismiss())
    made.on("request", lambda asked: odd.append(asked.url) if _is_outside(asked, place) else None)
    yield made
    context.close()
    assert odd == []


def _complains(said: Any) -> bool:
    """Of something else than an answer that is no."""
    return said.type == "error" and not said.text.startswith("Failed to load resource")


def _is_outside(asked: Any, place: Place) -> bool:
    return not asked.url.startswith((place.base, "data:image/"))
