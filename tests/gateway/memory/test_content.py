"""The content log: only where a key asks for it, without secrets, and for its own age."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway.memory import content
from interlingua.gateway.memory.content import place_of
from tests.cli.running import run
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, asked, key, served

SECRET = "sk-ant-api03-" + "a1B2c3D4e5" * 9 + "-AA"
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


async def logged(gateway: Served, tenant: str | None, id: str) -> Any:
    await gateway.stored()
    async with asyncio.timeout(10):
        while (row := await gateway.service.store.object(place_of(tenant), id)) is None:
            await asyncio.sleep(0.01)
    return json.loads(row.body)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, MESSAGES])
def test_a_request_and_its_answer_are_logged_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: bool, path: str
) -> None:
    made, other = key(tmp_path, log_content_days=7), key(tmp_path, "other")
    watcher = key(tmp_path, "watcher", read_requests=True)

    async def work(provider: Upstream) -> str:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            words = f"ann@example.org has the key {SECRET}"
            wire = asked(words, OPENAI, stream=stream, max_tokens=50)
            status, _, headers = await gateway.ask("POST", path, wire, made.token)
            assert status == 200
            entry = await logged(gateway, made.key.id, headers["x-request-id"])
            text = json.dumps(entry)
            assert "has the key" in text
            assert SECRET not in text
            assert "ann@example.org" not in text
            assert entry["answer"], "streams too, in one piece"
            path_of = f"/requests/{headers['x-request-id']}"
            _, shown, _ = await gateway.ask("GET", path_of, token=made.token)
            assert shown["content"] == entry
            _, seen, _ = await gateway.ask("GET", path_of, token=watcher.token)
            assert "content" not in seen, "who sees the requests of all does not read them"
            _, _, unlogged = await gateway.ask("POST", path, wire, other.token)
            await gateway.stored()
            store = gateway.service.store
            assert await store.object(place_of(other.key.id), unlogged["x-request-id"]) is None
            assert await store.object(place_of(other.key.id), headers["x-request-id"]) is None
            return headers["x-request-id"]

    with Upstream() as provider:
        id = asyncio.run(work(provider))
    monkeypatch.setenv("INTERLINGUA_STORE", str(tmp_path / "gateway.db"))
    shown = run("requests", id, "--content")
    assert json.loads(shown.stdout)["request"]["model"] == OPENAI


def test_an_entry_goes_after_the_days_of_its_key_and_long_ones_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = key(tmp_path, log_content_days=1)
    monkeypatch.setattr(content, "LONGEST", 600)
    monkeypatch.setattr(content, "A_DAY", 0.5)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            wire = asked("many words " * 100, ANTHROPIC, max_tokens=50)
            _, _, headers = await gateway.ask("POST", CHAT, wire, made.token)
            entry = await logged(gateway, made.key.id, headers["x-request-id"])
            assert entry["request"] is None
            await asyncio.sleep(0.6)
            place, id = place_of(made.key.id), headers["x-request-id"]
            assert await gateway.service.store.object(place, id) is None
            await gateway.service.sweeper.sweep()
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                assert store.objects(place) == []

    with Upstream() as provider:
        asyncio.run(work(provider))
