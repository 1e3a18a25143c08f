"""Limits of answers by key, route and cap; budgets of models, tags and end users; rate headers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.gateway.keys.key_admin import add_budget
from interlingua.gateway.relay.limits import labels_of
from interlingua.gateway.settings import RouteSettings
from tests.gateway.serving import (
    ANTHROPIC,
    OPENAI,
    Served,
    Upstream,
    asked,
    key,
    served,
    settings_in,
)

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
GEMINI = "/v1beta/models/openai:gpt-4.1:generateContent"


def run(home: Path, work: Callable[[Served, Upstream], Awaitable[None]], **settings: Any) -> None:
    async def all_of_it() -> None:
        with Upstream() as provider:
            provider.configure(home)
            async with served(home, settings_in(home, **settings)) as gateway:
                await work(gateway, provider)

    asyncio.run(all_of_it())


def limit_of(wire: dict[str, Any]) -> int | None:
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    found = [wire[name] for name in names if name in wire]
    assert len(found) < 2, "one limit, under one name"
    return found[0] if found else None


async def notes(gateway: Served, headers: dict[str, str], token: str) -> list[str]:
    await gateway.stored()
    path = f"/losses/{headers['x-request-id']}"
    _, report, _ = await gateway.ask("GET", path, token=token)
    return [entry["code"] for entry in report["notes"] if "output_limit" in entry["code"]]


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("stream", [False, True])
def test_a_request_without_a_limit_gets_the_default_of_its_key(
    tmp_path: Path, model: str, stream: bool
) -> None:
    made = key(tmp_path, default_max_tokens=700, max_max_tokens=1000)

    async def work(gateway: Served, provider: Upstream) -> None:
        for limit, sent in ((None, 700), (300, 300), (1000, 1000), (5000, 1000)):
            more = {} if limit is None else {"max_tokens": limit}
            wire = asked("hi", model, stream=stream, **more)
            status, _, headers = await gateway.ask("POST", CHAT, wire, made.token)
            assert status == 200
            assert limit_of(provider.requests[-1]) == sent
            assert headers["x-interlingua-losses"] == ("1" if limit == 5000 else "0")

    run(tmp_path, work)


def test_a_route_has_limits_of_its_own_in_every_dialect(tmp_path: Path) -> None:
    routes = {"short": RouteSettings(OPENAI, default_max_tokens=64, max_max_tokens=128)}
    texts: list[tuple[str, dict[str, Any]]] = [
        (CHAT, asked("hi", "short")),
        (RESPONSES, {"model": "short", "input": "hi"}),
        (GEMINI.replace("openai:gpt-4.1", "short"), {"contents": [{"parts": [{"text": "hi"}]}]}),
        ("/api/chat", {**asked("hi", "short"), "stream": False}),
    ]

    async def work(gateway: Served, provider: Upstream) -> None:
        for path, wire in texts:
            status, answer, _ = await gateway.ask("POST", path, wire)
            assert status == 200, answer
            assert limit_of(provider.requests[-1]) == 64, path
        wire = asked("hi", "short", max_tokens=4000)
        assert (await gateway.ask("POST", MESSAGES, wire))[0] == 200
        assert limit_of(provider.requests[-1]) == 128
        wire = asked("hi", "short", max_tokens=100, n=1)
        assert (await gateway.ask("POST", CHAT, wire))[0] == 200
        assert provider.requests[-1]["max_tokens"] == 100, "the client's own bytes"

    run(tmp_path, work, routes=routes)


def test_a_key_that_refuses_losses_refuses_a_lower_limit_but_not_a_default(tmp_path: Path) -> None:
    made = key(tmp_path, default_max_tokens=50, max_max_tokens=100, refuse_losses=True)

    async def work(gateway: Served, provider: Upstream) -> None:
        wire = asked("hi", OPENAI)
        assert (await gateway.ask("POST", CHAT, wire, made.token))[0] == 200
        status, answer, _ = await gateway.ask("POST", CHAT, {**wire, "max_tokens": 101}, made.token)
        assert status == 400
        assert "lowered to 100" in answer["error"]["message"]

    run(tmp_path, work)


@pytest.mark.parametrize("default", [None, 4000])
def test_a_request_without_a_limit_is_sent_with_what_the_cap_allows(
    tmp_path: Path, default: int | None
) -> None:
    """$0.05 pay for 3,333 tokens of an answer at $15 for a million."""
    made = key(tmp_path, daily_cap_usd=Decimal("0.05"), default_max_tokens=default)

    async def work(gateway: Served, provider: Upstream) -> None:
        wire = asked("hi", ANTHROPIC)
        status, answer, headers = await gateway.ask("POST", CHAT, wire, made.token)
        assert status == 200, answer
        sent = limit_of(provider.requests[-1])
        assert sent is not None
        assert 3000 < sent < 3333
        assert await notes(gateway, headers, made.token) == ["output_limit_by_cap"]
        wire["max_tokens"] = 4000
        status, answer, _ = await gateway.ask("POST", CHAT, wire, made.token)
        assert status == 429, "it asks for more"
        assert answer["error"]["code"] == "quota_exceeded"

    run(tmp_path, work)


def test_several_requests_without_a_limit_run_at_once_with_a_default(tmp_path: Path) -> None:
    made = key(tmp_path, daily_cap_usd=Decimal(1), default_max_tokens=4000)

    async def work(gateway: Served, provider: Upstream) -> None:
        wire = asked("hi", ANTHROPIC)
        answers = await asyncio.gather(
            *[gateway.ask("POST", CHAT, wire, made.token) for _ in range(10)]
        )
        assert [status for status, _, _ in answers] == [200] * 10
        assert [limit_of(each) for each in provider.requests] == [4000] * 10

    run(tmp_path, work)


def test_tokens_per_minute_shorten_an_answer_as_well(tmp_path: Path) -> None:
    made = key(tmp_path, tokens_per_minute=2000)

    async def work(gateway: Served, provider: Upstream) -> None:
        status, _, headers = await gateway.ask("POST", CHAT, asked("hi", OPENAI), made.token)
        assert status == 200
        sent = limit_of(provider.requests[-1])
        assert sent is not None
        assert 1900 < sent < 2000
        assert await notes(gateway, headers, made.token) == ["output_limit_by_cap"]

    run(tmp_path, work)


def test_the_cap_of_a_model_leaves_the_fallbacks(tmp_path: Path) -> None:
    made = key(tmp_path)
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        add_budget(store, "model", ANTHROPIC, daily_cap_usd=Decimal(0))
    routes = {"both": RouteSettings(ANTHROPIC, (OPENAI,))}

    async def work(gateway: Served, provider: Upstream) -> None:
        status, _, headers = await gateway.ask("POST", CHAT, asked("hi", "both"), made.token)
        assert status == 200
        assert headers["x-interlingua-model"] == OPENAI
        status, answer, headers = await gateway.ask("POST", CHAT, asked("hi"), made.token)
        assert status == 429
        assert "the model's spending cap for this day" in str(answer)

    run(tmp_path, work, routes=routes)


def test_a_budget_counts_what_its_model_did_cost(tmp_path: Path) -> None:
    made = key(tmp_path)
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        model = add_budget(store, "model", ANTHROPIC, weekly_cap_usd=Decimal(5))
        other = add_budget(store, "model", OPENAI, monthly_cap_usd=Decimal(5))
    routes = {"both": RouteSettings(ANTHROPIC, (OPENAI,))}

    async def work(gateway: Served, provider: Upstream) -> None:
        status, _, headers = await gateway.ask("POST", CHAT, asked("hi", "both"), made.token)
        assert status == 200
        assert headers["x-interlingua-model"] == ANTHROPIC
        await gateway.stored()
        rows = await gateway.service.store.spent([model.id, other.id], _today())
        spent = {(row.owner_id, len(row.period)): (row.spent, row.reserved) for row in rows}
        assert len(spent) == 6, "day, week and month of both"
        assert all(reserved == 0 for _, reserved in spent.values())
        assert all((spent[id, n][0] > 0) == (id == model.id) for id, n in spent)

    run(tmp_path, work, routes=routes)


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).date().isoformat()


def test_each_end_user_and_each_tag_has_a_budget(tmp_path: Path) -> None:
    made = key(tmp_path)
    other = key(tmp_path, "other")
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        cap = Decimal("0.004")
        add_budget(store, "end_user", "*", made.key.id, daily_cap_usd=cap)
        add_budget(store, "tag", "feature=search", weekly_cap_usd=Decimal(0))

    async def work(gateway: Served, provider: Upstream) -> None:
        async def status(path: str = CHAT, token: str = made.token, **more: Any) -> int:
            headers = more.pop("headers", {})
            wire = asked("hi", ANTHROPIC, max_tokens=60, **more)
            found, answer, _ = await gateway.ask("POST", path, wire, token, headers=headers)
            if found == 429:
                assert answer["error"]["message"].startswith(("the end user's", "the tag's"))
            return found

        at_once = await asyncio.gather(*[status(user="ann") for _ in range(30)])
        assert set(at_once) == {200, 429}, "what is under way counts"
        while await status(user="ann") == 200:
            pass
        assert await status(user="bob") == 200, "each has one"
        assert await status(MESSAGES, metadata={"user_id": "ann"}) == 429, "known to every front"
        assert await status(headers={"x-interlingua-end-user": "ann"}) == 429
        assert await status(token=other.token, user="ann") == 200, "the budget is of one key"
        assert await status(token=other.token, metadata={"feature": "search"}) == 429
        assert (
            await status(token=other.token, headers={"x-interlingua-tags": "a,feature=search"})
            == 429
        )
        assert await status(token=other.token, metadata={"feature": "chat"}) == 200

    run(tmp_path, work)


def test_rate_limits_are_reported_in_each_sdks_format(tmp_path: Path) -> None:
    made = key(tmp_path, requests_per_minute=4, tokens_per_minute=100_000)

    async def work(gateway: Served, provider: Upstream) -> None:
        wire = asked("hi", OPENAI, max_tokens=50)
        _, _, chat = await gateway.ask("POST", CHAT, wire, made.token)
        assert chat["x-ratelimit-limit-requests"] == "4"
        assert chat["x-ratelimit-remaining-requests"] == "3"
        assert chat["x-ratelimit-limit-tokens"] == "100000"
        assert 99_000 < int(chat["x-ratelimit-remaining-tokens"]) < 100_000
        assert chat["x-ratelimit-reset-requests"].endswith("s")
        _, _, streamed = await gateway.ask("POST", CHAT, {**wire, "stream": True}, made.token)
        assert streamed["x-ratelimit-remaining-requests"] == "2"
        _, _, other = await gateway.ask("POST", MESSAGES, wire, made.token)
        assert other["anthropic-ratelimit-requests-limit"] == "4"
        assert other["anthropic-ratelimit-requests-remaining"] == "1"
        assert other["anthropic-ratelimit-requests-reset"].endswith("Z")
        assert not any(name.startswith("x-ratelimit") for name in other)
        await gateway.ask("POST", CHAT, wire, made.token)
        status, _, refused = await gateway.ask("POST", CHAT, wire, made.token)
        assert status == 429
        assert refused["x-ratelimit-remaining-requests"] == "0"
        assert "retry-after" in refused

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("terms", "least", "most"),
    [
        ({"default_max_tokens": 700}, 700, 700),
        ({"daily_cap_usd": Decimal("0.05")}, 2500, 3333),
        ({"daily_cap_usd": Decimal("0.05"), "default_max_tokens": 4000}, 2500, 3333),
    ],
)
def test_turns_of_sessions_have_the_limits_of_their_key(
    tmp_path: Path, terms: dict[str, Any], least: int, most: int
) -> None:
    made = key(tmp_path, **terms)

    async def work(gateway: Served, provider: Upstream) -> None:
        _, session, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, made.token)
        path = f"/sessions/{session['id']}/turns"
        status, answer, _ = await gateway.ask("POST", path, {"content": "hi"}, made.token)
        assert status < 300, answer
        async with asyncio.timeout(20):
            while not provider.requests:
                await asyncio.sleep(0.01)
        sent = limit_of(provider.requests[-1])
        assert sent is not None
        assert least <= sent <= most

    run(tmp_path, work)


def test_labels_that_are_no_labels_are_none() -> None:
    raw = {"user": 7, "metadata": [1], "labels": None}
    members = {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in raw.items()}
    assert labels_of(members, {}) == ("", ())
    raw = {"user": "ä" * 600, "metadata": {str(n): n for n in range(50)}}
    members = {name: msgspec.Raw(msgspec.json.encode(value)) for name, value in raw.items()}
    found = labels_of(members, {})
    assert len(found.end_user) == 512
    assert len(found.tags) == 16


def test_decisions_obey_the_budgets_of_tags_and_models(tmp_path: Path) -> None:
    made = key(tmp_path)
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        add_budget(store, "tag", "feature=search", weekly_cap_usd=Decimal(0))
        add_budget(store, "model", ANTHROPIC, daily_cap_usd=Decimal(0))
    routes = {"both": RouteSettings(ANTHROPIC, (OPENAI,))}
    wire = {
        "input": "hi",
        "questions": [{"type": "predicate", "name": "a", "instructions": "It is late."}],
    }

    async def work(gateway: Served, provider: Upstream) -> None:
        async def answer(model: str, **headers: str) -> tuple[int, str]:
            body = {**wire, "model": model}
            found = await gateway.ask("POST", "/v1/decisions", body, made.token, headers=headers)
            return found[0], str(found[1])

        status, text = await answer("both", **{"x-interlingua-tags": "feature=search"})
        assert status == 429
        assert "the tag's" in text
        status, text = await answer(ANTHROPIC)
        assert status == 429
        assert "the model's" in text
        await answer("both")
        assert {each["model"] for each in provider.requests} == {OPENAI.partition(":")[2]}

    run(tmp_path, work, routes=routes)
