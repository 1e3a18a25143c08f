"""Sessions over HTTP: turns in the background, watched as they happen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway.sessions.live import WAITING, Hub, Piece, watch_session
from interlingua.store.rows import EventRow
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served

SSE = {"accept": "text/event-stream"}


async def new(gateway: Served, token: str | None = None, **more: Any) -> str:
    body = {"workspace_path": ".", **more}
    status, made, headers = await gateway.ask("POST", "/sessions", body, token)
    assert status == 201, made
    assert headers["location"] == f"/sessions/{made['id']}"
    return str(made["id"])


async def say(
    gateway: Served, id: str, content: Any, token: str | None = None, **more: Any
) -> tuple[int, Any]:
    status, reply, _ = await gateway.ask(
        "POST", f"/v1/sessions/{id}/turns", {"content": content, **more}, token
    )
    return status, reply


async def rest(gateway: Served, id: str) -> None:
    """Until the turn is over."""
    for _ in range(400):
        if gateway.service.turns.running(id) is None:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the turn did not end")


async def watch(
    gateway: Served, id: str, until: str, query: str = "", **headers: str
) -> list[tuple[str | None, str, Any]]:
    """(id, name, data) of what is shown, up to an event of this name."""
    out = []
    async with asyncio.timeout(10):
        async for each in _frames(gateway, id, query, headers):
            out.append(each)
            if each[1] == until:
                return out
    raise AssertionError(f"no {until}")


async def _frames(
    gateway: Served, id: str, query: str, headers: dict[str, str]
) -> AsyncIterator[tuple[str | None, str, Any]]:
    url = f"{gateway.base}/sessions/{id}/events{query}"
    async with gateway.http.get(url, headers={**SSE, **headers}) as reply:
        assert reply.status == 200, await reply.text()
        assert reply.headers["content-type"].startswith("text/event-stream")
        found: dict[str, str] = {}
        async for line in reply.content:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                found[name] = value
            elif "event" in found:
                yield found.get("id"), found["event"], json.loads(found["data"])
                found = {}


def run(work: Any) -> None:
    with Upstream() as provider:
        asyncio.run(work(provider))


def test_a_turn_runs_in_the_background_and_is_stored(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway, name="first", system="Be brief.")
            status, reply = await say(gateway, id, "hello")
            assert status == 202
            assert reply["model"] == ANTHROPIC
            await rest(gateway, id)
            _, page, _ = await gateway.ask("GET", f"/v1/sessions/{id}/messages")
            roles = [message["role"] for message in page["messages"]]
            assert roles == ["system", "user", "assistant"]
            assert page["messages"][1]["id"] == reply["user_message_id"]
            answer = il.loads(json.dumps(page["messages"][2]))
            assert answer.text == "Answer 1 to: hello"
            _, shown, _ = await gateway.ask("GET", f"/sessions/{id}")
            assert (shown["name"], shown["message_count"]) == ("first", 3)
            assert shown["turn_in_flight"] is False

    run(work)


def test_who_watches_sees_everything_in_order_and_nothing_twice(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            for words in ("hello", "think about it"):
                watching = asyncio.ensure_future(watch(gateway, id, "turn.completed", "?after=0"))
                while not len(gateway.service.turns.hub):
                    await asyncio.sleep(0.01)
                assert (await say(gateway, id, words))[0] == 202
                seen = await watching
                names = [name for _, name, _ in seen]
                start = names.index("message.start") if words == "hello" else -1
                if words == "hello":
                    assert names.index("turn.started") < names.index("route.decided")
                    assert names.index("llm.call_started") == start - 1
                    last = names.index("message.complete")
                    assert set(names[start + 1 : last]) == {"text.delta", "usage_update"}
                    assert names[last + 1 :] == ["llm.call_completed", "turn.completed"]
                    collected = [data for _, name, data in seen if name == "text.delta"]
                    assert "".join(piece["text"] for piece in collected) == "Answer 1 to: hello"
                    assert {piece["content_block_index"] for piece in collected} == {0}
                numbers = [int(number) for number, _, _ in seen if number is not None]
                assert numbers == list(range(1, len(numbers) + 1))
                await rest(gateway, id)

    run(work)


def test_a_watcher_goes_on_where_it_was(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            await say(gateway, id, "hello")
            await rest(gateway, id)
            whole = await watch(gateway, id, "turn.completed")
            last = len(whole)
            for cut in range(last):
                more = await watch(gateway, id, "turn.completed", "", **{"last-event-id": str(cut)})
                assert more == whole[cut:]
            for cursor, status in ((str(last + 7), 410), ("x", 400), ("-1", 400), ("9" * 30, 400)):
                found, reply, _ = await gateway.ask(
                    "GET", f"/sessions/{id}/events", headers={**SSE, "last-event-id": cursor}
                )
                assert found == status, (cursor, reply)
            types = "?types=turn.completed,message.complete&snapshot=true"
            shown = await watch(gateway, id, "turn.completed", types)
            assert [name for _, name, _ in shown] == ["snapshot", "turn.completed"]
            assert len(shown[0][2]["messages"]) == 2
            spelled = "?types=routing_constraint_failure,tool_input_invalid"
            status, _, _ = await gateway.ask("GET", f"/sessions/{id}/events{spelled}")
            assert status == 200
            status, reply, _ = await gateway.ask("GET", f"/sessions/{id}/events?types=nonsense")
            assert (status, reply["error"]["code"]) == (400, "invalid_filter")
            _, page, _ = await gateway.ask("GET", f"/sessions/{id}/events?limit=2&after=1")
            assert [row["seq"] for row in page["events"]] == [2, 3]
            assert page["has_more"] is True

    run(work)


def test_a_session_has_one_turn_at_a_time_and_it_can_be_cancelled(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            begun = await asyncio.gather(*[say(gateway, id, "slow") for _ in range(8)])
            assert sorted(status for status, _ in begun) == [202, *[409] * 7]
            assert {reply["error"]["code"] for s, reply in begun if s == 409} == {"turn_in_flight"}
            await watch(gateway, id, "text.delta")
            status, reply, _ = await gateway.ask("POST", f"/sessions/{id}/cancel")
            assert (status, reply) == (202, {"cancelled": True})
            assert await asyncio.to_thread(provider.left.wait, 5), "the provider was let go"
            status, reply, _ = await gateway.ask("POST", f"/sessions/{id}/cancel")
            assert (status, reply) == (202, {"cancelled": False})
            _, page, _ = await gateway.ask("GET", f"/sessions/{id}/messages")
            answer = page["messages"][-1]
            assert answer["metadata"]["status"] == "cancelled"
            assert answer["content"][0]["text"].startswith("w0 ")
            _, trace, _ = await gateway.ask("GET", f"/sessions/{id}/events?limit=100")
            assert [row["type"] for row in trace["events"]][-2:] == [
                "llm.call_failed",
                "turn.cancelled",
            ]
            assert (await say(gateway, id, "hello"))[0] == 202, "and another one may begin"
            await rest(gateway, id)

    run(work)


def test_a_watcher_that_leaves_stops_nothing(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        provider.pace = 0.003
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            await say(gateway, id, "slow")
            await watch(gateway, id, "text.delta")
            for _ in range(100):
                if not len(gateway.service.turns.hub):
                    break
                await asyncio.sleep(0.02)
            assert len(gateway.service.turns.hub) == 0
            await rest(gateway, id)
            assert not provider.left.is_set()

    run(work)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("", "invalid_content"),
        ([], "invalid_content"),
        ([{"type": "nonsense"}], "invalid_content"),
        ([{"type": "tool_use", "id": "x", "name": "y", "input": {}}], "invalid_content"),
        (
            [{"type": "image", "source": {"kind": "file_ref", "data": "/etc/passwd"}}],
            "invalid_content",
        ),
        (
            [
                {
                    "type": "document",
                    "source": {
                        "kind": "blocks",
                        "content": [{"type": "image", "source": {"kind": "file_ref", "data": "x"}}],
                    },
                }
            ],
            "invalid_content",
        ),
        ("@nobody-of-this-name hello", "unknown_model"),
    ],
)
def test_what_cannot_be_said_starts_no_turn(tmp_path: Path, content: Any, code: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            status, reply = await say(gateway, id, content)
            assert (status, reply["error"]["code"]) == (400, code), reply
            _, page, _ = await gateway.ask("GET", f"/sessions/{id}/messages")
            assert page["messages"] == []
            assert provider.requests == []
            assert gateway.service.turns.running(id) is None

    run(work)


def test_a_failed_turn_is_told_and_the_next_one_may_begin(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            watching = asyncio.ensure_future(watch(gateway, id, "turn.completed"))
            assert (await say(gateway, id, "fail"))[0] == 202
            seen = [name for _, name, _ in await watching]
            assert "llm.call_failed" in seen
            assert (await say(gateway, id, "hello"))[0] == 202
            await rest(gateway, id)

    run(work)


def test_the_model_is_changed_at_once_or_after_the_turn(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway, active_model=ANTHROPIC)
            path = f"/sessions/{id}"
            status, reply, _ = await gateway.ask("PATCH", path, {"active_model": OPENAI})
            assert (status, reply["active_model"], reply["swap_queued"]) == (200, OPENAI, False)
            await say(gateway, id, "slow")
            await watch(gateway, id, "text.delta")
            status, reply, _ = await gateway.ask("PATCH", path, {"active_model": None})
            assert (status, reply["swap_queued"]) == (200, True)
            await gateway.ask("POST", f"{path}/cancel")
            _, reply = await say(gateway, id, "hello")
            assert reply["model"] == ANTHROPIC
            await rest(gateway, id)
            _, reply = await say(gateway, id, "hello", per_message_override=OPENAI)
            assert reply["model"] == OPENAI
            await rest(gateway, id)
            status, reply, _ = await gateway.ask("PATCH", path, {"active_model": "no such"})
            assert (status, reply["error"]["code"]) == (400, "unknown_model")
            _, shown, _ = await gateway.ask("GET", path)
            assert shown["active_model"] == ANTHROPIC

    run(work)


def test_messages_are_paged_both_ways(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            for n in range(5):
                await say(gateway, id, f"number {n}")
                await rest(gateway, id)
            path = f"/sessions/{id}/messages"
            _, whole, _ = await gateway.ask("GET", path)
            ids = [message["id"] for message in whole["messages"]]
            assert len(ids) == 10
            back: list[str] = []
            query = "?limit=3"
            while True:
                _, page, _ = await gateway.ask("GET", path + query)
                back = [m["id"] for m in page["messages"]] + back
                if not page["has_more"]:
                    break
                query = f"?limit=3&before={back[0]}"
            assert back == ids
            _, page, _ = await gateway.ask("GET", f"{path}?after={ids[3]}&limit=4")
            assert [m["id"] for m in page["messages"]] == ids[4:8]
            for wrong in ("limit=0", "limit=201", "limit=x", f"before={ids[0]}&after={ids[0]}"):
                assert (await gateway.ask("GET", f"{path}?{wrong}"))[0] == 400
            assert (await gateway.ask("GET", f"{path}?before=nothing"))[0] == 404

    run(work)


def test_a_session_is_ended_or_purged(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            await say(gateway, id, "slow")
            status, reply, _ = await gateway.ask("DELETE", f"/sessions/{id}")
            assert (status, reply["purged"]) == (200, False)
            assert gateway.service.turns.running(id) is None
            _, trace, _ = await gateway.ask("GET", f"/sessions/{id}/events?limit=100")
            assert trace["events"][-1]["type"] == "session.ended"
            status, reply, _ = await gateway.ask("DELETE", f"/sessions/{id}?purge=true")
            assert (status, reply["purged"]) == (200, True)
            assert (await gateway.ask("GET", f"/sessions/{id}"))[0] == 404

    run(work)


def test_caps_and_allowed_models_hold_for_sessions_too(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        poor = key(tmp_path, "poor", daily_cap_usd=Decimal("0.000001")).token
        narrow = key(tmp_path, "narrow", allowed_models=(OPENAI,)).token
        async with served(tmp_path) as gateway:
            id = await new(gateway, poor)
            status, reply = await say(gateway, id, "hello", poor)
            assert (status, reply["error"]["code"]) == (429, "quota_exceeded"), reply
            id = await new(gateway, narrow)
            status, reply = await say(gateway, id, "hello", narrow)
            assert (status, reply["error"]["code"]) == (403, "model_not_allowed")
            _, page, _ = await gateway.ask("GET", f"/sessions/{id}/messages", token=narrow)
            assert page["messages"] == [], "nothing is stored of a turn that may not be"
            assert provider.requests == []
            status, reply = await say(gateway, id, "hello", narrow, per_message_override=OPENAI)
            assert status == 202
            await rest(gateway, id)

    run(work)


def test_what_a_turn_costs_is_settled_with_the_key(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        made = key(tmp_path, "rich", daily_cap_usd=Decimal(10))
        async with served(tmp_path) as gateway:
            id = await new(gateway, made.token)
            for _ in range(2):
                assert (await say(gateway, id, "hello", made.token))[0] == 202
                await rest(gateway, id)
            day = f"{gateway.service.gateway.caps._now():%Y-%m-%d}"  # type: ignore[attr-defined]
            spent = await gateway.service.store.spent([made.key.id], day)
            assert {each.spent for each in spent} == {2 * 600_000_000}, spent
            assert {each.reserved for each in spent} == {0}

    run(work)


def test_a_key_has_its_own_workspace(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, workspace_path="/team/a").token
        async with served(tmp_path) as gateway:
            for path, status in (
                *(("/team/a", 201), ("/team/a/x", 201), ("/team/b", 403), ("/team/ab", 403)),
                ("/team/a/../b", 403),
            ):
                found, _, _ = await gateway.ask(
                    "POST", "/sessions", {"workspace_path": path}, token
                )
                assert found == status, path
            assert (await gateway.ask("POST", "/sessions", {}, token))[0] == 400
            odd = {"workspace_path": "/team/a", "owner": "gk_other"}
            assert (await gateway.ask("POST", "/sessions", odd, token))[0] == 400

    run(work)


def test_rules_are_shown_and_checked(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            _, reply, _ = await gateway.ask("GET", "/v1/routing/policy")
            assert reply["global_default"] == ANTHROPIC
            good = f'schema_version = 1\ndefault = "{ANTHROPIC}"'
            _, reply, _ = await gateway.ask("POST", "/routing/check", {"rules": good})
            assert reply == {"valid": True, "problems": []}
            _, reply, _ = await gateway.ask("POST", "/routing/check", {"rules": "nonsense = 1"})
            assert not reply["valid"]
            assert any(problem["path"] == "nonsense" for problem in reply["problems"])
            _, reply, _ = await gateway.ask("GET", "/server/version")
            assert set(reply["schema_versions"]) == {"message", "store", "rules", "events"}

    run(work)


def test_a_watcher_that_is_too_slow_is_marked_and_others_are_not() -> None:
    async def work() -> None:
        hub = Hub()
        slow, quick = hub.watch("s"), hub.watch("s")
        for n in range(WAITING + 5):
            hub.tell("s", Piece("text.delta", {"text": str(n)}))
            await quick.next(0.1)
        assert slow.too_slow
        assert not quick.too_slow
        assert slow.pieces.qsize() == WAITING

    asyncio.run(work())


@pytest.mark.parametrize("trace_first", [True, False])
def test_an_answer_stands_before_its_end_whichever_is_known_first(
    tmp_path: Path, trace_first: bool
) -> None:
    async def work() -> None:
        hub = Hub()
        async with await il.open_async_store(str(tmp_path / "s.db")) as store:
            row = await store.create_session(str(tmp_path))
            source = watch_session(store, hub, row.id, 0)
            first = asyncio.ensure_future(anext(source))
            while not len(hub):
                await asyncio.sleep(0)
            hub.expect(row.id, "r")
            if not trace_first:
                hub.tell(row.id, Piece("message.start", {}, "r"))
            collected = {"request_id": "r"}
            at = datetime(2026, 1, 1, tzinfo=UTC)
            end = EventRow("e", row.id, "llm.call_completed", at, "llm", "none", collected)
            await store.append_events([end])
            if trace_first:
                hub.tell(row.id, Piece("message.start", {}, "r"))
            hub.tell(row.id, Piece("message.complete", {}, "r"))
            shown = [await first, await anext(source), await anext(source)]
            names = [piece.partition(b"event: ")[2].partition(b"\n")[0] for piece in shown]
            assert names == [b"message.start", b"message.complete", b"llm.call_completed"]
            await source.aclose()

    asyncio.run(work())


def test_an_answer_is_rated_and_the_rating_is_in_the_trace(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = await new(gateway)
            path = f"/v1/sessions/{id}/rating"
            status, reply, _ = await gateway.ask("POST", path, {"rating": "up"})
            assert (status, reply["error"]["code"]) == (404, "message_not_found")
            await say(gateway, id, "hello")
            await rest(gateway, id)
            status, reply, _ = await gateway.ask("POST", path, {"rating": "up"})
            assert (status, reply["rating"]) == (200, "up")
            status, _, _ = await gateway.ask("POST", path, {"rating": "great"})
            assert status == 400
            _, page, _ = await gateway.ask("GET", f"/sessions/{id}/events?types=feedback.explicit")
            assert [event["payload"]["rating"] for event in page["events"]] == ["up"]

    run(work)
