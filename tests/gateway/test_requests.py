"""What passed the gateway, over HTTP: whose it is, some of it, one of it, and as it ends."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway import requests as api
from interlingua.gateway.keys.key_admin import add_user, rotate
from interlingua.gateway.requests import RequestWatchers
from interlingua.model.ids import Ulids
from interlingua.store.open import open_async_store
from interlingua.store.requests import RequestFilter, RequestRow
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, asked, key, served
from tests.gateway.sessions.test_api import SSE, new, rest, run, say

IDS = Ulids()


async def chat(gateway: Served, words: str, token: str | None = None, **more: Any) -> str:
    """The id of a request."""
    body = asked(words, max_tokens=50, **more)
    _, _, headers = await gateway.ask("POST", "/v1/chat/completions", body, token)
    return headers["x-request-id"]


async def listed(gateway: Served, query: str = "", token: str | None = None) -> Any:
    await gateway.stored()
    status, page, _ = await gateway.ask("GET", f"/requests{query}", token=token)
    assert status == 200, page
    return page


async def ids(gateway: Served, query: str = "", token: str | None = None) -> list[str]:
    return [row["id"] for row in (await listed(gateway, query, token))["requests"]]


def test_what_passed_is_listed_the_newest_first_by_page(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            made = [await chat(gateway, f"hi {number}") for number in range(5)]
            page = await listed(gateway, "?limit=2")
            assert [row["id"] for row in page["requests"]] == made[:2:-1]
            assert (page["has_more"], page["last"]) == (True, 5)
            assert await ids(gateway, f"?limit=2&before={made[3]}") == [made[2], made[1]]
            rest = await listed(gateway, f"?limit=2&before={made[1]}")
            assert ([row["id"] for row in rest["requests"]], rest["has_more"]) == ([made[0]], False)
            status, again, _ = await gateway.ask("GET", "/v1/requests")
            assert (status, len(again["requests"])) == (200, 5)
            row = again["requests"][0]
            assert (row["front"], row["dialect"], row["model"]) == (
                *("openai-chat", "anthropic"),
                ANTHROPIC,
            )
            assert Decimal(row["usage"]["cost_usd"]) == Decimal("0.0006")
            assert "tenant" not in row

    run(work)


def test_what_is_running_is_seen_by_whom_it_belongs_to(tmp_path: Path) -> None:
    own, others = key(tmp_path, "mine"), key(tmp_path, "others")

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.pace = 0.2
        async with served(tmp_path) as gateway:

            async def running(token: str) -> Any:
                status, found, _ = await gateway.ask("GET", "/requests/running", token=token)
                assert status == 200
                return found

            asking = asyncio.create_task(chat(gateway, "slow", own.token, stream=True))
            while (
                not (found := await running(own.token))["count"]
                or not found["requests"][0]["model"]
            ):
                await asyncio.sleep(0.02)
            (row,) = found["requests"]
            assert (row["model"], row["stream"], row["key_id"]) == (ANTHROPIC, True, own.key.id)
            assert row["elapsed_ms"] >= 0
            assert (await running(others.token)) == {"requests": [], "count": 0}
            assert row["id"] == await asking
            await chat(gateway, "fail", own.token)
            assert (await running(own.token))["count"] == 0
            assert not gateway.service.gateway.under_way

    run(work)


def test_they_come_as_a_table_in_which_nothing_is_a_formula(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            made = [await chat(gateway, "hi", model=name) for name in ("=1+1", ANTHROPIC)]
            await gateway.stored()
            status, text, headers = await gateway.ask("GET", "/requests.csv?status=failed")
            assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
            (failed,) = csv.DictReader(text.splitlines())
            assert (failed["id"], failed["asked"]) == (made[0], "'=1+1")
            _, text, _ = await gateway.ask("GET", "/requests.csv")
            newest, _ = csv.DictReader(text.splitlines())
            assert (newest["cost_usd"], newest["output_tokens"]) == ("0.0006", "20")
            assert (await gateway.ask("GET", "/requests.csv?status=x"))[0] == 400

    run(work)


def test_what_passed_is_summed_for_whom_it_belongs_to(tmp_path: Path) -> None:
    mine, others = key(tmp_path, "mine"), key(tmp_path, "others")
    watcher = key(tmp_path, "watcher", read_requests=True)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for token, words in ((mine.token, "hi"), (others.token, "hi"), (others.token, "fail")):
                await chat(gateway, words, token)
            await gateway.stored()

            async def stats(token: str, query: str = "") -> Any:
                status, found, _ = await gateway.ask("GET", f"/stats{query}", token=token)
                assert status == 200
                return found

            own, every = await stats(mine.token), await stats(watcher.token, "?days=1")
            assert [own[name]["requests"] for name in ("today", "week", "month")] == [1, 1, 1]
            assert [row["name"] for row in own["keys"]] == [mine.key.id]
            assert {row["name"]: row["requests"] for row in every["keys"]} == {
                mine.key.id: 1,
                others.key.id: 2,
            }
            assert (every["today"]["failed"], own["today"]["failed"]) == (1, 0)
            assert Decimal(every["today"]["cost_usd"]) == Decimal("0.0012")
            assert every["models"][0]["p95_ms"] >= every["models"][0]["p50_ms"]
            assert (len(own["series"]), own["series"][-1]["requests"]) == (7, 1)
            course = own["models"][0]["series"]
            assert (course["requests"], course["failed"]) == ([*[0] * 6, 1], [0] * 7)
            assert (course["cost_usd"][-1], course["typical_ms"][0]) == (0.0006, None)
            assert "series" not in every["models"][0]
            assert (await gateway.ask("GET", "/stats"))[0] == 401
            assert (await gateway.ask("GET", "/stats?days=2", token=mine.token))[0] == 400

    run(work)


def test_some_are_chosen_and_a_wrong_filter_is_reported(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            good, bad = await chat(gateway, "hi"), await chat(gateway, "fail")
            other = await chat(gateway, "hi", model=OPENAI)
            assert await ids(gateway, f"?model={OPENAI}") == [other]
            assert await ids(gateway, "?model=claude-sonnet-4-6") == [bad, good]
            assert await ids(gateway, "?status=failed") == [bad]
            assert await ids(gateway, "?status=4xx") == [bad]
            assert await ids(gateway, "?status=ok") == [other, good]
            assert await ids(gateway, "?key=gk_nobody") == []
            now = datetime.now(UTC)
            for name, days, count in (("since", -2, 3), ("since", 2, 0), ("until", -2, 0)):
                day = f"{now + timedelta(days=days):%Y-%m-%d}"
                assert len(await ids(gateway, f"?{name}={day}")) == count
            for wrong in ("status=bad", "since=yesterday", "limit=0", "model=%00", "key="):
                status, reply, _ = await gateway.ask("GET", f"/requests?{wrong}")
                assert (status, "message" in reply["error"]) == (400, True), wrong
            status, _, _ = await gateway.ask("GET", "/requests?before=req_nothing")
            assert status == 404

    run(work)


def test_one_is_shown_with_its_report_its_tries_and_its_trace(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            lossy, plain = await chat(gateway, "hi", seed=7), await chat(gateway, "hi")
            await gateway.stored()
            _, reply, _ = await gateway.ask("GET", f"/v1/requests/{lossy}")
            assert reply["report"]["target"] == "anthropic"
            assert [loss["path"] for loss in reply["report"]["losses"]] == ["$.options.seed"]
            assert [each["model"] for each in reply["tries"]] == [ANTHROPIC]
            (event,) = reply["trace"]
            assert event["payload"]["request_id"] == lossy
            _, reply, _ = await gateway.ask("GET", f"/requests/{plain}")
            assert (reply["report"], len(reply["trace"])) == (None, 1)
            for nothing in ("req_nothing", "nothing", f"{plain}%00", "req_" + IDS.new()):
                status, _, _ = await gateway.ask("GET", f"/requests/{nothing}")
                assert status == 404

    run(work)


def test_a_key_sees_its_own_and_one_that_may_read_all_sees_all(tmp_path: Path) -> None:
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        user = add_user(store, "a@b.example").id
    first, second = key(tmp_path, "first", user_id=user), key(tmp_path, "second", user_id=user)
    old = key(tmp_path, "old", daily_cap_usd=Decimal(5))
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        fresh = rotate(store, old.key.id)
    watcher = key(tmp_path, "watcher", read_requests=True)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            users = [await chat(gateway, "hi", each.token) for each in (first, second)]
            olds = [await chat(gateway, "hi", each.token) for each in (old, fresh)]
            wrong = await chat(gateway, "hi", "gw_guess")
            session = await new(gateway, old.token)
            await say(gateway, session, "hello", old.token)
            await rest(gateway, session)
            assert await ids(gateway, "", first.token) == users[::-1]
            assert await ids(gateway, "", second.token) == users[::-1], "the same user's"
            turn, *others = await ids(gateway, "", fresh.token)
            assert others == olds[::-1], "what the key did that it replaces"
            everything = await ids(gateway, "", watcher.token)
            assert everything == [turn, wrong, *olds[::-1], *users[::-1]]
            assert await ids(gateway, f"?key={second.key.id}", watcher.token) == [users[1]]
            _, shown, _ = await gateway.ask("GET", f"/requests/{turn}", token=watcher.token)
            assert (shown["front"], shown["session_id"]) == ("sessions", session)
            for token, id, status in (
                (first.token, users[1], 200),
                (first.token, olds[0], 404),
                (old.token, users[0], 404),
                (watcher.token, users[0], 200),
                (None, users[0], 401),
                ("gw_guess", users[0], 401),
            ):
                found, _, _ = await gateway.ask("GET", f"/requests/{id}", token=token)
                assert found == status
            status, _, _ = await gateway.ask(
                "GET", f"/requests?before={olds[0]}", token=first.token
            )
            assert status == 404, "not even as a cursor"
            seen = {
                name: [row["name"] for row in await keys_of(gateway, token)]
                for name, token in (("first", first.token), ("old", old.token))
            }
            assert seen == {"first": ["first", "second"], "old": ["old", "old"]}
            every = await keys_of(gateway, watcher.token)
            assert len(every) == 5
            (capped,) = [row for row in every if row["id"] == fresh.key.id]
            (cap,) = capped["caps"]
            assert (cap["scope"], cap["window"], cap["limit_usd"]) == ("key", "day", "5")
            assert Decimal(cap["spent_usd"]) == Decimal("0.0018")
            assert {row["id"]: row["status"] for row in every}[old.key.id] == "ending"
            assert "hash" not in json.dumps(every)
            assert "a@b.example" not in json.dumps(every)

    run(work)


async def keys_of(gateway: Served, token: str) -> list[dict[str, Any]]:
    _, reply, _ = await gateway.ask("GET", "/keys", token=token)
    rows: list[dict[str, Any]] = reply["keys"]
    return rows


def test_pages_of_other_origins_and_hosts_see_nothing(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        async with served(tmp_path) as gateway:
            for path in ("/requests", "/requests/req_1", "/keys", "/v1/requests"):
                for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}):
                    for more in ({}, SSE):
                        fields = {**headers, **more}
                        status, _, _ = await gateway.ask("GET", path, headers=fields)
                        assert status == 403

    run(work)


def test_refused_requests_do_not_fill_the_disk(tmp_path: Path) -> None:
    key(tmp_path)

    async def work(provider: Upstream) -> None:
        async with served(tmp_path) as gateway:
            gateway.service.tracer._refused._most = 3
            for _ in range(10):
                await chat(gateway, "hi", "gw_guess")
            await gateway.stored()
            rows = await gateway.service.store.requests()
            assert [row.status for row in rows] == [401] * 3

    run(work)


# Live


async def frames(
    gateway: Served, query: str = "", token: str | None = None, **headers: str
) -> AsyncIterator[tuple[str | None, Any]]:
    """(id, data) of each request, as it is told."""
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    url = f"{gateway.base}/v1/requests{query}"
    async with gateway.http.get(url, headers={**SSE, **headers}) as reply:
        assert reply.status == 200, await reply.text()
        found: dict[str, str] = {}
        async for line in reply.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                found[name] = value
            elif found.get("event") == "request":
                yield found["id"], json.loads(found["data"])
                found = {}


async def first(stream: AsyncIterator[Any], count: int) -> list[Any]:
    out = []
    async with asyncio.timeout(60):
        async for each in stream:
            out.append(each)
            if len(out) == count:
                return out
    raise AssertionError("the stream ended")


def test_what_passes_is_told_as_it_ends_and_who_comes_back_misses_nothing(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            before = await chat(gateway, "before")
            last = (await listed(gateway))["last"]
            watching = asyncio.ensure_future(first(frames(gateway, f"?after={last}"), 2))
            made = [await chat(gateway, "one"), await chat(gateway, "fail")]
            seen = await watching
            assert [row["id"] for _, row in seen] == made
            assert [row["error"] for _, row in seen] == [None, "invalid_request"]
            headers = {"last-event-id": str(seen[0][0])}
            again = await first(frames(gateway, **headers), 1)
            assert again[0][1]["id"] == made[1]
            all_of_it = await first(frames(gateway, "?after=0"), 3)
            assert [row["id"] for _, row in all_of_it] == [before, *made]
            failed = await first(frames(gateway, "?after=0&status=failed"), 1)
            assert failed[0][1]["id"] == made[1]
            for wrong, status in (("x", 400), ("99", 410)):
                fields = {**SSE, "last-event-id": wrong}
                found, _, _ = await gateway.ask("GET", "/requests", headers=fields)
                assert found == status

    run(work)


def test_a_key_is_told_of_its_own_alone(tmp_path: Path) -> None:
    own, other = key(tmp_path, "mine"), key(tmp_path, "other")

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            stream = frames(gateway, "?after=0", own.token)
            watching = asyncio.ensure_future(first(stream, 2))
            made = []
            for _ in range(2):
                await chat(gateway, "hi", other.token)
                made.append(await chat(gateway, "hi", own.token))
            assert [row["id"] for _, row in await watching] == made

    run(work)


def row() -> RequestRow:
    return RequestRow(f"req_{IDS.new()}", datetime.now(UTC), "anthropic", 200, 1)


def test_what_another_worker_writes_is_seen_here(tmp_path: Path) -> None:
    async def work() -> None:
        address = str(tmp_path / "s.db")
        async with (
            await open_async_store(address) as here,
            await open_async_store(address) as there,
        ):
            watching = RequestWatchers(here)
            reading = asyncio.ensure_future(first(watching.read(RequestFilter(), 0), 2))
            made = row()
            await there.append_requests([made])
            opening, result = await reading
            assert opening.startswith(b":")
            assert made.id.encode() in result
            watching.close()

    asyncio.run(work())


def test_a_slow_reader_holds_a_page_and_reads_the_rest_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "LIVE_PAGE", 10)

    async def work() -> None:
        async with await open_async_store(str(tmp_path / "s.db")) as store:
            watching = RequestWatchers(store)
            reader = watching.read(RequestFilter(), 0)
            assert await anext(reader) == b": watching\n\n"
            made = [row() for _ in range(95)]
            await store.append_requests(made)
            pieces = []
            async with asyncio.timeout(60):
                while sum(piece.count(b"\ndata: ") for piece in pieces) < len(made):
                    pieces.append(await anext(reader))
            assert max(piece.count(b"\ndata: ") for piece in pieces) == 10
            whole = b"".join(pieces).decode()
            assert [each.id for each in made if each.id in whole] == [each.id for each in made]
            assert len(watching) == 1
            await reader.aclose()
            assert len(watching) == 0
            watching.close()

    asyncio.run(work())


def test_a_gateway_that_goes_ends_its_streams(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        async with (
            served(tmp_path) as gateway,
            gateway.http.get(f"{gateway.base}/requests", headers=SSE) as reply,
            asyncio.timeout(60),
        ):
            assert await reply.content.readline() == b": watching\n"
            gateway.service.going()
            await reply.content.read()

    run(work)
