"""What writes asks first, over HTTP; silence is a no."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.config import ConfigError, read
from interlingua.gateway.settings import Tasks
from interlingua.gateway.tasks.runs import servers_path
from tests.gateway.serving import Served, Upstream, key, served, settings_in
from tests.gateway.tasks.asking import PATIENCE, idle, new, page, say, shown, until

QUESTIONS = "maria.confirmations.synchronized"


def run(work: Any) -> None:
    with Upstream() as provider:
        asyncio.run(work(provider))


async def asked(gateway: Served, id: str, token: str | None = None) -> dict[str, Any]:
    """The question, when there is one."""
    async with asyncio.timeout(PATIENCE):
        while True:
            _, reply, _ = await gateway.ask("GET", f"/task/{id}/confirmations", token=token)
            if reply["confirmations"]:
                (question,) = reply["confirmations"]
                assert isinstance(question, dict)
                return question
            await asyncio.sleep(0.02)


async def answer(gateway: Served, id: str, call: str, approved: Any) -> tuple[int, Any]:
    body = {"id": call, "approved": approved}
    status, reply, _ = await gateway.ask("POST", f"/v1/task/{id}/confirmations", body)
    return status, reply


@pytest.mark.requirement("S004-20")
@pytest.mark.parametrize("approved", [True, False])
def test_a_tool_that_writes_waits_for_an_answer(tmp_path: Path, approved: bool) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "write b.txt"))["id"]
            reading = asyncio.ensure_future(until(gateway, id, "PostConversation"))
            question = await asked(gateway, id)
            assert (question["name"], question["side_effects"]) == ("write_file", "write")
            assert question["args"] == {"path": "b.txt", "text": "written\n"}
            assert question["status"] == "waiting"
            assert question["expires"] - question["asked"] == 299_000
            assert (await shown(gateway, id))["waiting"] == 1
            assert not (tmp_path / "b.txt").exists()
            for body in ({"id": question["id"]}, {"approved": True}, {"id": 1, "approved": True}):
                path = f"/task/{id}/confirmations"
                assert (await gateway.ask("POST", path, body))[0] == 400
            assert (await answer(gateway, id, question["id"], "yes"))[0] == 400
            assert (await answer(gateway, id, "tu_other", True))[0] == 404
            status, reply = await answer(gateway, id, question["id"], approved)
            assert (status, reply["status"]) == (200, "approved" if approved else "denied")
            for again in (True, False):
                status, reply = await answer(gateway, id, question["id"], again)
                assert (status, reply["error"]["code"]) == (409, "already_decided")
            frames = await reading
            assert (tmp_path / "b.txt").exists() is approved
            shows = [len(frame.data) for frame in frames if frame.name == QUESTIONS]
            assert (shows[0], shows[-1], max(shows)) in ((0, 0, 1), (1, 0, 1))
            (post,) = [frame.data for frame in frames if frame.msg == "PostToolCall"]
            assert ("result" in post) is approved
            assert post["tool_call"]["id"] == question["id"]

    run(work)


def test_silence_is_a_no(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        settings = replace(settings_in(tmp_path), tasks=Tasks(confirm_seconds=0.4))
        async with served(tmp_path, settings) as gateway:
            id = (await new(gateway, tmp_path, "write b.txt"))["id"]
            await idle(gateway, id)
            assert not (tmp_path / "b.txt").exists()
            (post,) = [e for e in await page(gateway, id) if e["msg"] == "PostToolCall"]
            assert "error" in post
            status, reply = await answer(gateway, id, post["tool_call"]["id"], True)
            assert (status, reply["error"]["details"]) == (409, {"status": "timeout"})

    run(work)


def test_a_run_that_is_stopped_asks_no_longer(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "write b.txt"))["id"]
            question = await asked(gateway, id)
            assert (await gateway.ask("POST", f"/task/{id}/cancel"))[0] == 200
            status, reply = await answer(gateway, id, question["id"], True)
            assert (status, reply["error"]["details"]) == (409, {"status": "cancelled"})
            assert (await shown(gateway, id))["confirmations"] == []
            await say(gateway, id, "never mind")
            await idle(gateway, id)
            assert not (tmp_path / "b.txt").exists()
            assert (await page(gateway, id))[-1]["msg"] == "PostConversation"

    run(work)


def test_nobody_else_says_yes(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "write b.txt", own))["id"]
            question = await asked(gateway, id, own)
            body = {"id": question["id"], "approved": True}
            assert (await gateway.ask("POST", f"/task/{id}/confirmations", body, other))[0] == 404
            assert not (tmp_path / "b.txt").exists()
            assert (await gateway.ask("POST", f"/task/{id}/confirmations", body, own))[0] == 200

    run(work)


SCRIPT = Path(__file__).parents[2] / "tools" / "mcp_server.py"


def test_the_servers_of_the_configuration_are_tools_of_tasks(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the extra mcp is not installed")

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        servers = {"test": {"command": sys.executable, "args": [str(SCRIPT), "stdio"]}}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        tasks = Tasks(servers=str(tmp_path / "mcp.json"))
        async with served(tmp_path, replace(settings_in(tmp_path), tasks=tasks)) as gateway:
            id = (await new(gateway, tmp_path, "echo hello"))["id"]
            await idle(gateway, id)
            (post,) = [e for e in await page(gateway, id) if e["msg"] == "PostToolCall"]
            assert (post["name"], post["result"]) == ("echo", "hello")
            offered = [tool["name"] for tool in provider.requests[0]["tools"]]
            assert offered[:4] == ["read_file", "list_files", "write_file", "echo"]

    run(work)


def test_a_file_of_servers_that_cannot_be_read_keeps_nobody_from_working(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        (tmp_path / "mcp.json").write_text("{")
        tasks = Tasks(servers=str(tmp_path / "mcp.json"))
        async with served(tmp_path, replace(settings_in(tmp_path), tasks=tasks)) as gateway:
            id = (await new(gateway, tmp_path, "hello"))["id"]
            await idle(gateway, id)
            assert (await page(gateway, id))[-1]["msg"] == "PostConversation"

    run(work)


def test_servers_are_named_beside_the_file_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    file = tmp_path / "folder" / "gateway.toml"
    named = read(b'[tasks]\nservers = "mine.json"\nfolders = ["/srv"]\nrounds = 3\n', file)
    assert (named.tasks.folders, named.tasks.rounds) == (("/srv",), 3)
    assert servers_path(named) == tmp_path / "folder" / "mine.json"
    assert servers_path(read(b"", file)) == tmp_path / "mcp.json"
    assert servers_path(read(b'[tasks]\nservers = ""\n', file)) is None
    for wrong in (b"rounds = 0", b"confirm_seconds = -1", b"folders = 7", b"shell = true"):
        with pytest.raises(ConfigError, match=r"tasks\."):
            read(b"[tasks]\n" + wrong, file)
