"""Who may ask what: every path times every kind of caller."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.gateway.keys.key_admin import revoke
from interlingua.gateway.paths.guard import host_of
from interlingua.gateway.paths.routes import Row, rows
from interlingua.gateway.server.worker import JsonLines
from interlingua.gateway.shared.fronts import paths as front_paths
from interlingua.model.ids import Ulids
from tests.gateway.serving import Served, Upstream, asked, key, served

SOMETHING = str(Ulids().new())
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/sessions"): {"workspace_path": "."},
    ("POST", "/sessions/{id}/turns"): {"content": "hi"},
    ("PATCH", "/sessions/{id}"): {"active_model": None},
    ("POST", "/routing/check"): {"rules": "schema_version = 1"},
    ("POST", "/convert"): {"text": "{}", "target": "anthropic"},
    ("POST", "/task"): {},
    ("POST", "/mcp"): {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    ("POST", "/task/{id}/message"): {"role": "user", "content": "hi"},
    ("POST", "/task/{id}/confirmations"): {"id": "tu_1", "approved": False},
}
PAGE = {"accept": "application/json"}
"""Streams have no end; a page of them has."""


def _path(row: Row, id: str = SOMETHING) -> str:
    return (
        row.path.replace("{id}", id)
        .replace("{model:path}", "anthropic:claude-sonnet-4-6")
        .replace("{message}", SOMETHING)
        .replace("{item}", SOMETHING)
    )


def _body(row: Row) -> Any:
    return BODIES.get((row.method, row.path.removeprefix("/v1").removeprefix("/il")))


def _revoked(home: Path) -> str:
    made = key(home, "revoked")
    with il.open_store(str(home / "gateway.db")) as store:
        revoke(store, made.key.id)
    return made.token


async def _expired(home: Path) -> str:
    made = key(home, "expired", expires_at=datetime.now(UTC) + timedelta(seconds=0.3))
    await asyncio.sleep(0.4)
    return made.token


def _code(told: Any) -> Any:
    """Where each dialect has it."""
    error = told.get("error") if isinstance(told, dict) else None
    return error.get("code") if isinstance(error, dict) else None


@pytest.mark.requirement("S002-37")
def test_every_path_asks_for_a_key_unless_the_table_says_that_it_is_open(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        tokens = {
            "none": None,
            "bad": "gw_" + "x" * 43,
            "revoked": _revoked(tmp_path),
            "expired": await _expired(tmp_path),
        }
        good = key(tmp_path, admin=True).token
        hosted = [
            row._replace(path=row.path.replace("/v1", start, 1))
            for row in rows()
            if row.dialect and row.path.startswith("/v1/")
            for start in ("/openai/v1", "/openai", "/api/v1", "/openai/deployments/x")
        ]
        async with served(tmp_path) as gateway:
            for row in (*rows(), *hosted):
                for kind, token in tokens.items():
                    status, reply, headers = await gateway.ask(
                        row.method, _path(row), _body(row), token, headers=PAGE
                    )
                    if row.open:
                        assert status == 200, (row, kind, reply)
                    else:
                        assert status == 401, (row, kind, reply)
                        assert "www-authenticate" in headers, (row, kind)
                        if not row.dialect:
                            assert _code(reply) in (
                                *("missing_key", "invalid_key"),
                                *("key_revoked", "key_expired"),
                            ), (row, kind, reply)
                status, reply, _ = await gateway.ask(
                    row.method, _path(row), _body(row), good, headers=PAGE
                )
                assert status not in (401, 403, 405, 500), (row, reply)

    with Upstream() as provider:
        asyncio.run(run(provider))


def test_every_front_asks_for_a_key_in_its_own_words(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        key(tmp_path)
        async with served(tmp_path) as gateway:
            for path in (*front_paths(), "/v1beta/models/x:generateContent"):
                status, reply, _ = await gateway.ask("POST", path, {"model": "x"}, "gw_bad")
                assert status == 401, path
                assert "error" in reply or "error_type" in reply, (path, reply)
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(run(provider))


TRICKS = (
    *("//metrics", "/metrics/", "/METRICS", "/./metrics", "/v1/../metrics", "/metrics;a=b"),
    *("/%2fmetrics", "/metrics%2f", "/metrics%00", "/health/../metrics", "/health/live/../metrics"),
    *("/openapi.json/../metrics", "/metrics%3fx", "/v1//metrics", "/%6detrics", "/metrics?key="),
    *("/health/live;/../../metrics", "/sessions%2f", "/v1/%2e%2e/metrics"),
    *("/openai/v1/metrics", "/api/v1/../metrics", "/openai/requests", "/openai/deployments/x/keys"),
)


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS", "DELETE"])
def test_no_spelling_of_a_path_gets_past_the_key(tmp_path: Path, method: str) -> None:
    async def run() -> None:
        key(tmp_path)
        async with served(tmp_path) as gateway:
            port = int(gateway.base.rpartition(":")[2])
            for path in TRICKS:
                for extra in ("", "X-HTTP-Method-Override: GET\r\nX-Original-URL: /health\r\n"):
                    status = await _raw(port, f"{method} {path} HTTP/1.1\r\n{_HOST}{extra}")
                    assert status in (400, 401, 403, 404, 405), (path, status)

    asyncio.run(run())


_HOST = "Host: 127.0.0.1\r\nConnection: close\r\n"


async def _raw(port: int, head: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode("latin-1") + b"\r\n")
    data = await asyncio.wait_for(reader.read(65536), 5)
    writer.close()
    return int(data.split(b" ")[1]) if data.startswith(b"HTTP/") else 400


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost:8400", 200),
        ("LOCALHOST", 200),
        ("[::1]:80", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("evil.example:8400", 403),
        ("localhost@evil.example", 403),
        ("", 403),
        ("localhost, evil.example", 403),
        ("localhost/evil", 403),
        ("localhost:99999", 403),
    ],
)
def test_a_name_that_is_not_ours_is_refused(tmp_path: Path, host: str, status: int) -> None:
    async def run() -> None:
        async with served(tmp_path) as gateway:
            port = int(gateway.base.rpartition(":")[2])
            head = f"GET /health/live HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
            assert await _raw(port, head) == status
            twice = f"GET /health/live HTTP/1.1\r\nHost: {host}\r\nHost: localhost\r\n"
            assert await _raw(port, twice + "Connection: close\r\n") in (400, 403)

    asyncio.run(run())


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", ""])
def test_web_pages_are_refused_before_anything_is_asked(tmp_path: Path, origin: str) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for path, body in (("/v1/chat/completions", asked("hi")), ("/sessions", {})):
                status, reply, headers = await gateway.ask(
                    "POST", path, body, headers={"origin": origin}
                )
                assert (status, _code(reply)) == (403, "origin_not_allowed")
                assert not any(name.startswith("access-control") for name in headers)
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(run(provider))


def test_the_gateways_own_page_may_ask(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as gateway:
            for origin in (gateway.base, gateway.base.replace("http:", "https:")):
                for path in ("/sessions", "/task"):
                    body = {"workspace_path": "."} if path == "/sessions" else {}
                    status, reply, headers = await gateway.ask(
                        "POST", path, body, headers={"origin": origin}
                    )
                    assert status in (201, 409), reply
                    assert not any(name.startswith("access-control") for name in headers)
            other = gateway.base.replace("127.0.0.1", "localhost")
            status, reply, _ = await gateway.ask("POST", "/task", {}, headers={"origin": other})
            assert (status, _code(reply)) == (403, "origin_not_allowed")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
        ("cross-site", "navigate", 200),
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
    ],
)
def test_what_a_page_of_elsewhere_loads_is_refused(
    tmp_path: Path, site: str, mode: str, status: int
) -> None:
    async def run() -> None:
        async with served(tmp_path) as gateway:
            fields = {"sec-fetch-site": site, "sec-fetch-mode": mode}
            assert (await gateway.ask("GET", "/tasks", headers=fields))[0] == status

    asyncio.run(run())


def test_another_tenant_never_sees_what_is_somebodys(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, own)
            id = made["id"]
            for row in rows():
                if "/sessions/{id}" not in row.path:
                    continue
                missing = await gateway.ask(row.method, _path(row), _body(row), other)
                theirs = await gateway.ask(row.method, _path(row, id), _body(row), other)
                assert theirs[0] == missing[0] == 404, row
                assert theirs[1] == missing[1], "who guesses an id learns nothing"
            _, listed, _ = await gateway.ask("GET", "/sessions", token=other)
            assert listed["sessions"] == []
            _, listed, _ = await gateway.ask("GET", "/sessions", token=own)
            assert [each["id"] for each in listed["sessions"]] == [id]
            await _no_losses_of_others(gateway, own, other)

    with Upstream() as provider:
        asyncio.run(run(provider))


async def _no_losses_of_others(gateway: Served, mine: str, other: str) -> None:
    body = asked("hi", logit_bias={"1": 5}, seed=3)
    status, _, headers = await gateway.ask("POST", "/v1/chat/completions", body, mine)
    assert status == 200
    count = int(headers["x-interlingua-losses"])
    assert count > 0
    path = f"/losses/{headers['x-request-id']}"
    assert (await gateway.ask("GET", path, token=other))[0] == 404
    status, report, _ = await gateway.ask("GET", path, token=mine)
    assert status == 200
    assert report["count"] == len(report["losses"]) == count


def test_unknown_paths_and_methods_get_an_error_of_ours(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as gateway:
            status, reply, _ = await gateway.ask("GET", "/nothing")
            assert (status, _code(reply)) == (404, "not_found")
            status, reply, headers = await gateway.ask("PUT", "/sessions")
            assert (status, _code(reply)) == (405, "method_not_allowed")
            assert "GET" in headers["allow"]

    asyncio.run(run())


@given(st.binary(max_size=60))
def test_no_header_breaks_the_look_at_a_host(value: bytes) -> None:
    host = host_of(value)
    assert host is None or (host == host.lower() and "/" not in host and "@" not in host)


def test_models_that_make_embeddings_are_listed(tmp_path: Path) -> None:
    async def run(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            _, listed, _ = await gateway.ask("GET", "/v1/models")
            assert "openai:text-embedding-3-small" in {each["id"] for each in listed["data"]}
            _, listed, _ = await gateway.ask("GET", "/v1beta/models?pageSize=1000")
            named = {each["name"]: each for each in listed["models"]}
            found = named["models/openai:text-embedding-3-small"]["supportedGenerationMethods"]
            assert found == ["embedContent", "batchEmbedContents"]

    with Upstream() as provider:
        asyncio.run(run(provider))


def test_every_refused_request_is_a_line_of_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With a time, the route, the status and the code, and without the key that came with it."""

    def lines() -> list[dict[str, Any]]:
        found = [json.loads(JsonLines().format(record)) for record in caplog.records]
        caplog.clear()
        return [line for line in found if line["level"] == "warning" and "status" in line]

    async def work() -> None:
        async with served(tmp_path) as gateway:
            token = key(tmp_path, "reader", allowed_models=["openai:gpt-5"]).token
            for row in rows():
                if row.open or row.admin:
                    continue
                await gateway.ask(row.method, _path(row), _body(row), "gw_wrong_key", headers=PAGE)
                [line] = lines()
                assert (line["status"], line["route"]) == (401, row.path), line
                assert line["code"]
                assert datetime.fromisoformat(line["at"]).tzinfo is UTC
                assert "gw_wrong_key" not in str(line)
            key(tmp_path, "admin", admin=True)
            gateway.service.gateway.keys.forget()
            secret = "/v1/sk-ant-api03-" + "a" * 40
            for method, path, status in (
                ("GET", "/admin/keys", 403),
                ("GET", f"/task/{SOMETHING}", 404),
                ("GET", "/v1/models/openai:nothing", 404),
                ("GET", f"/v1/files/{SOMETHING}", 404),
                ("POST", "/convert", 400),
                ("POST", "/v1/moderations", 403),
                ("POST", "/mcp", 406),
                ("PUT", "/v1/batches", 405),
                ("GET", "/v1/fine_tuning/jobs", 501),
                ("GET", "/nowhere", 404),
                ("GET", secret, 404),
            ):
                found, reply, _ = await gateway.ask(
                    method, path, {}, token, headers={"accept": "x"}
                )
                assert found == status, (path, reply)
                await gateway.stored()
                seen = lines()
                assert [line["status"] for line in seen] == [status], (path, seen)
                assert "a" * 40 not in str(seen)
            await gateway.ask("GET", "/requests", headers={"host": "elsewhere.example"})
            assert [line["code"] for line in lines()] == ["host_not_allowed"]

    caplog.set_level("WARNING", "interlingua")
    asyncio.run(work())
