"""Clever inputs: SQL in every string, spellings of paths, fields that nobody may set, names that
look like parts of programs; and what a thief of the database would find."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

import interlingua as il
from interlingua.gateway.keys.key_admin import add_user, revoke
from interlingua.gateway.paths.routes import rows
from interlingua.gateway.shared.fronts import paths as front_paths
from tests.agents.chat.provider import KEY
from tests.gateway.audits.lines import Line
from tests.gateway.paths.test_routes import _body, _path
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, asked, key, served

SQL = [
    "' OR '1'='1",
    "' OR 1=1 --",
    "'; DROP TABLE sessions; --",
    '"; DROP TABLE messages; --',
    "' UNION SELECT secret_hash, name FROM gateway_keys --",
    "') OR ('a'='a",
    "1; ATTACH DATABASE '/tmp/x.db' AS x; --",
    "x' AND (SELECT count(*) FROM sqlite_master) > 0 --",
    "'; SELECT pg_sleep(10); --",
    "$$; DROP TABLE events; $$",
    "%' ESCAPE '\\",
    "\\'; DELETE FROM ledger; --",
    "admin'/*",
    "?, ?, ?",
    ":name",
    "%s %(x)s {0} {x!r}",
    "0x27204f522027",
    "ʼ OR 1=1",
    "_%[^a]",
    "' || (SELECT 1) || '",
]


def _tables(home: Path) -> list[tuple[str, str]]:
    """Only while no gateway has the file open: two libraries take each other's locks."""
    with closing(sqlite3.connect(home / "gateway.db")) as store:
        return sorted(store.execute("SELECT name, coalesce(sql, '') FROM sqlite_master"))


def _columns(home: Path) -> set[str]:
    with closing(sqlite3.connect(home / "gateway.db")) as store:
        tables = [row[0] for row in store.execute("SELECT name FROM pragma_table_list")]
        return {
            str(row[1])
            for table in tables
            for row in store.execute(f"PRAGMA table_info('{table}')")
        }


def test_sql_in_any_string_is_only_a_string(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, keep_content=True).token
        before = _tables(tmp_path)
        async with served(tmp_path) as gateway:
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, token)
            sessions = 1
            for text in SQL:
                await _as_a_key(gateway, text)
                sessions += await _as_a_session(gateway, made["id"], text, token)
                await _as_a_request(gateway, text, token)
            _, listed, _ = await gateway.ask("GET", "/sessions?limit=200", token=token)
            assert len(listed["sessions"]) == sessions
            assert len(provider.requests) >= len(SQL) * 2
        assert _tables(tmp_path) == before

    with Upstream() as provider:
        asyncio.run(work(provider))


async def _as_a_key(gateway: Served, text: str) -> None:
    plain = text.encode().decode("latin-1")
    for headers in (
        {"authorization": f"Bearer {plain}"},
        {"authorization": plain},
        {"x-api-key": plain},
        {"x-goog-api-key": plain},
    ):
        for method, path, body in (
            ("GET", "/sessions", None),
            ("POST", "/v1/chat/completions", asked("hi")),
            ("POST", "/v1/messages", asked("hi", max_tokens=3)),
        ):
            status, reply, _ = await gateway.ask(method, path, body, headers=headers)
            assert status == 401, (text, reply)
    status, _, _ = await gateway.ask("GET", f"/metrics?key={quote(text)}")
    assert status == 401


async def _as_a_session(gateway: Served, id: str, text: str, token: str) -> int:
    body = {"workspace_path": text, "name": text, "system": text}
    status, made, _ = await gateway.ask("POST", "/sessions", body, token)
    assert (status, made["name"], made["workspace_path"]) == (201, text, text)
    status, page, _ = await gateway.ask("GET", f"/sessions/{made['id']}/messages", token=token)
    assert status == 200, page
    assert page["messages"][0]["content"][0]["text"] == text
    odd = quote(text, safe="")
    for method, path, content in (
        ("POST", "/sessions", {**body, "active_model": text}),
        ("PATCH", f"/sessions/{id}", {"active_model": text}),
        ("POST", f"/sessions/{id}/turns", {"content": "hi", "per_message_override": text}),
        ("GET", f"/sessions/{odd}", None),
        ("DELETE", f"/sessions/{odd}?purge=true", None),
        ("GET", f"/sessions?before={odd}", None),
        ("GET", f"/sessions?limit={odd}", None),
        ("GET", f"/sessions/{id}/messages?before={odd}", None),
        ("GET", f"/sessions/{id}/messages?after={odd}", None),
        ("GET", f"/sessions/{id}/events?types={odd}", None),
        ("GET", f"/sessions/{id}/events?after={odd}", None),
        ("GET", f"/losses/{odd}", None),
        ("GET", f"/losses/req_{odd}", None),
        ("GET", f"/v1/responses/{odd}", None),
        ("DELETE", f"/v1/responses/{odd}", None),
        ("GET", f"/v1/models/{odd}", None),
    ):
        status, reply, _ = await gateway.ask(method, path, content, token)
        assert status in (400, 404, 405), (method, path, reply)
    return 1


async def _as_a_request(gateway: Served, text: str, token: str) -> None:
    calls = [{"id": text, "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    turns = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": text, "content": text},
    ]
    body = {"model": ANTHROPIC, "messages": turns, "user": text, "metadata": {text: text}}
    status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", body, token)
    assert status == 200, (text, reply)
    fields = {"model": ANTHROPIC, "input": text, "previous_response_id": text}
    status, reply, _ = await gateway.ask("POST", "/v1/responses", fields, token)
    assert status == 400, (text, reply)
    status, reply, _ = await gateway.ask(
        "POST", "/v1/responses", {"model": ANTHROPIC, "input": text}, token
    )
    assert status == 200, (text, reply)
    status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", asked("hi", text), token)
    assert status in (200, 400, 404), (text, reply)


# Paths


def mutations(path: str, chance: random.Random) -> str:
    """Another spelling, which a careless guard may take for something else than its router does."""
    parts = path.split("/")
    at = chance.randrange(1, len(parts))
    part = parts[at]
    letter = chance.randrange(len(part)) if part else 0
    parts[at] = chance.choice(
        [
            part.upper(),
            part.title(),
            f"/{part}",
            f"./{part}",
            f"../{part}",
            f"x/../{part}",
            f"{part}/.",
            f"{part}/",
            f"{part}//",
            f"{part};a=b",
            f"{part}%00",
            f"{part}%20",
            f"{part}%2f",
            f"%2f{part}",
            f"%2e%2e%2f{part}",
            f"..%5c{part}",
            f"{part}%23",
            f"{part}%3f",
            f"{part}.json",
            f"{part}%0a",
            f"health/live/..%2f{part}",
            f"{part[:letter]}%{ord(part[letter]):02x}{part[letter + 1 :]}" if part else "%2e",
            f"{part[:letter]}%25{ord(part[letter]):02x}{part[letter + 1 :]}" if part else "%252e",
            f"{part}%c0%af",
            f"{part}%ef%bc%8f",
            f"{part}?key=",
            f"{part}#",
            f"{part}\\",
        ]
    )
    return "/".join(parts)


def test_no_mutation_of_a_path_gets_past_the_key(tmp_path: Path) -> None:
    chance = random.Random(7)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        key(tmp_path)
        open_ones = {row.path for row in rows() if row.open}
        closed = [(row.method, _path(row)) for row in rows() if not row.open]
        closed += [("POST", path) for path in front_paths()]
        closed += [("POST", "/v1beta/models/x:generateContent")]
        tricks = ("", "X-HTTP-Method-Override: GET\r\n", "X-Original-URL: /health/live\r\n")
        async with served(tmp_path) as gateway:
            line = Line(gateway)
            seen: dict[int, int] = {}
            for number in range(1500):
                method, path = closed[number % len(closed)]
                for _ in range(chance.randrange(1, 3)):
                    path = mutations(path, chance)
                if path.partition("#")[0].partition("?")[0] in open_ones:
                    continue  # what is left of it is a path that everybody may ask
                status = await line.status(method, path, chance.choice(tricks))
                assert status in (400, 401, 403, 404, 405, 501), (method, path, status)
                seen[status] = seen.get(status, 0) + 1
            line.close()
            assert seen[401] > 100, "some of them are spellings of a path that asks for a key"
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_every_front_times_every_kind_of_principal(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        end = datetime.now(UTC) + timedelta(seconds=2)
        expired = key(tmp_path, "expired", expires_at=end)
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            user = add_user(store, "Ada")
        disabled = key(tmp_path, "disabled", user_id=user.id).token
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            store.save_user(msgspec.structs.replace(user, status="disabled"))
        gone = key(tmp_path, "gone")
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            revoke(store, gone.key.id)
        narrow = key(tmp_path, "narrow", allowed_models=(OPENAI,)).token
        await asyncio.sleep(max((end - datetime.now(UTC)).total_seconds(), 0) + 0.05)
        kinds = {
            "none": (None, 401),
            "unknown": ("gw_" + "x" * 43, 401),
            "hash": (gone.key.secret_hash, 401),
            "id": (gone.key.id, 401),
            "revoked": (gone.token, 401),
            "expired": (expired.token, 401),
            "disabled": (disabled, 401),
            "another model": (narrow, 403),
        }
        bodies: dict[str, Any] = {
            "/v1/responses": {"model": ANTHROPIC, "input": "hi"},
            "/responses": {"model": ANTHROPIC, "input": "hi"},
            "/v1/completions": {"model": ANTHROPIC, "prompt": "hi"},
            "/completions": {"model": ANTHROPIC, "prompt": "hi"},
        }
        gemini = f"/v1beta/models/{ANTHROPIC}"
        contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
        for action in ("generateContent", "streamGenerateContent?alt=sse", "countTokens"):
            bodies[f"{gemini}:{action}"] = contents
        async with served(tmp_path) as gateway:
            for path in (*front_paths(), *[each for each in bodies if each.startswith(gemini)]):
                body = bodies.get(path, asked("hi", max_tokens=3))
                for kind, (token, expected) in kinds.items():
                    for place in ("authorization", "x-api-key", "x-goog-api-key"):
                        text = f"Bearer {token}" if place == "authorization" else token
                        headers = {} if text is None or token is None else {place: text}
                        status, reply, _ = await gateway.ask("POST", path, body, headers=headers)
                        assert status == expected, (path, kind, place, reply)
                        assert "error" in reply or "error_type" in reply, (path, kind)
                        assert OPENAI not in json.dumps(reply)
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(work(provider))


# Fields


def test_no_field_that_is_ours_can_be_set(tmp_path: Path) -> None:
    """Every writable path, with the name of every column of the database."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path).token
        columns = _columns(tmp_path)
        async with served(tmp_path) as gateway:
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, token)
            here = {"cwd": str(tmp_path)}
            task = (await gateway.ask("POST", "/task", here, token))[1]["task"]
            assert {"user_id", "team_id", "status", "secret_hash"} <= columns
            columns |= {"owner", "kind", "principal", "keep_content", "__class__", "role"}
            for row in rows():
                content = _body(row)
                if content is None or row.path.startswith(("/v1", "/mcp")):  # JSON-RPC ignores more
                    continue
                for name in sorted(columns - set(content) - {"name", "active_model", "system"}):
                    of = task if row.path.startswith("/task") else made
                    status, reply, _ = await gateway.ask(
                        row.method, _path(row, of["id"]), {**content, name: "x"}, token
                    )
                    assert status == 400, (row.path, name, reply)
            _, after, _ = await gateway.ask("GET", f"/sessions/{made['id']}", token=token)
            assert after == made
            assert provider.requests == []

    with Upstream() as provider:
        asyncio.run(work(provider))


NAMES = (
    *("__proto__", "__class__", "constructor", "prototype.x", "a.b.c", "a[0]", "a[b]", "$where"),
    *("$form", "__init__.__globals__", "..", "/", "", "\u202e", "{0.__class__}", "%s", "${x}"),
    *("raw", "metadata", "openai-chat", "anthropic", "x-api-key", "gen_ai.request.model"),
)


def test_names_inside_a_request_are_never_paths(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for name in NAMES:
                schema = {"type": "object", "properties": {name or "x": {"type": "string"}}}
                tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
                inside: dict[str, Any] = {name: {name: [{name: "canary"}]}}
                for model in (ANTHROPIC, OPENAI):
                    body = {**asked("hi", model, tools=[tool], metadata={name: "v"}), **inside}
                    status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", body)
                    assert status in (200, 400), (name, reply)
                up = [wire for wire in provider.requests if "input_schema" in json.dumps(wire)]
                if name and up:
                    found = up[-1]["tools"][0]["input_schema"]["properties"]
                    assert list(found) == [name], "a property keeps its name"
                for wire in provider.requests:
                    assert wire["model"] in ("claude-sonnet-4-6", "gpt-4.1")
                    assert wire["messages"][-1]["role"] == "user"
                provider.requests.clear()
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200
        assert not hasattr(il.Request, "canary")

    with Upstream() as provider:
        asyncio.run(work(provider))


# The database


def test_a_thief_of_the_database_finds_no_secret(tmp_path: Path) -> None:
    text = "canary-words-5d1f"

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        issued = [key(tmp_path, f"key {number}") for number in range(50)]
        async with served(tmp_path) as gateway:
            paths = itertools.cycle(["/v1/chat/completions", "/v1/messages", "/v1/responses"])
            for made, path in zip(issued, paths, strict=False):
                words = f"{text} fail" if made is issued[0] else f"think of {text}"
                body = {**asked(words, max_tokens=9), "input": words}
                if path == "/v1/responses":
                    del body["messages"]
                assert (await gateway.ask("POST", path, body, made.token))[0] in (200, 502)
                await gateway.ask("POST", path, body, made.token + "x")
                await gateway.ask("GET", f"/sessions?key={made.token[:-1]}")
            await gateway.stored()
            stolen = tmp_path.parent / f"{tmp_path.name}-stolen"
            # By another process: one that closes a file lets go of its locks on it.
            copy = "import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])"
            command = [sys.executable, "-c", copy, str(tmp_path), str(stolen)]
            await asyncio.to_thread(subprocess.run, command, check=True)
        await _nothing_in(stolen, [made.token for made in issued])
        await _nothing_in(tmp_path, [made.token for made in issued])

    async def _nothing_in(home: Path, tokens: list[str]) -> None:
        files = [each for each in home.rglob("*") if each.is_file() and each.suffix != ".toml"]
        assert any(each.name == "gateway.db" for each in files)
        whole = b"".join(each.read_bytes() for each in files)
        assert len(whole) > 50_000
        for token in tokens:
            for part in (token, token[3:], token[-12:]):
                assert part.encode() not in whole
        assert KEY.encode() not in whole
        assert text.encode() not in whole, "keys keep no content unless they say so"
        assert all(each.stat().st_mode & 0o077 == 0 for each in files), "nobody else may read them"

    with Upstream() as provider:
        asyncio.run(work(provider))


PLACES = ("api_base", "base_url", "apiBase", "custom_host", "endpoint", "proxy", "host", "url")
AROUND = ("metadata", "user_config", "litellm_params", "extra_body", "options", "model_list", "x")


def _nested(chance: random.Random, url: str) -> dict[str, Any]:
    inside: Any = {chance.choice(PLACES): url, "api_key": "k", "extra_headers": {"host": url}}
    for _ in range(chance.randrange(6)):
        name = chance.choice(AROUND)
        inside = {name: inside} if chance.random() < 0.7 else {name: [inside, inside]}
    return {**inside, chance.choice(PLACES): url}


def test_no_front_lets_a_client_name_the_host(tmp_path: Path) -> None:
    chance = random.Random(11)
    gemini = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    fronts: list[tuple[str, dict[str, Any]]] = [
        ("/v1/chat/completions", asked("hi")),
        ("/v1/chat/completions", asked("hi", OPENAI)),
        ("/v1/messages", asked("hi", max_tokens=3)),
        ("/v1/responses", {"model": ANTHROPIC, "input": "hi"}),
        ("/api/chat", asked("hi", stream=False)),
        (f"/v1beta/models/{ANTHROPIC}:generateContent", gemini),
        ("/v1/messages/count_tokens", asked("hi")),
    ]

    async def work(provider: Upstream, canary: Upstream) -> None:
        provider.configure(tmp_path)
        url = canary.url
        async with served(tmp_path) as gateway:
            for _ in range(40):
                for path, body in fronts:
                    odd = dict.fromkeys((f"x-{chance.choice(PLACES)}", "x-portkey-host"), url)
                    fields = {**_nested(chance, url), **body}
                    status, reply, _ = await gateway.ask("POST", path, fields, headers=odd)
                    assert status in (200, 400, 502), (path, fields, reply)
            for name in (
                url,
                f"openai:{url}",
                f"{url}/v1:x",
                "openai:../../x?y#z",
                "openai@evil:x",
            ):
                status, reply, _ = await gateway.ask(
                    "POST", "/v1/chat/completions", asked("hi", name)
                )
                assert status in (200, 400, 404), (name, reply)
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."})
            for _ in range(20):
                fields = {"content": "hi", "options": _nested(chance, url)}
                status, _, _ = await gateway.ask("POST", f"/sessions/{made['id']}/turns", fields)
                assert status == 400
            assert canary.requests == []
            assert len(provider.requests) > 100

    with Upstream() as provider, Upstream() as canary:
        asyncio.run(work(provider, canary))
