"""Many tasks and many readers; more of both: `python -m tests.gateway.tasks.crowd`."""

from __future__ import annotations

import asyncio

from tests.gateway.tasks.crowd import tried


def test_each_of_many_readers_gets_each_event_once() -> None:
    listed, read = asyncio.run(tried(count=30, many=20))
    assert listed.startswith("30 tasks")
    assert "each got" in read
