"""What is said of whole sessions: found by filters and words, summed up, with their branches."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from interlingua.costs.table import bundled
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.transcripts.exports import saved_by_caching
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served
from tests.gateway.sessions.test_api import new, rest, say


def with_gateway(work: Callable[[Served, Path], Awaitable[None]]) -> Callable[[Path], None]:
    """A test with a gateway of its own."""

    def test(tmp_path: Path) -> None:
        async def run() -> None:
            with Upstream() as provider:
                provider.configure(tmp_path)
                async with served(tmp_path) as here:
                    await work(here, tmp_path)

        asyncio.run(run())

    test.__name__ = work.__name__
    return test


async def get(gateway: Served, path: str, token: str | None = None) -> Any:
    status, reply, _ = await gateway.ask("GET", path, token=token)
    assert status == 200, reply
    return reply


def answer(model: str, **usage: Any) -> Message:
    metadata = MessageMetadata(model=model, provider=model.partition(":")[0], usage=Usage(**usage))
    return Message.assistant("…", metadata)


@with_gateway
async def test_sessions_are_listed_by_filters(gateway: Served, home: Path) -> None:
    one = await new(gateway, name="red", active_model=ANTHROPIC, workspace_path="a/b")
    await new(gateway, name="blue", active_model=OPENAI, workspace_path="a/c")
    await gateway.service.store.create_session("elsewhere", name="red chat")
    for query, count in {
        "q=RED": 2,
        "q=red&source=gateway": 1,
        "source=chat": 1,
        "source=task": 0,
        "model=claude": 1,
        "folder=a": 2,
        "folder=a/b": 1,
        "since=2020-01-01": 3,
        "until=2020-01-01T00:00:00Z": 0,
        "q=&source=": 3,
    }.items():
        assert len((await get(gateway, f"/sessions?{query}"))["sessions"]) == count, query
    reply = await get(gateway, "/sessions?q=red&source=gateway")
    assert [(row["id"], row["source"]) for row in reply["sessions"]] == [(one, "gateway")]
    for query in ("source=mail", "since=soon", "until=2020-13-01"):
        status, odd, _ = await gateway.ask("GET", f"/sessions?{query}")
        assert (status, odd["error"]["code"]) == (400, "invalid_request"), query


@with_gateway
async def test_words_are_found_in_messages_of_the_caller_only(gateway: Served, home: Path) -> None:
    own, other = key(home, "mine").token, key(home, "other").token
    id = await new(gateway, own)
    await say(gateway, id, "the zebra crossing", own)
    await rest(gateway, id)
    found = (await get(gateway, "/search?q=zebra", own))["messages"]
    assert {hit["session_id"] for hit in found} == {id}
    assert "zebra" in found[-1]["snippet"]
    assert (await get(gateway, "/search?q=zebra", other))["messages"] == []
    status, _, _ = await gateway.ask("GET", f"/sessions/{id}/summary", token=other)
    assert status == 404


@with_gateway
async def test_a_change_of_model_is_told_with_what_it_lost(gateway: Served, home: Path) -> None:
    id = await new(gateway, active_model=ANTHROPIC)
    for override, options in ((None, None), (OPENAI, {"top_k": 5})):
        _, reply = await say(gateway, id, "hi", per_message_override=override, options=options)
        await rest(gateway, id)
        assert "turn_id" in reply, reply
    reply = await get(gateway, f"/sessions/{id}/summary")
    (change,) = reply["changes"]
    assert (change["from"], change["to"]) == (ANTHROPIC, OPENAI)
    assert [loss["path"] for loss in change["losses"]["losses"]] == ["$.options.top_k"]
    messages = (await get(gateway, f"/sessions/{id}/messages"))["messages"]
    assert change["message_id"] == messages[-1]["id"]
    assert [each["model"] for each in reply["models"]] == sorted([ANTHROPIC, OPENAI])
    assert reply["total"]["answers"] == 2


@with_gateway
async def test_caching_is_summed_up(gateway: Served, home: Path) -> None:
    store = gateway.service.store
    row = await store.create_session("x", active_model="anthropic:claude-sonnet-4-6")
    known = {"output_tokens": 10, "cost_usd": Decimal("0.5")}
    await store.append(
        row.id,
        [
            answer("anthropic:claude-sonnet-4-6", input_tokens=1, **known),
            answer(
                "anthropic:claude-sonnet-4-6",
                input_tokens=1,
                cached_input_tokens=1_000_000,
                **known,
            ),
            answer("nobody:knows", input_tokens=5, cached_input_tokens=7, output_tokens=1),
        ],
    )
    reply = await get(gateway, f"/sessions/{row.id}/summary")
    total = reply["total"]
    assert (total["cost_usd"], total["unpriced"], total["saving_unknown"]) == ("1", 1, 1)
    assert Decimal(total["saved_usd"]) == Decimal("2.7")  # 3 dollars a million, 0.3 from the cache
    for query, cost in (("?costs=true", Decimal(1)), ("", None)):
        (shown,) = (await get(gateway, f"/sessions{query}"))["sessions"]
        assert (Decimal(shown["cost_usd"]) if query else shown.get("cost_usd")) == cost
        assert shown.get("answered_by") == ("nobody:knows" if query else None)
        assert shown.get("unpriced") == (1 if query else None)
    assert [(bar["fresh"], bar["cached"]) for bar in reply["prompts"]] == [
        (1, 0),
        (1, 1_000_000),
        (5, 7),
    ]


def test_writing_to_a_cache_that_nobody_reads_saves_less_than_nothing() -> None:
    usage = Usage(input_tokens=0, output_tokens=0, cache_creation_input_tokens=1_000_000)
    saved = saved_by_caching(usage, "anthropic:claude-sonnet-4-6", bundled())
    assert saved == Decimal("-0.75")
    assert saved_by_caching(Usage(), "anthropic:claude-sonnet-4-6", bundled()) is None


@with_gateway
async def test_branches_are_told_with_where_they_begin(gateway: Served, home: Path) -> None:
    store = gateway.service.store
    root = await store.create_session("x", name="root")
    added = await store.append(root.id, [Message.user(f"m{n}") for n in range(4)])
    fork = await store.fork(root.id, added.messages[1].id, name="fork")
    inner = await store.fork(fork.id, name="inner")
    await store.append(fork.id, [Message.user("own")])
    reply = await get(gateway, f"/sessions/{fork.id}/summary")
    assert [each["id"] for each in reply["branches"]] == [root.id, fork.id, inner.id]
    assert reply["branches"][1]["parent_message_id"] == added.messages[1].id
    here = (await get(gateway, f"/sessions/{fork.id}/messages"))["messages"]
    assert reply["copied_until"] == here[1]["id"]
    alone = await store.create_session("y")
    assert (await get(gateway, f"/sessions/{alone.id}/summary"))["branches"] == []


@with_gateway
async def test_messages_come_around_one_of_them(gateway: Served, home: Path) -> None:
    store = gateway.service.store
    row = await store.create_session("x")
    added = (await store.append(row.id, [Message.user(f"m{n}") for n in range(30)])).messages
    path = f"/sessions/{row.id}/messages?limit=10"
    reply = await get(gateway, f"{path}&around={added[12].id}")
    assert [each["id"] for each in reply["messages"]] == [each.id for each in added[7:17]]
    assert (reply["has_earlier"], reply["has_later"]) == (True, True)
    reply = await get(gateway, f"{path}&around={added[0].id}")
    assert [each["id"] for each in reply["messages"]] == [each.id for each in added[:10]]
    assert (reply["has_earlier"], reply["has_later"]) == (False, True)
    reply = await get(gateway, f"{path}&after={added[24].id}")
    assert (len(reply["messages"]), reply["has_more"]) == (5, False)
    assert (reply["has_earlier"], reply["has_later"]) == (True, False)
    status, _, _ = await gateway.ask("GET", f"{path}&around={added[0].id}&after={added[1].id}")
    assert status == 400
