"""A request that names no model is answered by the default model, and the answer says which."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, served, settings_in

TALK: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 99}


@pytest.mark.parametrize("default", [ANTHROPIC, OPENAI])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("named", [{}, {"model": ""}], ids=["none", "empty"])
def test_an_answer_names_the_default_model(
    tmp_path: Path, default: str, path: str, named: dict[str, str]
) -> None:
    async def work(gateway: Served) -> None:
        name = default.partition(":")[2]
        status, reply, _ = await gateway.ask("POST", path, {**TALK, **named})
        assert status == 200, reply
        assert reply["model"] == name
        _, reply, _ = await gateway.ask("POST", path, {**TALK, **named, "stream": True})
        frames = [json.loads(line[6:]) for line in reply.splitlines() if line[:7] == "data: {"]
        first = frames[0].get("message") or frames[0]
        assert first["model"] == name

    async def serve(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, default_model=default)) as gateway:
            await work(gateway)

    with Upstream() as provider:
        asyncio.run(serve(provider))
