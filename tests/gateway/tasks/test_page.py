"""What docs/tasks.md says is so."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.paths.routes import ROWS
from interlingua.gateway.settings import Tasks
from interlingua.gateway.shared.feed import BEAT
from interlingua.gateway.tasks.api import MOST_WAITING, MOST_WAITING_BYTES
from interlingua.gateway.tasks.output import MOST_BYTES
from tests.gateway.serving import Upstream, served
from tests.gateway.tasks.asking import new, user

PAGE = (Path(__file__).parents[3] / "docs" / "tasks.md").read_text(encoding="utf-8")


def test_the_page_has_every_path() -> None:
    for row in ROWS:
        if "task" in row.path or "queued" in row.path or row.path == "/events":
            path = row.path.replace("{message}", "{id}")
            assert f"`{path}`" in PAGE or f"`{row.method} {path}`" in PAGE, row


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    megabyte = 1024 * 1024
    assert (4 * megabyte, 100, 8 * megabyte) == (MOST_BYTES, MOST_WAITING, MOST_WAITING_BYTES)
    assert (BEAT, Tasks().confirm_seconds) == (15, 300)


def test_a_task_has_the_members_that_the_page_shows(tmp_path: Path) -> None:
    (text,) = re.findall(r'```json\n(\{\n  "id": .*?)```', PAGE, re.DOTALL)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            assert (await new(gateway, tmp_path)).keys() == json.loads(text).keys()

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_a_queue_and_its_messages_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlingua.gateway.tasks.api.MOST_WAITING", 2)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow"))["id"]
            replies: list[Any] = []
            for _ in range(3):
                replies.append(await gateway.ask("POST", f"/task/{id}/message", user("next")))
            assert [status for status, _, _ in replies] == [200, 200, 429]
            assert replies[-1][1]["error"]["code"] == "queue_full"
            monkeypatch.setattr("interlingua.gateway.tasks.output.MOST_BYTES", 1000)
            long = user("x" * 1000)
            assert (await gateway.ask("POST", f"/task/{id}/message", long))[0] == 413
            await gateway.ask("POST", f"/task/{id}/cancel")

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_the_limit_of_a_queue_holds_for_messages_that_come_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlingua.gateway.tasks.api.MOST_WAITING", 5)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow"))["id"]
            path = f"/task/{id}/message"
            replies = await asyncio.gather(
                *[gateway.ask("POST", path, user(f"number {n}")) for n in range(30)]
            )
            assert sorted(status for status, _, _ in replies) == [200] * 5 + [429] * 25
            assert (await gateway.ask("GET", f"/task/{id}"))[1]["queued"] == 5
            await gateway.ask("POST", f"/task/{id}/cancel")

    with Upstream() as provider:
        asyncio.run(work(provider))
