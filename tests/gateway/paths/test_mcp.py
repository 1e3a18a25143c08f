"""The MCP server of the gateway, with the official client: tools by key, sessions by tenant."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import interlingua as il
from interlingua import transcripts
from interlingua.gateway.keys.key_admin import change, revoke
from interlingua.gateway.sessions import transcripts as transcripts_api
from interlingua.gateway.settings import Settings, Tasks
from interlingua.transcripts import Transcript
from tests.gateway.serving import Served, Upstream, key, served, settings_in

SCRIPT = Path(__file__).parents[2] / "tools" / "mcp_server.py"
OWN = {"search_sessions", "read_session"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {"text": "x"}},
}
HEADERS = {"accept": "application/json, text/event-stream"}


WORKS = {"command": sys.executable, "args": [str(SCRIPT), "stdio"]}


def with_servers(home: Path, servers: dict[str, Any] | None = None) -> Settings:
    servers = servers or {"test": WORKS}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return replace(settings_in(home), tasks=Tasks(servers=str(home / "mcp.json")))


@asynccontextmanager
async def client(gateway: Served, token: str | None) -> AsyncIterator[Client]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(f"{gateway.base}/mcp", http_client=http)
        async with Client(transport) as opened:  # type: ignore[arg-type]  # a transport
            yield opened


async def names(gateway: Served, token: str | None) -> set[str]:
    async with client(gateway, token) as opened:
        return {tool.name for tool in (await opened.list_tools()).tools}


def text(result: Any) -> str:
    return str(result.content[0].text)


async def said(gateway: Served, token: str | None, words: str) -> str:
    """A session with one turn in it; its id."""
    _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, token)
    path = f"/sessions/{made['id']}"
    await gateway.ask("POST", f"{path}/turns", {"content": words}, token)
    for _ in range(200):
        _, reply, _ = await gateway.ask("GET", f"{path}/messages", token=token)
        if len(reply["messages"]) >= 2:
            break
        await asyncio.sleep(0.02)
    return str(made["id"])


def test_a_right_to_call_a_tool_stays_with_its_server(tmp_path: Path) -> None:
    async def run(servers: dict[str, Any]) -> set[str]:
        both = key(tmp_path, f"key-{len(servers)}", allowed_tools=("one__*", "echo")).token
        async with served(tmp_path, with_servers(tmp_path, servers)) as gateway:
            return await names(gateway, both) - OWN

    broken = {"command": "/nowhere/at/all"}
    assert {"echo", "add"} <= asyncio.run(run({"one": WORKS}))
    assert asyncio.run(run({"one": broken, "two": WORKS})) == set()


def test_tools_of_servers_are_offered_by_key_and_called(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    async def run() -> None:
        all_, one, none = (
            key(tmp_path, "all", allowed_tools=("*",)),
            key(tmp_path, "one", allowed_tools=("ec*",)),
            key(tmp_path, "none"),
        )
        async with served(tmp_path, with_servers(tmp_path)) as gateway:
            everything = await names(gateway, all_.token)
            assert {"echo", "add", *OWN} <= everything
            assert not {"read_file", "write_file"} & everything, "files of the machine are not"
            assert await names(gateway, one.token) == {"echo", *OWN}
            assert await names(gateway, none.token) == OWN
            async with client(gateway, all_.token) as opened:
                assert "5" in text(await opened.call_tool("add", {"a": 2, "b": 3}))
                wrong = await opened.call_tool("add", {"a": "no"})
                assert wrong.is_error
                mixed = await opened.call_tool("everything", {})
                assert {"text", "image"} <= {each.type for each in mixed.content}
            for token in (one.token, none.token):
                async with client(gateway, token) as opened:
                    refused = await opened.call_tool("add", {"a": 1})
                    assert refused.is_error
                    assert "there is no tool" in text(refused)
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                change(store, one.key.id, allowed_tools=None)
            async with client(gateway, one.token) as opened:
                assert (await opened.call_tool("echo", {"text": "x"})).is_error, "it was taken away"
                assert (await opened.call_tool("a secret in a name", {})).is_error
            called = [each.__dict__["tool"] for each in caplog.records if each.msg == "mcp_call"]
            assert called == ["add", "add", "everything", *["unknown"] * 4]

    asyncio.run(run())


def test_sessions_are_searched_and_read_by_their_tenant_alone(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            id = await said(gateway, own, "a secret needle")
            async with client(gateway, own) as opened:
                found = json.loads(
                    text(await opened.call_tool("search_sessions", {"query": "needle"}))
                )
                assert found["messages"][0]["session_id"] == id
                assert "transcripts" not in found, "those are the machine's user's"
                shown = json.loads(text(await opened.call_tool("read_session", {"id": id})))
                assert shown["message_count"] >= 2
                assert "needle" in json.dumps(shown["messages"])
                late = await opened.call_tool("read_session", {"id": id, "after": 1, "limit": 1})
                assert len(json.loads(text(late))["messages"]) == 1
                for input in ({"id": id, "limit": 0}, {"id": id, "after": -1}, {}, {"id": "x\0"}):
                    assert (await opened.call_tool("read_session", input)).is_error, input
                assert (
                    await opened.call_tool("read_session", {"id": "1", "agent": "codex"})
                ).is_error
            async with client(gateway, other) as opened:
                found = json.loads(
                    text(await opened.call_tool("search_sessions", {"query": "needle"}))
                )
                assert found == {"messages": []}
                missing = await opened.call_tool(
                    "read_session", {"id": "01HZ0000000000000000000000"}
                )
                theirs = await opened.call_tool("read_session", {"id": id})
                assert theirs.is_error
                assert text(theirs) == text(missing), "who guesses an id learns nothing"

    with Upstream() as provider:
        asyncio.run(run(provider))


def test_sessions_of_agents_are_searched_by_their_text_and_read_in_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    for number in range(3):
        id = f"0c6a1f3e-5b7d-4c8e-9a51-3f1d2b4c6e8{number}"
        messages = [il.Message.user(f"Task {number}")]
        messages += [
            il.Message.user(f"line {each}: lay the Ankerkette, part {number}") for each in range(8)
        ]
        made = Transcript.of("claude-code", messages, id=id, folder="/work")
        transcripts.write(made, folder / f"{id}.jsonl", "claude-code")

    async def run() -> None:
        async with served(tmp_path) as gateway, client(gateway, None) as opened:

            async def asked(name: str, **input: Any) -> Any:
                return json.loads(text(await opened.call_tool(name, input)))

            found = await asked("search_sessions", query="ankerkette, part 1")
            (row,) = found["transcripts"]
            assert (row["name"], found["complete"]) == ("Task 1", True)
            assert [match["role"] for match in row["matches"]] == ["user"] * 3
            assert "lay the Ankerkette, part 1" in row["matches"][0]["text"]
            assert str(tmp_path) not in str(found), "where files are is not told"
            assert len((await asked("search_sessions", query="lay the"))["transcripts"]) == 3
            short = await asked("search_sessions", query="lay the", limit=2)
            assert (len(short["transcripts"]), short["complete"]) == (2, False)
            assert [
                r["name"] for r in (await asked("search_sessions", query="2 task"))["transcripts"]
            ] == ["Task 2"], "words of a title, in any order"
            assert (await asked("search_sessions", query="nothing of it"))["transcripts"] == []

            read: list[Any] = []
            while len(read) < row["message_count"]:
                where = {"id": row["id"], "agent": row["source"], "after": len(read), "limit": 4}
                page = await asked("read_session", **where)
                assert page["from"] == len(read)
                assert 1 <= len(page["messages"]) <= 4
                read += page["messages"]
            assert len({json.dumps(each) for each in read}) == row["message_count"] == 9
            last = await asked("read_session", id=row["id"], agent=row["source"], limit=2)
            assert (last["from"], last["messages"]) == (7, read[-2:])

            monkeypatch.setattr(transcripts_api, "LONGEST_SEARCH", 0.0)
            late = await asked("search_sessions", query="ankerkette")
            assert (late["transcripts"], late["complete"]) == ([], False)

    asyncio.run(run())


def test_who_has_no_valid_key_gets_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        gone = key(tmp_path, "gone", allowed_tools=("*",))
        late = key(
            tmp_path,
            "late",
            allowed_tools=("*",),
            expires_at=datetime.now(UTC) + timedelta(seconds=0.2),
        )
        good = key(tmp_path, "good", allowed_tools=("*",))
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            revoke(store, gone.key.id)
        await asyncio.sleep(0.3)
        async with served(tmp_path, with_servers(tmp_path)) as gateway:
            for token in (None, "gw_wrong", gone.token, late.token):
                status, _, _ = await gateway.ask("POST", "/mcp", CALL, token, headers=HEADERS)
                assert status == 401, token
                for method in ("GET", "DELETE"):
                    assert (await gateway.ask(method, "/mcp", None, token))[0] == 405
            origin = {**HEADERS, "origin": "https://evil.example"}
            assert (await gateway.ask("POST", "/mcp", CALL, good.token, headers=origin))[0] == 403
            assert (await gateway.ask("POST", "/mcp", CALL, good.token, headers=HEADERS))[0] == 200
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                revoke(store, good.key.id)
            status, _, _ = await gateway.ask("POST", "/mcp", CALL, good.token, headers=HEADERS)
            assert status == 401, "at once, not when a lookup is forgotten"

    asyncio.run(run())


def test_a_gateway_without_keys_offers_everything_to_its_machine(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, with_servers(tmp_path)) as gateway:
            assert {"echo", *OWN} <= await names(gateway, None)

    asyncio.run(run())


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff" * 1000])
def test_what_is_no_message_is_refused(tmp_path: Path, body: bytes) -> None:
    async def run() -> None:
        token = key(tmp_path).token
        async with served(tmp_path) as gateway:
            headers = {**HEADERS, "content-type": "application/json"}
            status, _, _ = await gateway.ask(
                "POST", "/mcp", None, token, data=body, headers=headers
            )
            assert status == 400

    asyncio.run(run())
