"""Numbers of a query that are too large, or no numbers, are refused in words."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.gateway.serving import served
from tests.gateway.sessions.test_api import new
from tests.gateway.tasks.test_api import new as new_task

SSE = {"accept": "text/event-stream"}
HUGE = ["9" * 20, "0" * 12 + "9" * 20, "9" * 5000, "-1", "1e3", "١"]


def test_huge_numbers_of_queries_are_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(tmp_path) as gateway:
            session = await new(gateway)
            id = (await new_task(gateway, tmp_path))["id"]
            paths = [f"/sessions/{session}/events?after=", f"/sessions/{session}/events?limit="]
            paths += [f"/task/{id}/events?after=", f"/task/{id}/events?tail="]
            paths += ["/requests?limit=", "/requests?after=", "/v1beta/models?pageSize="]
            paths += ["/v1beta/models?pageToken="]
            for path in paths:
                headers = {} if "limit=" in path else SSE
                for number in HUGE:
                    status, result, _ = await asyncio.wait_for(
                        gateway.ask("GET", path + number, headers=headers), 5
                    )
                    assert status == 400, (path, number[:30], status, result)

    asyncio.run(work())
