"""Smaller faults: sessions behind those of others, whose things are whose, trailers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.store.base import Store
from tests.gateway.audits.test_framing import sent
from tests.gateway.serving import OPENAI, Upstream, key, served
from tests.store.places import ask

BODY: dict[str, Any] = {"model": OPENAI, "input": "hi", "max_output_tokens": 9}


def test_sessions_are_found_behind_many_of_others(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            for _ in range(3):
                await gateway.ask("POST", "/sessions", {"workspace_path": "."}, own)
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, other)
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                _copied(store, made["id"], 4500)
            _, page, _ = await gateway.ask("GET", "/sessions?limit=2", token=own)
            assert (len(page["sessions"]), page["has_more"]) == (2, True)
            last = page["sessions"][-1]["id"]
            _, page, _ = await gateway.ask("GET", f"/sessions?limit=2&before={last}", token=own)
            assert (len(page["sessions"]), page["has_more"]) == (1, False)
            _, page, _ = await gateway.ask("GET", "/sessions?limit=200", token=other)
            assert (len(page["sessions"]), page["has_more"]) == (200, True)

    with Upstream() as provider:
        asyncio.run(work(provider))


def _copied(store: Store, id: str, count: int) -> None:
    """So many more of a session, all of them newer."""
    ask(
        store,
        "INSERT INTO sessions (id, workspace_path, active_model, routing_policy_json,"
        " schema_version, created_at, updated_at)"
        " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
        " SELECT s.id || n.i, s.workspace_path, s.active_model, s.routing_policy_json,"
        " s.schema_version, s.created_at, s.updated_at + n.i FROM sessions s, n WHERE s.id = ?",
        (count, id),
    )


def test_sessions_are_found_by_their_owner(address: str) -> None:
    with il.open_store(address) as store:
        for number, policy in enumerate(
            ({"owner": "a"}, {"owner": "b"}, None, {"owner": "a", "kind": "losses"}, {"owner": "a"})
        ):
            row = store.create_session(f"/w{number}")
            store.update_session(row.id, routing_policy=policy)
        assert [row.workspace_path for row in store.sessions_of("a")] == ["/w4", "/w0"]
        (last,) = store.sessions_of("a", 1)
        assert [row.workspace_path for row in store.sessions_of("a", 5, last)] == ["/w0"]
        assert [row.workspace_path for row in store.sessions_of(None)] == ["/w2"]


class Keeper(Upstream):
    """Answers of the Responses API with items and a conversation."""

    def answer(self, handler: Any, dialect: str, wire: dict[str, Any]) -> None:
        self.requests.append(wire)
        text = {"type": "output_text", "text": "hi", "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        whole = {
            **{"id": "resp_1", "object": "response", "created_at": 1, "status": "completed"},
            **{"model": "m", "output": [{**item, "content": [text]}]},
            **{"conversation": {"id": "conv_1"}, "tools": [], "tool_choice": "auto"},
            **{"parallel_tool_calls": True, "usage": {"input_tokens": 1, "output_tokens": 1}},
        }
        done = {"type": "response.completed", "sequence_number": 0, "response": whole}
        frame = f"event: response.completed\ndata: {json.dumps(done)}\n\n"
        data = (frame if wire.get("stream") else json.dumps(whole)).encode()
        handler.send_response(200)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


NAMED: list[dict[str, Any]] = [
    {"conversation": "conv_1"},
    {"conversation": {"id": "conv_1"}},
    {"input": [{"type": "item_reference", "id": "msg_1"}]},
    {"input": [{"id": "msg_1"}, "odd"]},
    {"input": [{"type": "message", "id": "msg_1", "role": "assistant", "content": []}]},
]


@pytest.mark.parametrize("stream", [False, True])
def test_nobody_brings_up_anothers_items_or_conversation(tmp_path: Path, stream: bool) -> None:
    async def work(provider: Keeper) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            body = {**BODY, "stream": stream}
            status, reply, _ = await gateway.ask("POST", "/v1/responses", body, own)
            assert status == 200, reply
            for named in NAMED:
                count = len(provider.requests)
                fields = {**BODY, **named}
                status, reply, _ = await gateway.ask("POST", "/v1/responses", fields, other)
                assert (status, len(provider.requests)) == (404, count), reply
                status, reply, _ = await gateway.ask("POST", "/v1/responses", fields, own)
                assert status == 200, reply
            unknown = {**BODY, "conversation": "conv_of_another_time"}
            assert (await gateway.ask("POST", "/v1/responses", unknown, other))[0] == 200

    with Keeper() as provider:
        asyncio.run(work(provider))


def test_what_everybody_spends_is_told_to_those_who_may_know(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        plain = key(tmp_path, "plain").token
        watcher = key(tmp_path, "watcher", read_metrics=True).token
        async with served(tmp_path) as gateway:
            fields = {"model": OPENAI, "messages": [{"role": "user", "content": "hi"}]}
            await gateway.ask("POST", "/v1/chat/completions", fields, plain)
            await gateway.service.gateway.trace.flush()  # type: ignore[attr-defined]
            _, all_of_it, _ = await gateway.ask("GET", "/metrics", token=watcher)
            _, part, _ = await gateway.ask("GET", "/metrics", token=plain)
            assert "interlingua_tokens_total{" in all_of_it
            assert "interlingua_tokens" not in part
            assert "interlingua_cost_usd" not in part
            assert "interlingua_requests_total{" in part

    with Upstream() as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize("name", ["authorization", "x-api-key", "host"])
def test_a_trailer_is_no_header(tmp_path: Path, name: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path).token
        value = {"authorization": f"Bearer {token}", "x-api-key": token, "host": "evil.example"}
        async with served(tmp_path) as gateway:
            body = json.dumps({**BODY}).encode()
            own = f"Authorization: Bearer {token}\r\n" if name == "host" else ""
            head = (
                "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                f"{own}Connection: close\r\n\r\n"
            )
            chunk = b"%x\r\n%b\r\n" % (len(body), body)
            trailer = f"0\r\n{name}: {value[name]}\r\n\r\n".encode()
            out, _ = await sent(gateway, head.encode() + chunk + trailer)
            wanted = b"HTTP/1.1 200" if name == "host" else b"HTTP/1.1 401"
            assert out.startswith(wanted), out

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_a_gateway_whose_store_takes_nothing_is_not_ready(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200
            gateway.service.health._found = (0.0, True)
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                full = "BEFORE UPDATE ON holders BEGIN SELECT RAISE (FAIL, 'full'); END"
                ask(store, f"CREATE TRIGGER full {full}")
            assert (await gateway.ask("GET", "/health/ready"))[0] == 503

    with Upstream() as provider:
        asyncio.run(work(provider))
