"""What a task tells, as SSE."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.serving import Upstream, served
from tests.gateway.tasks.asking import new, stored, until

QUEUE = "maria.queued_messages.synchronized"


def run(work: Any) -> None:
    with Upstream() as provider:
        asyncio.run(work(provider))


@pytest.mark.requirement("S004-1", "S004-4", "S004-16")
def test_a_task_tells_all_of_a_run_in_order(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        (tmp_path / "a.txt").write_text("the text")
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "read a.txt")
            frames = await until(gateway, task["id"], "PostConversation")
            assert frames[0].name == QUEUE
            assert frames[0].data == []
            assert [frame.msg for frame in stored(frames)] == [
                *("PreConversation", "MessageAdded", "RequestCompleted", "MessageAdded"),
                *("PreToolCall", "PostToolCall", "MessageAdded"),
                *("RequestCompleted", "MessageAdded", "PostConversation"),
            ]

    run(work)
