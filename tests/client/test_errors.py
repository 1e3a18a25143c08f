"""What can go wrong with a call."""

from __future__ import annotations

import asyncio

import pytest

from interlingua.client.retry import RetryPolicy
from tests.client.faulty import STATUSES, ask, both, exchange_id, failing
from tests.client.served import MODELS, client_of, dialect_arg, serving


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("dialect", list(MODELS))
def test_u2_u3_each_status_has_its_class_and_only_some_are_tried_again(
    dialect: str, stream: bool
) -> None:
    async def main() -> None:
        with serving(*both(dialect)) as server:
            id = exchange_id(dialect, stream)
            quick = RetryPolicy(max_retries=1, first=0.001)
            async with client_of(server, id, retry=quick) as client:
                for status, kind in STATUSES.items():
                    server.clear()
                    server.stage(always=f"failing status={status}")
                    work = ask(client, MODELS[dialect], stream, dialect=dialect_arg(dialect))
                    error, _ = await failing(work)
                    assert type(error) is kind, (status, error)
                    assert error.status == status
                    assert "staged by the replay server" in str(error)
                    again = status == 429 or status >= 500
                    assert len(server.received) == (2 if again else 1)
                    assert len(error.attempts) == len(server.received)
                    assert error.partial is None

    asyncio.run(main())
