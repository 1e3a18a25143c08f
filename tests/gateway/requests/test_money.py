"""What passed the gateway is in the sums of `interlingua cost`, once, and in `requests`."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua.gateway.settings import RouteSettings
from interlingua.model.metadata import KEY_ID
from interlingua.store.request_costs import SESSIONS
from interlingua.store.requests import RequestFilter
from tests.cli.running import ok, told
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, asked, key, served, settings_in
from tests.gateway.sessions.test_api import new, rest, run, say
from tests.gateway.tasks import asking as tasks
from tests.loopback import reply

EACH = Decimal("0.0006")
"""What an answer of the scripted provider costs with Sonnet: 100 tokens in, 20 out."""


def spent(home: Path, *options: str) -> Any:
    return told("cost", "--store", home / "gateway.db", *options)


def test_twenty_requests_are_in_the_sum(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for number in range(20):
                body = asked(f"number {number}", max_tokens=50, stream=number % 2 == 0)
                status, _, _ = await gateway.ask("POST", "/v1/chat/completions", body)
                assert status == 200
            await gateway.ask("POST", "/v1/chat/completions", asked("fail"))

    run(work)
    whole = spent(tmp_path)["total"]
    assert (whole["messages"], Decimal(whole["cost_usd"])) == (20, 20 * EACH)
    assert (whole["prompt_tokens"], whole["output_tokens"]) == (2000, 400)
    assert "Nothing was spent" not in ok("cost", "--store", tmp_path / "gateway.db")
    rows = told("requests", "--store", tmp_path / "gateway.db", "--limit", "100")
    assert len(rows) == 21
    assert sum(Decimal(row["usage"]["cost_usd"]) for row in rows if row["usage"]) == 20 * EACH


def test_what_had_no_price_gets_one_by_another_table(tmp_path: Path) -> None:
    model = "openai:acme-large"

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for _ in range(2):
                await gateway.ask("POST", "/v1/chat/completions", asked("hi", model))

    run(work)
    assert spent(tmp_path)["unknown"] == [{"model": model, "messages": 2}]
    table = tmp_path / "prices.toml"
    table.write_text(
        'pricing_version = "own"\n[models."openai:acme-large"]\n'
        "input_per_mtok_usd = 1\noutput_per_mtok_usd = 10\n"
    )
    store = ("--store", tmp_path / "gateway.db")
    done = told("reprice", "--prices", table, "--dry-run", *store)["total"]
    assert (done["first_priced"], done["first_priced_usd"]) == (2, "0.0006")
    assert spent(tmp_path)["total"]["cost_usd"] is None
    told("reprice", "--prices", table, *store)
    assert (spent(tmp_path)["unknown"], spent(tmp_path)["total"]["cost_usd"]) == ([], "0.0006")
    assert "own" in told("requests", "last", *store)["usage"]["pricing_version"]


def test_spending_of_users_and_teams_is_listed_by_their_names(tmp_path: Path) -> None:
    store = ("--store", tmp_path / "gateway.db")
    team = ok("teams", "add", "Research", *store).strip()
    user = ok("users", "add", "Ada", *store).strip()
    owner = ("--user", user, "--team", team)
    token = told("keys", "issue", "laptop", *owner, *store)["token"]

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            body = asked("hi", max_tokens=50)
            status, _, _ = await gateway.ask("POST", "/v1/chat/completions", body, token)
            assert status == 200

    run(work)
    for by, id, name in (("user", user, "Ada"), ("team", team, "Research")):
        (row,) = spent(tmp_path, "--by", by)["rows"]
        assert (row[by], row["name"], Decimal(row["cost_usd"])) == (id, name, EACH)
        assert f"{name} ({id})" in ok("cost", "--by", by, *store)


def test_clients_sessions_and_tasks_are_counted_alike_and_once(tmp_path: Path) -> None:
    laptop = key(tmp_path, "laptop", allowed_models=None)
    robot = key(tmp_path, "robot")

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for _ in range(3):
                body = asked("hi", max_tokens=50)
                await gateway.ask("POST", "/v1/chat/completions", body, laptop.token)
            await gateway.ask("POST", "/v1/messages", asked("hi", max_tokens=50), robot.token)
            id = await new(gateway, laptop.token)
            for words in ("one", "two"):
                assert (await say(gateway, id, words, laptop.token))[0] == 202
                await rest(gateway, id)
            (tmp_path / "work").mkdir()
            task = await tasks.new(gateway, tmp_path / "work", "hello", robot.token)
            async with asyncio.timeout(tasks.PATIENCE):
                while (await tasks.shown(gateway, task["id"], robot.token))["status"] != "idle":
                    await asyncio.sleep(0.02)

    run(work)
    by_key = {row["name"]: row for row in spent(tmp_path, "--by", "key")["rows"]}
    assert set(by_key) == {"laptop", "robot"}
    assert Decimal(by_key["laptop"]["cost_usd"]) == 5 * EACH
    assert (by_key["laptop"]["messages"], by_key["robot"]["messages"]) == (5, 2)
    assert by_key["robot"]["key"] == robot.key.id
    for by in ("model", "day", "user", "team", "session"):
        whole = spent(tmp_path, "--by", by)["total"]
        assert (whole["messages"], Decimal(whole["cost_usd"])) == (7, 7 * EACH)
    lines = ok("cost", "--by", "key", "--store", tmp_path / "gateway.db").splitlines()
    assert lines[1].startswith(f"laptop ({laptop.key.id})")
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        assert len(store.requests()) == 7, "turns have passed the gateway too"
        turns = [row for row in store.requests() if row.front == SESSIONS]
        assert {row.session_id for row in turns} == {row.id for row in store.sessions()}
        assert len(store.requests(RequestFilter(besides=SESSIONS))) == 4
        (answer, *_) = [each.metadata for each in store.usages()]
        assert (answer.extra or {})[KEY_ID] in (laptop.key.id, robot.key.id)


def test_a_request_has_everything_about_it_and_nothing_that_was_said(tmp_path: Path) -> None:
    words = "the-unspeakable-canary-phrase"

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        routes = {"claude": RouteSettings(ANTHROPIC)}
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:
            body = asked(words, "claude", max_tokens=50, seed=7, stream=True)
            await gateway.ask("POST", "/v1/chat/completions", body)
            await gateway.ask("POST", "/v1/messages", asked(f"fail {words}", OPENAI, max_tokens=9))
            await gateway.ask("POST", "/v1/chat/completions", asked(words, "nothing:x"))
            await gateway.ask("POST", "/v1/messages/count_tokens", asked(words, ANTHROPIC))

    run(work)
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        counted, refused, failed, good = [store.request(row.id) for row in store.requests()]
    assert (good.front, good.dialect, good.asked, good.model) == (
        "openai-chat",
        "anthropic",
        "claude",
        ANTHROPIC,
    )
    assert (good.status, good.error, good.stream, good.losses) == (200, None, True, 1)
    assert (good.attempts, good.stop_reason) == (1, "end_turn")
    assert good.first_byte_ms is not None
    assert good.usage is not None
    assert (good.usage.input_tokens, good.usage.cost_usd) == (100, EACH)
    assert (failed.status, failed.error, failed.usage) == (400, "invalid_request", None)
    assert failed.tries[0]["status"] == 400
    assert (refused.status, refused.code, refused.model) == (404, "model_not_found", None)
    assert refused.asked == "nothing:x"
    assert (counted.action, counted.usage) == ("count_tokens", None)
    whole = told("requests", good.id, "--store", tmp_path / "gateway.db")
    (loss,) = whole["report"]["losses"]
    assert loss["path"] == "$.options.seed"
    assert whole["tries"] == [{"model": ANTHROPIC}]
    assert [event["type"] for event in whole["trace"]] == ["llm.call_completed"]
    everything = [told("requests", each.id, "--store", tmp_path / "gateway.db")
                  for each in (good, failed, refused, counted)]  # fmt: skip
    assert words not in json.dumps(everything)


def test_a_request_that_may_not_lose_anything_shows_what_it_would_have_lost(
    tmp_path: Path,
) -> None:
    token = key(tmp_path, refuse_losses=True).token

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            body = asked("hi", max_tokens=50, seed=7)
            status, _, _ = await gateway.ask("POST", "/v1/chat/completions", body, token)
            assert status == 400

    run(work)
    shown = told("requests", "last", "--store", tmp_path / "gateway.db")
    assert (shown["status"], shown["code"], shown["attempts"]) == (400, "lossy_request", 0)
    assert [loss["path"] for loss in shown["report"]["losses"]] == ["$.options.seed"]


class Hasty(Upstream):
    """Serves in a tier that has no price, and compacts before it answers."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        round = {"type": "compaction", "input_tokens": 50, "output_tokens": 10}
        round |= {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        usage = {"input_tokens": 100, "output_tokens": 20, "service_tier": "priority"}
        usage |= {"iterations": [round]}
        body = {"id": "msg_1", "type": "message", "role": "assistant", "model": wire["model"]}
        body |= {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
        reply(handler, json.dumps({**body, "stop_sequence": None, "usage": usage}).encode())


def test_sums_of_requests_name_how_many_lack_a_price(tmp_path: Path) -> None:
    stats: dict[str, Any] = {}

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for _ in range(2):
                await gateway.ask("POST", "/v1/chat/completions", asked("hi"))
            await asyncio.sleep(0.5)
            stats.update((await gateway.ask("GET", "/stats"))[1])

    with Hasty() as provider:
        asyncio.run(work(provider))
    whole = spent(tmp_path)["total"]
    assert (whole["messages"], whole["unpriced"]) == (2, 2)
    assert Decimal(whole["cost_usd"]) == 3 * EACH
    assert "+ ?" in ok("cost", "--store", tmp_path / "gateway.db")
    row = told("requests", "last", "--store", tmp_path / "gateway.db")
    assert row["usage"]["unpriced"] == ["service tier priority"]
    assert stats["today"]["unpriced"] == 2
    done = told("reprice", "--dry-run", "--store", tmp_path / "gateway.db")
    assert (done["total"]["messages"], done["unchanged"]) == (0, 2)
