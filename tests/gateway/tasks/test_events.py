"""What a task tells, as SSE: everything once and in order, to whoever comes and comes back."""

from __future__ import annotations

import asyncio
import uuid
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway.tasks import feeds
from tests.gateway.serving import Served, Upstream, key, served
from tests.gateway.tasks.asking import (
    PATIENCE,
    Frame,
    idle,
    new,
    page,
    read,
    say,
    shown,
    stored,
    until,
    user,
)

QUEUE = "maria.queued_messages.synchronized"
QUESTIONS = "maria.confirmations.synchronized"


def run(work: Any, pace: float = 0.03) -> None:
    with Upstream(pace) as provider:
        asyncio.run(work(provider))


@pytest.mark.requirement("S004-1", "S004-4", "S004-16")
def test_a_task_tells_all_of_a_run_in_order(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        (tmp_path / "a.txt").write_text("the text")
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "read a.txt")
            frames = await until(gateway, task["id"], "PostConversation")
            assert [(frame.name, frame.data) for frame in frames[:2]] == [
                (QUEUE, []),
                (QUESTIONS, []),
            ]
            result = stored(frames)
            assert [frame.msg for frame in result] == [
                *("PreConversation", "MessageAdded", "RequestCompleted", "MessageAdded"),
                *("PreToolCall", "PostToolCall", "MessageAdded"),
                *("RequestCompleted", "MessageAdded", "PostConversation"),
            ]
            assert {frame.name for frame in result} == {"maria"}
            assert [frame.id for frame in result] == list(range(1, len(result) + 1))
            assert [frame.data["seq"] for frame in result] == [frame.id for frame in result]
            assert len({str(uuid.UUID(frame.data["id"])) for frame in result}) == len(result)
            times = [frame.data["time"] for frame in result]
            assert times == sorted(times)
            assert times[0] >= task["created"]
            added = [frame.data["message"] for frame in result if frame.msg == "MessageAdded"]
            assert [message["role"] for message in added] == [
                *("user", "assistant", "tool", "assistant")
            ]
            assert added[0] == user("read a.txt")
            _, retained, _ = await gateway.ask("GET", f"/sessions/{task['id']}/messages")
            ids = [f.data["message_id"] for f in result if f.msg == "MessageAdded"]
            assert ids == [message["id"] for message in retained["messages"]]

    run(work)


@pytest.mark.requirement("S004-5", "S004-17", "S004-20")
def test_answers_and_calls_are_written_in_their_shapes(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        (tmp_path / "a.txt").write_text("the text")
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "read a.txt")
            await idle(gateway, task["id"])
            await say(gateway, task["id"], "read missing.txt")
            await idle(gateway, task["id"])
            reply = await page(gateway, task["id"])
            calls, done, *_ = [each for each in reply if each["msg"] == "RequestCompleted"]
            assert calls["message"]["content"] == ""
            (call,) = calls["message"]["tool_calls"]
            assert call["type"] == "function"
            assert call["function"] == {"name": "read_file", "arguments": '{"path":"a.txt"}'}
            assert done["message"]["tool_calls"] == []
            assert done["message"]["content"] == "Answer 2 to: read a.txt"
            for each in (calls, done):
                (usage,) = each["usage"]
                assert usage["prompt_tokens"] == 100
                assert usage["completion_tokens"] == 20
                assert usage["total_tokens"] == 120
            (pre, post), (_, failed) = _calls(reply)
            assert pre["tool_call"] == post["tool_call"] == call
            assert (pre["name"], pre["args"]) == ("read_file", {"path": "a.txt"})
            assert (post["name"], post["text"], post["result"]) == (
                *("read_file", "the text", "the text"),
            )
            assert "error" not in post
            assert "result" not in failed
            assert failed["error"] == failed["text"]

    run(work)


def _calls(told: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each call: that it is to run, and its result."""
    done = {each["tool_call"]["id"]: each for each in told if each["msg"] == "PostToolCall"}
    begun = [each for each in told if each["msg"] == "PreToolCall"]
    return [(each, done[each["tool_call"]["id"]]) for each in begun]


@pytest.mark.requirement("S004-6")
def test_the_events_suffice_to_draw_the_conversation(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        (tmp_path / "a.txt").write_text("the text")
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "read a.txt")
            await say(gateway, task["id"], "thanks")
            await idle(gateway, task["id"])
            drawn: list[tuple[str, str]] = []
            for each in await page(gateway, task["id"]):
                match each:
                    case {"msg": "MessageAdded", "message": {"role": "user", "content": text}}:
                        drawn.append(("user", text))
                    case {"msg": "RequestCompleted", "message": {"content": str(text)}} if text:
                        drawn.append(("assistant", text))
                    case {"msg": "PreToolCall", "tool_call": {"id": id}}:
                        drawn.append(("call", id))
                    case {"msg": "PostToolCall", "tool_call": {"id": id}, "text": text}:
                        drawn[drawn.index(("call", id))] = ("tool", text)
            assert drawn == [
                ("user", "read a.txt"),
                ("tool", "the text"),
                ("assistant", "Answer 2 to: read a.txt"),
                ("user", "thanks"),
                ("assistant", "Answer 3 to: thanks"),
            ]

    run(work)


@pytest.mark.requirement("S004-18")
def test_the_queue_is_shown_at_first_and_after_each_change(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "slow")
            id = task["id"]
            reading = asyncio.ensure_future(until(gateway, id, "Cancelled"))
            while not len(gateway.service.tasks.feeds):
                await asyncio.sleep(0.01)
            first = await say(gateway, id, "one")
            second = await say(gateway, id, "two")
            assert first["queued"] is second["queued"] is True
            waiting = [{"id": first["id"], "message": user("one")}]
            both = [*waiting, {"id": second["id"], "message": user("two")}]
            for path in ("/queued_messages", "/v1/queued-messages", f"/queued_messages?task={id}"):
                assert (await gateway.ask("GET", path))[1] == both
            assert (await shown(gateway, id))["queued_messages"] == both
            late = [frame async for frame in _some(gateway, id, 1)]
            assert (late[0].name, late[0].data) == (QUEUE, both)
            path = f"/task/{id}/message/{second['id']}"
            assert (await gateway.ask("DELETE", path))[1] == both[1]
            assert (await gateway.ask("DELETE", path))[0] == 404
            status, reply, _ = await gateway.ask("POST", f"/v1/task/{id}/cancel")
            assert (status, reply) == (200, {"pending_messages": waiting})
            _follow_the_queue(await reading, both, first["id"], second["id"])
            assert (await gateway.ask("GET", "/queued_messages"))[1] == []

    run(work)


async def _some(gateway: Served, id: str, count: int) -> Any:
    async for frame in read(gateway, f"/task/{id}/events"):
        yield frame
        count -= 1
        if not count:
            return


def _follow_the_queue(frames: list[Frame], both: list[Any], first: str, second: str) -> None:
    changes = []
    for frame, after in pairwise(frames):
        if frame.msg in ("MessageQueued", "MessageUnqueued"):
            assert after.name == QUEUE, "the queue follows at once"
            assert after.id is None
            reason = frame.data.get("reason")
            changes.append((frame.msg, frame.data["message"]["id"], reason, len(after.data)))
    assert [change[:3] for change in changes] == [
        ("MessageQueued", first, None),
        ("MessageQueued", second, None),
        ("MessageUnqueued", second, "removed"),
        ("MessageUnqueued", first, "cancelled"),
    ]
    assert changes[-1][3] == 0


def test_a_queued_message_is_added_when_it_is_taken_up(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "slow")
            value = await say(gateway, task["id"], "later")
            before = await page(gateway, task["id"])
            assert "later" not in str(before)
            provider.pace = 0.0
            await idle(gateway, task["id"])
            reply = await page(gateway, task["id"])
            unqueued = [each["msg"] for each in reply].index("MessageUnqueued")
            assert reply[unqueued]["message"] == {"id": value["id"]}
            assert reply[unqueued]["reason"] == "taken"
            assert reply[unqueued + 1]["msg"] == "MessageAdded"
            assert reply[unqueued + 1]["message"] == user("later")
            assert reply[unqueued + 1]["queued_id"] == value["id"]

    run(work)


@pytest.mark.requirement("S004-16")
def test_who_comes_back_misses_nothing_and_gets_nothing_twice(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        (tmp_path / "a.txt").write_text("the text")
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "read a.txt")
            id = task["id"]
            await say(gateway, id, "read a.txt")
            await idle(gateway, id)
            whole = await page(gateway, id)
            for cut in range(len(whole) + 1):
                more = {} if cut == 0 else {"Last-Event-ID": str(cut)}
                if cut < len(whole):
                    count = [each["msg"] for each in whole[cut:]].count("PostConversation")
                    frames = await until(gateway, id, "PostConversation", count, **more)
                    assert [frame.data for frame in stored(frames)] == whole[cut:]
                    assert frames[0].name == QUEUE
                path = f"/task/{id}/events?after={cut}&limit=1000"
                _, response, _ = await gateway.ask(
                    "GET", path, headers={"accept": "application/json"}
                )
                assert response == {"events": whole[cut:], "has_more": False}
            tail = await until(gateway, id, "PostConversation", query="?tail=2")
            assert [frame.data for frame in stored(tail)] == whole[-2:]
            for cursor, status in (("999", 410), ("x", 400), ("-1", 400), ("1e3", 400)):
                reply = await gateway.ask(
                    "GET", f"/task/{id}/events", headers={"Last-Event-ID": cursor}
                )
                assert reply[0] == status, cursor

    run(work)


def test_text_comes_while_it_is_written_and_readers_of_old_do_not_see_it(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path)
            id = task["id"]
            reading = asyncio.ensure_future(until(gateway, id, "PostConversation"))
            while not len(gateway.service.tasks.feeds):
                await asyncio.sleep(0.01)
            await say(gateway, id, "slow")
            for _ in range(2):
                late = await _being_said(gateway, id)
            provider.pace = 0.003
            frames = await reading
            deltas = [frame for frame in frames if frame.name == "maria.delta"]
            assert len(deltas) > 5
            (done,) = [f.data for f in frames if f.msg == "RequestCompleted"]
            assert all(frame.id is None for frame in deltas)
            assert {frame.data["message_id"] for frame in deltas} == {done["message_id"]}
            assert _grown(deltas) == done["message"]["content"]
            place = [frame.msg for frame in frames].index("RequestCompleted")
            assert all(frame.name != "maria.delta" for frame in frames[place:])
            assert late.data["offset"] == 0
            assert done["message"]["content"].startswith(late.data["text"])
            assert late.data["text"]

    run(work)


async def _being_said(gateway: Served, id: str) -> Frame:
    """What somebody hears first who comes while the answer arrives."""
    async with asyncio.timeout(PATIENCE):
        async for frame in read(gateway, f"/task/{id}/events"):
            if frame.name == "maria.delta":
                return frame
    raise AssertionError("nothing is being said")


def _grown(deltas: list[Frame]) -> str:
    text = ""
    for frame in deltas:
        assert frame.data["msg"] == "TextDelta"
        assert frame.data["offset"] == len(text), "no piece is missing"
        text += frame.data["text"]
    return text


def test_many_read_one_task_and_the_store_is_read_once(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
            reading = [
                asyncio.ensure_future(until(gateway, id, "PostConversation")) for _ in range(25)
            ]
            while len(gateway.service.tasks.feeds) < len(reading):
                await asyncio.sleep(0.01)
            store, asked = gateway.service.store, 0
            real = store.task_events

            async def counted(*given: Any, **named: Any) -> Any:
                nonlocal asked
                asked += 1
                return await real(*given, **named)

            store.task_events = counted  # type: ignore[method-assign]  # to see how often
            await say(gateway, id, "hello")
            whole = await asyncio.gather(*reading)
            store.task_events = real  # type: ignore[method-assign]  # as it was
            reply = await page(gateway, id)
            for frames in whole:
                assert [frame.data for frame in stored(frames)] == reply
            assert asked < 2 * len(reading)

    run(work)


def test_a_slow_reader_costs_little_and_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It falls behind what the process keeps, and reads on from the store."""
    monkeypatch.setattr(feeds, "MAX_RECENT", 3)

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "first")
            id = task["id"]
            row = await gateway.service.store.task(id)
            reading = gateway.service.tasks.feeds.read(row, 0)
            pieces = [await anext(reading)]
            for number in range(5):
                await say(gateway, id, f"message {number}")
            await idle(gateway, id)
            whole = await page(gateway, id)
            feed = gateway.service.tasks.feeds._feeds[id]
            while feed.seq < len(whole):
                await asyncio.sleep(0.01)
            assert len(feed._recent) <= 3
            async with asyncio.timeout(PATIENCE):
                while b"id: %d\n" % len(whole) not in b"".join(pieces):
                    pieces.append(await anext(reading))
            await reading.aclose()
            lines = b"".join(pieces).splitlines()
            numbers = [int(line[4:]) for line in lines if line.startswith(b"id: ")]
            assert numbers == list(range(1, len(whole) + 1))
            assert len(gateway.service.tasks.feeds) == 0
            assert gateway.service.tasks.feeds._feeds == {}

    run(work)


def test_all_tasks_are_told_as_they_change(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            await new(gateway, tmp_path / "two", token=other)
            one = await new(gateway, tmp_path / "one", token=own)
            seen: list[Frame] = []
            reading = asyncio.ensure_future(_changes(gateway, own, seen))
            while not seen:
                await asyncio.sleep(0.01)
            await say(gateway, one["id"], "slow", token=own)
            while len(seen) < 2:
                await asyncio.sleep(0.01)
            await gateway.ask("DELETE", f"/task/{one['id']}", token=own)
            await reading
            first, *rest = seen
            assert first.name == "daemon.tasks.synchronized"
            assert [each["id"] for each in first.data["tasks"]] == [one["id"]]
            assert {frame.name for frame in rest} == {"daemon.task.changed"}
            assert {frame.data["task"]["id"] for frame in rest} == {one["id"]}
            states = [frame.data["task"]["status"] for frame in rest]
            assert states[0] == "generating"
            assert states[-1] == "idle"
            assert (await gateway.ask("GET", "/tasks", token=own))[1] == {"tasks": []}

    run(work)


async def _changes(gateway: Served, token: str, out: list[Frame]) -> None:
    async with asyncio.timeout(PATIENCE):
        async for frame in read(gateway, "/v1/events", token):
            out.append(frame)
            if frame.name == "daemon.task.changed" and frame.data["task"]["ended"]:
                return
    raise AssertionError("the task did not end")


def test_nothing_that_is_said_forges_an_event(tmp_path: Path) -> None:
    """Line breaks of every kind, in what users, models and files say."""
    odd = "a\r\nb\rc\n\nevent: maria\ndata: {}\n\nid: 99\n\u2028\u0085\x0bd"

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        (tmp_path / "odd.txt").write_text(odd, newline="")
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, f"json {odd}", name="x\ny")
            await idle(gateway, task["id"])
            await say(gateway, task["id"], "read odd.txt")
            await idle(gateway, task["id"])
            raw = b""
            url = f"{gateway.base}/task/{task['id']}/events"
            async with gateway.http.get(url) as reply:
                while b'"seq":15,' not in raw:
                    raw += await reply.content.readany()
            decoder = il.sse.Decoder()
            frames = [frame for frame in decoder.feed(raw) if frame.event == "maria"]
            assert len(frames) == 15
            assert b"\r" not in raw

    run(work)


def test_who_leaves_leaves_nothing_behind(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
            tasks = gateway.service.tasks
            for path in ("/events", f"/task/{id}/events"):
                for _ in range(5):
                    async for _frame in read(gateway, path):
                        break
            async with asyncio.timeout(PATIENCE):
                while len(tasks.feeds) or len(tasks.overview):
                    await asyncio.sleep(0.02)
            assert tasks.feeds._feeds == {}
            assert tasks.feeds._lives == {}

    run(work)


def test_a_gateway_that_goes_sends_its_readers_away(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
            reading = [
                asyncio.ensure_future(_all(gateway, path))
                for path in ("/events", f"/task/{id}/events")
            ]
            tasks = gateway.service.tasks
            while not (len(tasks.feeds) and len(tasks.overview)):
                await asyncio.sleep(0.01)
            gateway.service.going()
            async with asyncio.timeout(PATIENCE):
                ended = await asyncio.gather(*reading)
            assert [len(frames) for frames in ended] == [1, 2]
            status, reply, _ = await gateway.ask("POST", f"/task/{id}/message", user("hi"))
            assert (status, reply["error"]["code"]) == (503, "shutting_down")

    run(work)


async def _all(gateway: Served, path: str) -> list[Frame]:
    return [frame async for frame in read(gateway, path)]
