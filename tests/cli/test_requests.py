"""What passed the gateway, from the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua.cli.requests import followed
from interlingua.gateway.keys.key_admin import issue
from interlingua.model.ids import Ulids
from interlingua.model.metadata import Usage
from interlingua.store.base import Store
from interlingua.store.requests import RequestFilter, RequestRow
from interlingua.store.rows import EventRow
from tests.cli.running import ok, on_terminal, run, told

IDS = Ulids()
DAY = datetime(2026, 11, 10, 12, tzinfo=UTC)
USAGE = Usage(1000, 42, 3, None, 7, Decimal("0.0123"), pricing_version="2026-11-16")


def row(minutes: int = 0, **known: Any) -> RequestRow:
    usual: dict[str, Any] = {
        "front": "openai-chat",
        "status": 200,
        "duration_ms": 1234,
        "asked": "sonnet",
        "model": "anthropic:claude-sonnet-4-6",
        "dialect": "anthropic",
        "usage": USAGE,
    }
    at = DAY + timedelta(minutes=minutes)
    return RequestRow(f"req_{IDS.new()}", at, **{**usual, **known})


def test_a_list_shows_time_key_model_status_tokens_cost_and_losses(store: Store) -> None:
    laptop = issue(store, "laptop", ".").key.id
    good = row(key_id=laptop, losses=3, attempts=2)
    bad = row(1, status=429, error="rate_limit", usage=None)
    cut = row(2, error="network")
    store.append_requests([good, bad, cut])
    titles, last, middle, first = ok("requests").splitlines()
    assert titles.split() == [
        *("id", "when", "(UTC)", "key", "requested", "model", "status", "attempts"),
        *("in", "out", "cost", "losses", "ms"),
    ]
    assert first.split() == [
        *(good.id, "2026-11-10", "12:00:00", "laptop", "sonnet", "anthropic:claude-sonnet-4-6"),
        *("200", "2", "1,003", "42", "$0.0123", "3", "1,234"),
    ]
    assert middle.split()[-2:] == ["429", "1,234"]
    assert "200 network" in last
    assert [each["id"] for each in told("requests")] == [cut.id, bad.id, good.id]
    assert told("requests")[2]["usage"]["cost_usd"] == "0.0123"
    assert told("requests")[1]["usage"] is None


def test_an_empty_store_has_no_requests(store: Store) -> None:
    assert "No requests match" in run("requests").stderr
    assert told("requests") == []
    assert "there are no requests yet" in run("requests", "last").stderr


def test_requests_are_chosen_by_model_status_key_and_time(store: Store) -> None:
    laptop = issue(store, "laptop", ".").key.id
    rows = [
        row(0, key_id=laptop),
        row(1, model="openai:gpt-5", asked=None),
        row(2, status=429, error="rate_limit"),
        row(3, status=502, error="server_error"),
    ]
    store.append_requests(rows)

    def numbers(*options: str) -> list[int]:
        ids = [each.id for each in rows]
        return [ids.index(each["id"]) for each in told("requests", *options)]

    assert numbers() == [3, 2, 1, 0]
    assert numbers("--model", "gpt-5") == [1]
    assert numbers("--model", "sonnet") == [3, 2, 0]
    assert numbers("--status", "failed") == [3, 2]
    assert numbers("--status", "ok") == [1, 0]
    assert numbers("--status", "4xx") == [2]
    assert numbers("--status", "502") == [3]
    assert numbers("--key", "laptop") == [0]
    assert numbers("--since", "2026-11-10T12:02") == [3, 2]
    assert numbers("--until", "2026-11-10T12:01") == [0]
    assert numbers("--limit", "1") == [3]
    assert "There are more" in run("requests", "--limit", "1").stderr
    assert run("requests", "--status", "bad").exit_code == 2
    assert run("requests", "--key", "nobody").exit_code == 1


def test_one_request_is_shown_with_its_losses_its_tries_and_its_trace(store: Store) -> None:
    made = row(
        losses=1,
        attempts=2,
        tries=(
            {"model": "openai:gpt-5", "kind": "rate_limit", "status": 429},
            {"model": "anthropic:claude-sonnet-4-6", "waited": 1.5, "request_id": "msg_1"},
        ),
    )
    loss = {"kind": "dropped", "path": "$.options.seed", "reason": "no place \x1b[31m for it"}
    payload = {"latency_ms": 3, "losses": {"target": "anthropic", "count": 1, "losses": [loss]}}
    id = made.id.removeprefix("req_")
    event = EventRow(id, made.id, "llm.call_completed", DAY, "system", "private", payload)
    store.append_requests([made, row(1)], [event])
    text = ok("requests", made.id)
    for words in (
        "sonnet · openai-chat",
        "anthropic:claude-sonnet-4-6 · anthropic",
        "1,000 fresh, 3 from cache, 42 out, 7 of it thinking",
        "$0.0123 (prices of 2026-11-16)",
        "openai:gpt-5 · 429 · rate_limit",
        "anthropic:claude-sonnet-4-6 · ok · after 1.5 s · msg_1",
        "1 loss in anthropic",
        "warning: $.options.seed",
        "llm.call_completed · 2026-11-10 12:00:00 UTC",
        "latency_ms: 3",
    ):
        assert words in text
    assert "\x1b" not in text
    assert ok("requests", id.lower()) == text, "without its prefix, in any case"
    assert "Nothing was lost" in ok("requests", "last")
    whole = told("requests", made.id)
    assert whole["report"] == {"target": "anthropic", "count": 1, "losses": [loss]}
    assert whole["trace"][0]["payload"] == {"latency_ms": 3}
    assert run("requests", "req_nothing").exit_code == 1
    assert run("requests", made.id, "-f").exit_code == 2


def test_a_request_names_the_providers_cost_and_what_ours_lacks(store: Store) -> None:
    more = {"raw": {"provider": {"cost": "0.02"}}, "tool_uses": {"code_execution": 1}}
    made = row(usage=USAGE.replace(**more))
    store.append_requests([made], [])
    text = ok("requests", made.id)
    assert "the provider reports $0.02, which is more than 2 % apart" in text
    assert "without code_execution, whose price is not known" in text


def test_a_beginning_that_several_have_names_them(store: Store) -> None:
    store.append_requests([row(), row(1)])
    found = run("requests", "req_0")
    assert found.exit_code == 1
    assert "is the beginning of several requests" in found.stderr


def test_what_passes_is_followed_each_once_and_in_order(store: Store) -> None:
    before, later = row(), [row(number, duration_ms=number) for number in range(450)]
    store.append_requests([before])
    waits = 0

    def wait(seconds: float) -> None:
        nonlocal waits
        waits += 1
        if waits == 1:
            store.append_requests(later[:430])
        elif waits == 3:
            store.append_requests([replace(each, error="x") for each in later[430:]])
        assert waits < 4, "nothing more comes"

    seen: list[str] = []
    for each in followed(store, RequestFilter(), store.last_request(), wait):
        seen.append(each.id)
        if len(seen) == len(later):
            break
    assert seen == [each.id for each in later]


def test_following_begins_with_the_last_ones_and_tells_each_on_a_line(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = row(), row(1), row(2)
    store.append_requests([first, second])

    def wait(seconds: float) -> None:
        if store.last_request() == 3:
            raise KeyboardInterrupt
        store.append_requests([third])

    monkeypatch.setattr("interlingua.cli.requests.followed.__defaults__", (wait,))
    lines = ok("requests", "-f", "--limit", "1").splitlines()
    assert [line.split()[0] for line in lines] == [second.id, third.id]
    (line,) = ok("requests", "-f", "--limit", "1", "--json").splitlines()
    assert json.loads(line)["id"] == third.id


@pytest.mark.parametrize("columns", [60, 100, 160])
def test_a_terminal_of_any_width_shows_ids_whole(store: Store, columns: int) -> None:
    made = row()
    store.append_requests([made])
    code, text = on_terminal("requests", columns=columns)
    assert code == 0
    assert made.id in text
    assert "200" in text


def test_one_request_says_why_its_cache_was_missed(store: Store) -> None:
    cache = {"outcome": "miss", "reason": "tools_changed", "changed": ["tools"]}
    missed = row(cache={**cache, "missed_tokens": 2000, "cost_usd": "0.0054"})
    store.append_requests([missed])
    assert "miss: tools_changed (tools); 2,000 tokens; $0.0054 more" in ok("requests", missed.id)
    assert told("requests")[0]["cache"]["reason"] == "tools_changed"
