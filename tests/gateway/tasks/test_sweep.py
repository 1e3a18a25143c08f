"""A task that cannot be recovered keeps no other from it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from interlingua.gateway.tasks import runs
from tests.gateway.serving import served


def test_one_task_that_cannot_be_recovered_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SWEEP", 0.02)
    monkeypatch.setattr(runs, "is_lost", lambda row: True)

    async def work() -> None:
        async with served(tmp_path) as gateway:
            recovered: list[str] = []

            async def generating() -> list[Any]:
                return [SimpleNamespace(id="bad"), SimpleNamespace(id="good")]

            async def recover(row: Any) -> None:
                if row.id == "bad":
                    raise ValueError("odd")
                recovered.append(row.id)

            monkeypatch.setattr(gateway.service.tasks.store, "generating_tasks", generating)
            monkeypatch.setattr(gateway.service.tasks, "_recover", recover)
            async with asyncio.timeout(5):
                while len(recovered) < 2:
                    await asyncio.sleep(0.02)

    asyncio.run(work())
