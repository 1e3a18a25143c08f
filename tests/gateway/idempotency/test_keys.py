"""C7: a request that is repeated under the same `Idempotency-Key` is answered once."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import anthropic
import openai
import pytest

import interlingua as il
from interlingua.events.event import NO_SESSION
from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.gateway.settings import RouteSettings
from interlingua.store.errors import StoreError
from interlingua.store.open import open_store
from interlingua.store.reference import UserRow
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served, settings_in

WORDS = "canary-words"


class Provider(Upstream):
    """As ever, but `wait` takes a moment, `held` as long as the test says, `down` fails as it says,
    `large` says much."""

    status = 500
    pause = 0.3
    came, go = threading.Event(), threading.Event()

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        text = json.dumps(wire)
        if "wait" in text:
            time.sleep(self.pause)
        if "held" in text:
            self.came.set()
            self.go.wait(60)
        if "down" in text:
            self.requests.append(wire)
            kind = "invalid_request_error" if self.status == 400 else "api_error"
            body = b'{"type":"error","error":{"type":"%b","message":"down"}}' % kind.encode()
            handler.send_response(self.status)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
            return
        super().answer(handler, dialect, wire)


class Told(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def code(self) -> str | None:
        return self.headers.get("x-interlingua-code")

    @property
    def replayed(self) -> str | None:
        return self.headers.get("x-interlingua-replayed")


FRONTS: dict[str, Callable[[str, bool], tuple[str, Any]]] = {
    "openai-chat": lambda words, stream: (
        "/v1/chat/completions",
        {"model": ANTHROPIC, "messages": [{"role": "user", "content": words}], "stream": stream},
    ),
    "openai-responses": lambda words, stream: (
        "/v1/responses",
        {"model": ANTHROPIC, "input": words, "stream": stream},
    ),
    "anthropic": lambda words, stream: (
        "/v1/messages",
        {
            "model": "claude-sonnet-4-6",
            "max_tokens": 99,
            "messages": [{"role": "user", "content": words}],
            "stream": stream,
        },
    ),
    "gemini": lambda words, stream: (
        f"/v1beta/models/{ANTHROPIC}:{'streamGenerateContent' if stream else 'generateContent'}",
        {"contents": [{"role": "user", "parts": [{"text": words}]}]},
    ),
    "ollama": lambda words, stream: (
        "/api/chat",
        {"model": ANTHROPIC, "messages": [{"role": "user", "content": words}], "stream": stream},
    ),
}


async def ask(
    gateway: Served,
    idempotency_key: str | None = "k-1",
    words: str = WORDS,
    *,
    front: str = "openai-chat",
    stream: bool = False,
    token: str | None = None,
    timeout: float = 20,
) -> Told:
    path, body = FRONTS[front](words, stream)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    limit = aiohttp.ClientTimeout(total=timeout)
    async with gateway.http.post(
        gateway.base + path, json=body, headers=headers, timeout=limit
    ) as reply:
        data = await reply.read()
        return Told(reply.status, data, {k.lower(): v for k, v in reply.headers.items()})


Work = Callable[[Served, Provider], Awaitable[None]]


def run(home: Path, work: Work, **changes: Any) -> None:
    async def inside(provider: Provider) -> None:
        provider.configure(home)
        async with served(home, settings_in(home, **changes)) as gateway:
            await work(gateway, provider)

    with Provider() as provider:
        asyncio.run(inside(provider))


def run_two(
    home: Path, work: Callable[[Served, Served, Provider], Awaitable[None]], store: str
) -> None:
    """Two gateways on one store, which know nothing else of each other."""

    async def inside(provider: Provider) -> None:
        provider.configure(home)
        async with AsyncExitStack() as stack:
            settings = settings_in(home, store=store)
            one = await stack.enter_async_context(served(home, settings))
            two = await stack.enter_async_context(served(home, settings))
            await work(one, two, provider)

    with Provider() as provider:
        asyncio.run(inside(provider))


def own(told: Told) -> dict[str, str]:
    """Headers that have to be the same each time."""
    others = {"date", "x-request-id", "request-id", "x-interlingua-replayed", "content-length"}
    others |= {"x-interlingua-cost-usd", "transfer-encoding"}
    return {name: value for name, value in told.headers.items() if name not in others}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("front", FRONTS)
def test_later_the_same_answer_is_given_again(tmp_path: Path, front: str, stream: bool) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        first = await ask(gateway, front=front, stream=stream)
        assert first.status == 200
        assert first.replayed is None
        for _ in range(3):
            again = await ask(gateway, front=front, stream=stream)
            assert (again.status, again.body, own(again)) == (200, first.body, own(first))
            assert again.replayed == first.headers["x-request-id"]
            assert again.headers["x-request-id"] != first.headers["x-request-id"]
            assert "x-interlingua-cost-usd" not in again.headers
        assert len(provider.requests) == 1
        assert "idempotency-key" not in provider.headers[0]
        other = await ask(gateway, "k-2", front=front, stream=stream)
        assert other.status == 200
        assert other.body != first.body
        assert len(provider.requests) == 2

    run(tmp_path, work)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("front", ["openai-chat", "anthropic", "gemini"])
def test_at_the_same_time_all_get_the_answer_of_one(
    tmp_path: Path, front: str, stream: bool
) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        result = await asyncio.gather(
            *[ask(gateway, words="wait", front=front, stream=stream) for _ in range(8)]
        )
        assert {(each.status, each.body) for each in result} == {(200, result[0].body)}
        assert len(provider.requests) == 1
        assert sum(each.replayed is None for each in result) == 1

    run(tmp_path, work)


@pytest.mark.parametrize("front", FRONTS)
def test_another_body_under_the_same_key_is_refused_in_the_dialect(
    tmp_path: Path, front: str
) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        asking = asyncio.ensure_future(ask(gateway, words="wait", front=front))
        await asyncio.sleep(0.1)
        meanwhile = await ask(gateway, words="other", front=front)
        first = await asking
        later = await ask(gateway, words="other", front=front)
        for reported in (meanwhile, later):
            assert (reported.status, reported.code) == (422, "idempotency_key_reused")
            assert reported.headers["x-should-retry"] == "false"
            error = il.dialect(front).read_response(json.loads(reported.body)).error
            assert error is not None
            assert "idempotency key" in error.message
        assert (await ask(gateway, words="wait", front=front)).body == first.body
        assert len(provider.requests) == 1

    run(tmp_path, work)


def test_the_same_body_on_another_path_is_another_request(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        assert (await ask(gateway)).status == 200
        assert (await ask(gateway, front="ollama")).code == "idempotency_key_reused"
        assert (await ask(gateway, front="gemini")).status == 422
        assert len(provider.requests) == 1

    run(tmp_path, work)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [400, 429, 500, 529])
def test_what_failed_is_not_kept_and_is_asked_again(
    tmp_path: Path, status: int, stream: bool
) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        provider.status = status
        first = await ask(gateway, words="down", stream=stream)
        assert first.status >= 400
        asked = len(provider.requests)
        again = await ask(gateway, words="down", stream=stream)
        assert again.status == first.status
        assert again.replayed is None
        assert len(provider.requests) == 2 * asked
        # And the key is free for another request.
        assert (await ask(gateway, words="other", stream=stream)).status == 200

    run(tmp_path, work)


def test_who_waits_for_one_that_fails_gets_the_same_failure(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        provider.status = 400
        result = await asyncio.gather(*[ask(gateway, words="wait down") for _ in range(5)])
        assert {(each.status, each.body) for each in result} == {(400, result[0].body)}
        assert len(provider.requests) == 1

    run(tmp_path, work)


def test_a_refusal_of_our_own_is_not_kept(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        path, body = FRONTS["openai-chat"](WORDS, False)
        headers = {"Idempotency-Key": "k-1"}
        nothing = {**body, "messages": []}
        status, _, _ = await gateway.ask("POST", path, nothing, headers=headers)
        assert status == 400
        status, _, _ = await gateway.ask(
            "POST", path, {**body, "model": "no:such"}, headers=headers
        )
        assert status == 404
        assert (await ask(gateway)).status == 200

    run(tmp_path, work)


def test_a_stream_that_broke_off_is_not_kept(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        for front in ("anthropic", "openai-chat"):
            before = len(provider.requests)
            for number in (1, 2):
                reply = await ask(gateway, f"k-{front}", "break", front=front, stream=True)
                assert reply.status == 200
                assert reply.replayed is None
                assert len(provider.requests) == before + number

    run(tmp_path, work)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_client_that_left_gives_its_request_up_and_one_that_waits_takes_it_over(
    tmp_path: Path, stream: bool
) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        provider.pause = 1.0
        leaving = asyncio.ensure_future(ask(gateway, words="wait", stream=stream, timeout=0.3))
        await asyncio.sleep(0.1)
        waiting = asyncio.ensure_future(ask(gateway, words="wait", stream=stream))
        with pytest.raises(TimeoutError):
            await leaving
        result = await waiting
        assert result.status == 200
        assert result.replayed is None
        again = await ask(gateway, words="wait", stream=stream)
        assert (again.body, again.replayed) == (result.body, result.headers["x-request-id"])
        assert len(provider.requests) == 2

    run(tmp_path, work)


def test_one_that_waits_and_leaves_disturbs_nobody(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        provider.pause = 0.6
        first = asyncio.ensure_future(ask(gateway, words="wait"))
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError):
            await ask(gateway, words="wait", timeout=0.2)
        assert (await first).status == 200
        assert len(provider.requests) == 1
        assert (await ask(gateway, words="wait")).replayed is not None

    run(tmp_path, work)


def test_waiting_ends_and_says_to_come_back(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        gateway.service.gateway.idempotency.wait = 0.1
        provider.pause = 0.6
        first = asyncio.ensure_future(ask(gateway, words="wait"))
        await asyncio.sleep(0.1)
        reply = await ask(gateway, words="wait")
        assert (reply.status, reply.code) == (409, "idempotency_in_progress")
        assert reply.headers["retry-after"] == "1"
        assert (await first).status == 200
        assert (await ask(gateway, words="wait")).status == 200
        assert len(provider.requests) == 1

    run(tmp_path, work)


def test_nobody_gets_the_answer_of_another_tenant_and_a_users_keys_are_one(tmp_path: Path) -> None:
    store = str(tmp_path / "gateway.db")
    with open_store(store) as opened:
        users = ["user-a", "user-b"]
        for id in users:
            opened.save_user(UserRow(id, datetime.now(UTC)))
    alone = [key(tmp_path, f"alone-{n}").token for n in range(2)]
    shared = [key(tmp_path, f"shared-{n}", user_id=users[0]).token for n in range(2)]
    other = key(tmp_path, "other", user_id=users[1]).token

    async def work(gateway: Served, provider: Provider) -> None:
        bodies = [(await ask(gateway, token=token)).body for token in (*alone, shared[0], other)]
        assert len(set(bodies)) == 4
        assert len(provider.requests) == 4
        again = await ask(gateway, token=shared[1])
        assert (again.body, len(provider.requests)) == (bodies[2], 4)
        # Not even a hint that somebody else has used the key for something.
        assert (await ask(gateway, "k-9", "mine", token=alone[0])).status == 200
        assert (await ask(gateway, "k-9", "yours", token=alone[1])).status == 200
        assert (await ask(gateway, token="gw-wrong")).status == 401

    run(tmp_path, work)


def test_a_key_that_may_not_use_the_model_gets_no_answer_of_one_that_may(tmp_path: Path) -> None:
    user = "user-a"
    with open_store(str(tmp_path / "gateway.db")) as opened:
        opened.save_user(UserRow(user, datetime.now(UTC)))
    may = key(tmp_path, "may", user_id=user).token
    may_not = key(tmp_path, "may-not", user_id=user, allowed_models=(OPENAI,)).token

    async def work(gateway: Served, provider: Provider) -> None:
        assert (await ask(gateway, token=may)).status == 200
        assert (await ask(gateway, token=may_not)).status == 403

    run(tmp_path, work)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_what_was_said_is_stored_only_where_the_key_allows_it(tmp_path: Path, stream: bool) -> None:
    tokens = {
        keeps: key(tmp_path, f"k{keeps}", keep_content=keeps).token for keeps in (True, False)
    }
    first: dict[bool, Told] = {}

    async def before(gateway: Served, provider: Provider) -> None:
        for keeps, token in tokens.items():
            first[keeps] = await ask(gateway, token=token, stream=stream)
            assert first[keeps].status == 200

    async def after(gateway: Served, provider: Provider) -> None:
        again = await ask(gateway, token=tokens[True], stream=stream)
        assert (again.status, again.body) == (200, first[True].body)
        assert again.replayed == first[True].headers["x-request-id"]
        reply = await ask(gateway, token=tokens[False], stream=stream)
        assert (reply.status, reply.code) == (409, "idempotency_not_kept")
        assert reply.headers["x-should-retry"] == "false"
        other = await ask(gateway, words="other", token=tokens[False], stream=stream)
        assert (other.status, other.code) == (422, "idempotency_key_reused")
        assert not provider.requests

    run(tmp_path, before)
    with sqlite3.connect(tmp_path / "gateway.db") as db:
        rows = db.execute("SELECT answer_json IS NULL, status, size FROM repeats").fetchall()
        (stored,) = db.execute("SELECT answer_json FROM repeats WHERE size > 0").fetchone()
        texts = "".join(str(row) for row in db.execute("SELECT * FROM repeats WHERE size = 0"))
    assert sorted(row[:2] for row in rows) == [(0, "done"), (1, "done")]
    assert json.loads(stored)[1] == first[True].headers["x-request-id"]
    assert WORDS not in texts
    assert "k-1" not in texts
    run(tmp_path, after)


def test_two_processes_ask_once_where_content_is_kept(tmp_path: Path, address: str) -> None:
    with open_store(address) as opened:
        token = issue(opened, "test", ".", Terms(keep_content=True)).token

    async def work(one: Served, two: Served, provider: Provider) -> None:
        result = await asyncio.gather(
            *[ask(gateway, words="wait", token=token) for gateway in (one, two) * 4]
        )
        assert {(each.status, each.body) for each in result} == {(200, result[0].body)}
        assert len(provider.requests) == 1
        for gateway in (one, two):
            other = await ask(gateway, words="other", token=token)
            assert (other.status, other.code) == (422, "idempotency_key_reused")

    run_two(tmp_path, work, address)


def test_two_processes_ask_once_where_content_is_not_kept(tmp_path: Path, address: str) -> None:
    async def work(one: Served, two: Served, provider: Provider) -> None:
        provider.came.clear()
        provider.go.clear()
        first = asyncio.ensure_future(ask(one, words="held", timeout=60))
        await asyncio.to_thread(provider.came.wait, 60)
        reply = await ask(two, words="held")
        provider.go.set()
        assert (reply.status, reply.code) == (409, "idempotency_in_progress")
        assert (await first).status == 200
        await settled(one)
        reply = await ask(two, words="held")
        assert (reply.status, reply.code) == (409, "idempotency_not_kept")
        assert (await ask(one, words="held")).body == (await first).body
        assert len(provider.requests) == 1

    run_two(tmp_path, work, address)


def test_what_failed_at_one_process_may_be_asked_at_another(tmp_path: Path, address: str) -> None:
    async def work(one: Served, two: Served, provider: Provider) -> None:
        provider.status = 400
        assert (await ask(one, words="down")).status == 400
        await settled(one)
        assert (await ask(two, words="down")).status == 400
        await settled(two)
        assert len(provider.requests) == 2
        assert (await ask(one)).status == 200

    run_two(tmp_path, work, address)


async def settled(gateway: Served) -> None:
    """What no request waits for is done."""
    keys = gateway.service.gateway.idempotency
    while keys._loose:
        await asyncio.wait(set(keys._loose), timeout=5)


def test_a_process_that_died_has_its_requests_for_a_while_and_no_longer(
    tmp_path: Path, address: str
) -> None:
    async def work(one: Served, two: Served, provider: Provider) -> None:
        for gateway in (one, two):
            gateway.service.gateway.idempotency.lease = 0.8
        provider.pause = 4.0
        first = asyncio.ensure_future(ask(one, words="wait"))
        await asyncio.sleep(1.2)  # longer than the lease, which is renewed
        reply = await ask(two, words="wait")
        assert reply.code == "idempotency_in_progress"
        keys = one.service.gateway.idempotency
        assert keys._tending is not None
        keys._tending.cancel()  # as if it were dead
        await asyncio.sleep(1.0)
        provider.pause = 0.0
        taken = await ask(two, words="wait")
        assert (taken.status, taken.replayed) == (200, None)
        assert (await first).status == 200  # and it takes nothing from the new holder
        assert len(provider.requests) == 2
        await settled(one)
        assert (await ask(two, words="wait")).body == taken.body

    run_two(tmp_path, work, address)


def test_an_answer_that_is_too_long_is_not_kept_and_not_asked_again(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        keys = gateway.service.gateway.idempotency
        keys.longest = 1000
        for stream in (False, True):
            id = f"k-{stream}"
            first = await ask(gateway, id, "json " + "x" * 2000, stream=stream)
            assert first.status == 200
            assert len(first.body) > 2000
            reply = await ask(gateway, id, "json " + "x" * 2000, stream=stream)
            assert (reply.status, reply.code) == (409, "idempotency_not_kept")
        await settled(gateway)
        assert len(provider.requests) == 2
        assert keys.recording == 0

    run(tmp_path, work)


def test_without_a_key_nothing_is_kept_and_with_a_bad_one_nothing_is_asked(tmp_path: Path) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        keys = gateway.service.gateway.idempotency
        for _ in range(2):
            assert (await ask(gateway, None)).status == 200
        assert len(keys.replies) == 0
        assert len(provider.requests) == 2
        for bad in ("", "x" * 256, "two words", "grüße"):
            reply = await ask(gateway, bad)
            assert (reply.status, reply.code) == (400, "idempotency_key_invalid")
        assert len(provider.requests) == 2
        assert (await ask(gateway, "x" * 255)).status == 200

    run(tmp_path, work)


def test_when_the_store_is_away_nothing_is_asked_under_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(gateway: Served, provider: Provider) -> None:
        keys = gateway.service.gateway.idempotency
        store = keys.store
        assert store is not None

        async def away(*_: Any) -> Any:
            raise StoreError("here", "gone", "unreachable")

        monkeypatch.setattr(store, "claim_repeat", away)
        reply = await ask(gateway)
        assert (reply.status, reply.code) == (503, "store_unavailable")
        assert reply.headers["retry-after"] == "1"
        assert not provider.requests
        assert (await ask(gateway, None)).status == 200
        monkeypatch.undo()
        monkeypatch.setattr(store, "finish_repeat", away)
        first = await ask(gateway)
        assert (await ask(gateway)).body == first.body
        assert not keys._flights

    run(tmp_path, work)


def test_what_is_told_again_costs_nothing_and_is_no_call_in_the_trace(tmp_path: Path) -> None:
    token = key(tmp_path, daily_cap_usd=Decimal(1)).token

    async def work(gateway: Served, provider: Provider) -> None:
        for _ in range(5):
            assert (await ask(gateway, token=token, front="anthropic")).status == 200
        store = gateway.service.store
        await asyncio.sleep(1.0)
        await gateway.stored()
        events = await store.events(NO_SESSION, types=["llm.call_completed"])
        assert len(events) == 1

    run(tmp_path, work)
    with sqlite3.connect(tmp_path / "gateway.db") as db:
        assert db.execute("SELECT count(*) FROM ledger").fetchone() == (1,)


def test_the_answer_of_a_fallback_is_told_again(tmp_path: Path) -> None:
    routes = {"safe": RouteSettings(ANTHROPIC, (OPENAI,))}

    async def work(gateway: Served, provider: Provider) -> None:
        path, body = FRONTS["openai-chat"]("hello", False)
        body["model"] = "safe"
        headers = {"Idempotency-Key": "k"}
        collected = [await gateway.ask("POST", path, body, headers=headers) for _ in range(2)]
        assert collected[0][:2] == collected[1][:2]
        assert collected[1][2]["x-interlingua-model"] == ANTHROPIC
        assert len(provider.requests) == 1

    run(tmp_path, work, routes=routes)


def test_the_official_sdks_repeat_and_are_told(tmp_path: Path) -> None:
    """Neither sends the header by itself: their `idempotency_key` has no header unless the client
    is given one."""

    def talk(base: str, provider: Provider) -> None:
        named = {"Idempotency-Key": "k-sdk"}
        items: Any = [{"role": "user", "content": "hello"}]
        with openai.OpenAI(base_url=f"{base}/v1", api_key="any") as client:
            plain = client.chat.completions.with_raw_response
            first = plain.create(model=ANTHROPIC, messages=items, extra_headers=named)
            again = plain.create(model=ANTHROPIC, messages=items, extra_headers=named)
            assert first.text == again.text
            assert again.headers["x-interlingua-replayed"] == first.headers["x-request-id"]
            with pytest.raises(openai.UnprocessableEntityError):
                client.chat.completions.create(model=OPENAI, messages=items, extra_headers=named)
            assert len(provider.requests) == 1
            for _ in range(2):
                client.chat.completions.create(model=ANTHROPIC, messages=items)
            assert len(provider.requests) == 3
            client._idempotency_header = "Idempotency-Key"
            for number in (4, 5):  # each call has a key of its own now, the same for its retries
                client.chat.completions.create(model=ANTHROPIC, messages=items)
                assert len(provider.requests) == number
        with anthropic.Anthropic(base_url=base, api_key="any") as other:
            texts = set()
            for _ in range(2):
                with other.messages.stream(
                    model="claude-sonnet-4-6",
                    max_tokens=99,
                    messages=items,
                    extra_headers={"Idempotency-Key": "k-stream"},
                ) as stream:
                    texts.add(stream.get_final_text())
            assert len(texts) == 1
            with pytest.raises(anthropic.UnprocessableEntityError):
                other.messages.create(
                    model="claude-sonnet-4-6",
                    max_tokens=98,
                    messages=items,
                    extra_headers={"Idempotency-Key": "k-stream"},
                )
        assert len(provider.requests) == 6

    async def work(gateway: Served, provider: Provider) -> None:
        await asyncio.to_thread(talk, gateway.base, provider)

    run(tmp_path, work)
