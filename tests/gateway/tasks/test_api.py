"""Tasks over HTTP: made, given messages in every shape, stopped, ended; and whose they are."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway.paths.routes import rows
from interlingua.gateway.settings import Listen, RouteSettings, Tasks
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, key, served, settings_in
from tests.gateway.tasks.asking import idle, new, page, say, shown, user

SOMETHING = "01M7KPKX2YZ2ATXPN41CQ1G5NW"


def run(work: Any, pace: float = 0.03) -> None:
    with Upstream(pace) as provider:
        asyncio.run(work(provider))


@pytest.mark.requirement("S004-19")
def test_a_task_is_made_shown_listed_and_ended(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, name="first", model=ANTHROPIC, web_search=True)
            id, port = task["id"], int(gateway.base.rpartition(":")[2])
            assert (task["name"], task["status"], task["cwd"]) == ("first", "idle", str(tmp_path))
            assert (task["model"], task["web_search"], task["port"]) == (ANTHROPIC, True, port)
            assert (task["queued_messages"], task["confirmations"]) == ([], [])
            assert task["interrupted"] is False
            for path in (f"/task/{id}", f"/v1/task/{id}"):
                status, told, _ = await gateway.ask("GET", path)
                assert (status, told["task"]) == (200, task)
                assert told["id"] == id
            _, told, _ = await gateway.ask("GET", f"/task/{id}/status")
            assert told == {"status": "idle", "web_search": True, "interrupted": False}
            for path in ("/tasks", "/v1/tasks"):
                (listed,) = (await gateway.ask("GET", path))[1]["tasks"]
                assert listed == {name: task[name] for name in listed}
            for cwd in (str(tmp_path), f"{tmp_path}/../{tmp_path.name}/."):
                status, told, _ = await gateway.ask("POST", "/task", {"cwd": cwd})
                assert (status, told["task"]["id"]) == (409, id), "the folder has one"
            assert (await gateway.ask("DELETE", f"/task/{id}"))[1]["ended"] is True
            assert (await gateway.ask("GET", "/tasks"))[1] == {"tasks": []}
            (ended,) = (await gateway.ask("GET", "/tasks?ended=true"))[1]["tasks"]
            assert ended["ended"] >= ended["created"]
            status, told, _ = await gateway.ask("POST", f"/task/{id}/message", user("hi"))
            assert (status, told["error"]["code"]) == (409, "task_ended")
            again = await new(gateway, tmp_path)
            assert again["id"] != id
            await gateway.ask("DELETE", f"/task/{again['id']}?purge=true")
            assert (await gateway.ask("GET", f"/task/{again['id']}"))[0] == 404

    run(work)


CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
SHAPES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    user("hi"),
    {"role": "assistant", "content": "Here it is."},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Let me see."}],
        "tool_calls": [CALL],
    },
    {"role": "tool", "content": "the text", "tool_call_id": "call_1"},
]


@pytest.mark.requirement("S004-1", "S004-19")
@pytest.mark.parametrize("bare", [False, True])
def test_all_five_shapes_are_taken(tmp_path: Path, bare: bool) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path)
            for shape in SHAPES:
                body = shape if bare else {"message": shape}
                status, told, _ = await gateway.ask("POST", f"/task/{task['id']}/message", body)
                assert (status, told["queued"]) == (200, False), told
                await idle(gateway, task["id"])
            added = _added(await page(gateway, task["id"]))
            items = [message for message in added if message != _answer(added)]
            roles = [message["role"] for message in items]
            assert roles == ["system", "user", "assistant", "assistant", "tool"]
            assert items[:3] == SHAPES[:3]
            assert items[3]["content"] == SHAPES[3]["content"]
            (call,) = items[3]["tool_calls"]
            assert call["function"] == CALL["function"]
            assert items[4]["tool_call_id"] == call["id"], "the result follows its call"
            assert len(provider.requests) == 1, "a user's message alone begins a turn"

    run(work)


def _added(told: list[dict[str, Any]]) -> list[Any]:
    return [each["message"] for each in told if each["msg"] == "MessageAdded"]


def _answer(added: list[Any]) -> Any:
    return next(m for m in added if str(m.get("content")).startswith("Answer"))


@pytest.mark.requirement("S004-1", "S004-19")
def test_text_may_come_in_parts_with_and_without_a_type(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            parts = [{"type": "text", "text": "one "}, {"text": "two"}]
            body = {"cwd": str(tmp_path), "message": {"role": "user", "content": parts}}
            status, told, _ = await gateway.ask("POST", "/v1/task", body)
            assert status == 201
            await idle(gateway, told["task"]["id"])
            assert provider.requests[0]["messages"][0]["content"][0]["text"] == "one "
            answered = (await page(gateway, told["task"]["id"]))[-2]
            assert answered["message"]["content"] == "Answer 1 to: two"

    run(work)


WRONG: list[tuple[Any, str]] = [
    ([], "object"),
    ({"message": "hi"}, "message"),
    ({"message": {"role": "alien", "content": "x"}}, "$.message.role"),
    ({"role": "alien", "content": "x"}, "$.role"),
    ({"message": {"role": "user", "content": 7}}, "$.message.content"),
    ({"message": {"role": "user", "content": [{"type": "image"}]}}, "$.message.content[0].type"),
    ({"message": {"role": "user", "content": [{"type": "text"}]}}, "$.message.content[0].text"),
    ({"message": {"role": "user", "content": " "}}, "$.message.content"),
    ({"message": {"role": "user"}}, "$.message.content"),
    ({"message": {**user("x"), "tool_calls": [CALL]}}, "$.message.tool_calls"),
    ({"message": {**user("x"), "tool_call_id": "c"}}, "$.message.tool_call_id"),
    ({"message": {"role": "tool", "content": "x"}}, "$.message.tool_call_id"),
    ({"message": {"role": "assistant", "tool_calls": [{"id": "x"}]}}, "$.message.tool_calls[0]"),
    ({"message": {"role": "assistant"}}, "$.message"),
    ({**user("x"), "api_base": "http://evil.example"}, "$.api_base"),
    ({"message": user("x"), "api_base": "http://evil.example"}, "api_base"),
    ({"message": {"role": "tool", "content": "x", "tool_call_id": "nobody"}}, "nobody"),
]


@pytest.mark.requirement("S004-19")
def test_wrong_shapes_are_refused_with_their_place_and_leave_nothing(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            for body, place in WRONG:
                fields = {"cwd": str(tmp_path), **body} if isinstance(body, dict) else body
                if isinstance(body, dict) and "role" in body:
                    fields = body
                status, told, _ = await gateway.ask("POST", "/task", fields)
                assert status == 400, (body, told)
                assert place in told["error"]["message"], (body, told)
                assert (await gateway.ask("GET", "/tasks"))[1] == {"tasks": []}
                assert (await gateway.ask("GET", "/sessions"))[1]["sessions"] == []
            task = await new(gateway, tmp_path)
            for body, place in WRONG:
                status, told, _ = await gateway.ask("POST", f"/task/{task['id']}/message", body)
                assert status == 400, (body, told)
                assert place in told["error"]["message"], (body, told)
            after = await shown(gateway, task["id"])
            assert after == {**task, "changed": after["changed"]}
            assert await page(gateway, task["id"]) == []
            assert provider.requests == []

    run(work)


def test_a_task_that_cannot_begin_is_not_made(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        some = key(tmp_path, allowed_models=frozenset({OPENAI})).token
        async with served(tmp_path) as gateway:
            body = {"cwd": str(tmp_path), "message": user("hi")}
            for more, status, code in (
                ({}, 403, "model_not_allowed"),
                ({"model": "no-such-model"}, 400, "unknown_model"),
                ({"cwd": str(tmp_path / "missing")}, 400, "invalid_request"),
                ({"cwd": "\x00"}, 400, "invalid_request"),
                ({"cwd": "~nobody-of-this-name/x"}, 400, "invalid_request"),
                ({"cwd": "x" * 5000}, 400, "invalid_request"),
                ({"cwd": str(tmp_path / "providers.toml")}, 400, "invalid_request"),
                ({"name": ""}, 400, "invalid_request"),
            ):
                reply = await gateway.ask("POST", "/task", {**body, **more}, some)
                assert (reply[0], reply[1]["error"]["code"]) == (status, code)
                assert (await gateway.ask("GET", "/tasks", token=some))[1] == {"tasks": []}
            assert (await gateway.ask("GET", "/sessions", token=some))[1]["sessions"] == []
            assert provider.requests == []

    run(work)


def test_who_may_not_pay_is_told_before_anything_is_made(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        poor = key(tmp_path, daily_cap_usd=Decimal("0.0000001")).token
        async with served(tmp_path) as gateway:
            body = {"cwd": str(tmp_path), "message": user("hi")}
            status, told, _ = await gateway.ask("POST", "/task", body, poor)
            assert (status, told["error"]["code"]) == (429, "quota_exceeded")
            assert (await gateway.ask("GET", "/tasks", token=poor))[1] == {"tasks": []}
            id = (await new(gateway, tmp_path, token=poor))["id"]
            status, told, _ = await gateway.ask("POST", f"/task/{id}/message", user("hi"), poor)
            assert (status, told["error"]["code"]) == (429, "quota_exceeded")
            task = await shown(gateway, id, poor)
            assert (task["status"], task["queued"], task["interrupted"]) == ("idle", 0, False)
            assert provider.requests == []

    run(work)


def test_what_a_run_costs_is_the_keys(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        made = key(tmp_path, daily_cap_usd=Decimal(5))
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "hello", made.token))["id"]
            async with asyncio.timeout(30):
                while (await shown(gateway, id, made.token))["status"] != "idle":
                    await asyncio.sleep(0.02)
            _, told, _ = await gateway.ask("GET", f"/sessions/{id}/messages", token=made.token)
            answer = il.loads(json.dumps(told["messages"][-1]))
            assert answer.metadata.usage is not None
            assert answer.metadata.usage.cost_usd > 0

    run(work)


@pytest.mark.requirement("S004-20")
def test_a_message_is_queued_while_the_agent_runs_and_taken_up_in_order(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path)
            first = await say(gateway, task["id"], "slow")
            assert first["queued"] is False
            assert (await shown(gateway, task["id"]))["status"] == "generating"
            more = [await say(gateway, task["id"], f"number {n}") for n in range(3)]
            assert [each["queued"] for each in more] == [True] * 3
            provider.pace = 0.0
            await idle(gateway, task["id"])
            told = await page(gateway, task["id"])
            users = [each for each in told if each.get("queued_id")]
            assert [each["queued_id"] for each in users] == [first["id"], *[m["id"] for m in more]]
            texts = [each["message"]["content"] for each in users]
            assert texts == ["slow", "number 0", "number 1", "number 2"]
            assert [each["msg"] for each in told].count("PostConversation") == 1

    run(work)


def test_a_message_that_is_sent_again_is_one_message(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path)
            once = {"idempotency-key": "order-1"}
            replies = [
                await gateway.ask("POST", f"/task/{task['id']}/message", user("hi"), headers=once)
                for _ in range(3)
            ]
            assert len({reply[1]["id"] for reply in replies}) == 1
            await idle(gateway, task["id"])
            assert len(provider.requests) == 1
            path = f"/task/{task['id']}/message"
            status, told, _ = await gateway.ask("POST", path, user("other"), headers=once)
            assert (status, told["error"]["code"]) == (422, "idempotency_key_reused")
            assert (await gateway.ask("POST", path, user("hi"), headers=once))[0] == 200
            assert len(provider.requests) == 1

    run(work)


@pytest.mark.requirement("S004-20")
def test_a_run_is_stopped_and_what_arrived_is_kept(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "slow")
            id = task["id"]
            while not provider.requests:
                await asyncio.sleep(0.01)
            waiting = await say(gateway, id, "next")
            status, told, _ = await gateway.ask("POST", f"/task/{id}/cancel")
            queued = [{"id": waiting["id"], "message": user("next")}]
            assert (status, told) == (200, {"pending_messages": queued})
            assert (await shown(gateway, id))["status"] == "idle"
            assert (await page(gateway, id))[-1]["msg"] == "Cancelled"
            status, told, _ = await gateway.ask("POST", f"/v1/task/{id}/cancel")
            assert status == 404
            assert told["error"]["code"] == -1
            assert isinstance(told["error"]["message"], str)
            assert (await gateway.ask("POST", f"/task/{id}/resume"))[0] == 409
            await say(gateway, id, "and now?")
            await idle(gateway, id)
            assert (await page(gateway, id))[-1]["msg"] == "PostConversation"

    run(work)


def test_a_run_that_fails_says_so_and_keeps_the_queue(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "slow")
            id = task["id"]
            await say(gateway, id, "fail now")
            await say(gateway, id, "after it")
            provider.pace = 0.0
            task = await idle(gateway, id)
            assert task["queued"] == 1
            failed = (await page(gateway, id))[-1]
            assert failed["msg"] == "Failed"
            assert failed["error"]["code"] == "invalid_request"
            assert failed["interrupted"] is task["interrupted"] is False
            await say(gateway, id, "go on")
            await idle(gateway, id)
            words = [each["message"]["content"] for each in await page(gateway, id)
                     if each.get("queued_id")]  # fmt: skip
            assert words == ["slow", "fail now", "after it", "go on"]

    run(work)


def test_a_queued_message_that_fits_nowhere_does_not_block_the_queue(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            task = await new(gateway, tmp_path, "slow")
            id = task["id"]
            odd = {"role": "tool", "content": "x", "tool_call_id": "nobody's"}
            _, value, _ = await gateway.ask("POST", f"/task/{id}/message", odd)
            assert value["queued"] is True
            await say(gateway, id, "after it")
            provider.pace = 0.0
            await idle(gateway, id)
            *_, refused, failed = await page(gateway, id)
            assert (refused["msg"], refused["reason"]) == ("MessageUnqueued", "refused")
            assert refused["message"] == {"id": value["id"]}
            assert failed["msg"] == "Failed"
            assert (await gateway.ask("POST", f"/task/{id}/resume"))[0] == 202
            await idle(gateway, id)
            assert (await page(gateway, id))[-1]["msg"] == "PostConversation"

    run(work)


def test_a_branch_begins_before_or_after_a_message_and_the_old_task_ends(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "one"))["id"]
            await idle(gateway, id)
            await say(gateway, id, "two")
            await idle(gateway, id)
            texts = await told(gateway, id)
            assert [words for _, words in texts][::2] == ["one", "two"]
            (first, _), (answer, _), (second, _) = texts[:3]

            async def branch(task: str, **body: Any) -> tuple[int, Any]:
                status, made, _ = await gateway.ask("POST", f"/task/{task}/branch", body)
                return status, made

            for body, status in (
                ({}, 400),
                ({"before": first, "after": first}, 400),
                ({"after": answer}, 400),
                ({"before": answer}, 400),
                ({"before": "nothing"}, 404),
            ):
                assert (await branch(id, **body))[0] == status, body
            status, made = await branch(id, before=second, message=user("other"))
            assert (status, made["task"]["cwd"]) == (201, str(tmp_path))
            assert made["task"]["name"] == "one"
            assert (await gateway.ask("GET", f"/task/{id}"))[1]["ended"] is not None
            assert (await branch(id, before=second))[0] == 409, "it has ended"
            other = made["id"]
            await idle(gateway, other)
            copied = await told(gateway, other)
            assert [words for _, words in copied][::2] == ["one", "other"]
            status, made = await branch(other, before=copied[0][0])
            assert status == 201
            await idle(gateway, made["id"])
            assert len(await told(gateway, made["id"])) == 2

    run(work)


def test_a_branch_that_begins_anew_is_called_after_what_is_asked_there(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:

            async def renamed(id: str, **body: Any) -> tuple[str, str]:
                await idle(gateway, id)
                (first, _), *_ = await told(gateway, id)
                asked = {"before": first, **body}
                _, made, _ = await gateway.ask("POST", f"/task/{id}/branch", asked)
                return made["id"], made["task"]["name"]

            id = (await new(gateway, tmp_path, "one\nand more"))["id"]
            id, name = await renamed(id, message=user("another\nquestion"))
            assert name == "another"
            id, name = await renamed(id)
            assert name == "another"
            id, name = await renamed(id, message=user("x" * 100))
            assert name == "x" * 79 + "…"
            (tmp_path / "named").mkdir()
            body = {"cwd": str(tmp_path / "named"), "name": "Mine", "message": user("one")}
            _, made, _ = await gateway.ask("POST", "/task", body)
            assert (await renamed(made["id"], message=user("two")))[1] == "Mine"

    run(work)


async def told(gateway: Served, id: str) -> list[tuple[str, str]]:
    """Ids and texts of the messages in a task's events."""
    events = [each for each in await page(gateway, id) if each["msg"] == "MessageAdded"]
    return [(each["message_id"], each["message"]["content"]) for each in events]


def test_a_task_is_its_owners_alone(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        own, other = key(tmp_path, "mine").token, key(tmp_path, "other").token
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "slow", own))["id"]
            await say(gateway, id, "waits", own)
            bodies = {"message": user("x"), "confirmations": {"id": "tu_1", "approved": True}}
            tried = 0
            for row in rows():
                if "/task/{id}" not in row.path:
                    continue
                body = bodies.get(row.path.rpartition("/")[2])
                path = row.path.replace("{message}", "x")
                here, there = (path.replace("{id}", each) for each in (id, SOMETHING))
                missing = await gateway.ask(row.method, there, body, other)
                theirs = await gateway.ask(row.method, here, body, other)
                assert theirs[0] == missing[0] == 404, row
                assert theirs[1] == missing[1], "who guesses an id learns nothing"
                tried += 1
            assert tried == 24
            for path, empty in (
                ("/tasks", {"tasks": []}),
                ("/queued_messages", []),
            ):
                assert (await gateway.ask("GET", path, token=other))[1] == empty
            assert (await gateway.ask("GET", f"/queued_messages?task={id}", token=other))[0] == 404
            assert (await new(gateway, tmp_path, token=other))["id"] != id, "a folder for each"
            assert (await gateway.ask("POST", f"/task/{id}/cancel", token=own))[0] == 200

    run(work)


def test_keys_of_one_user_have_the_same_tasks(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            from interlingua.gateway.keys.key_admin import add_user

            person = add_user(store, "somebody@example.com").id
        one, two = (key(tmp_path, name, user_id=person).token for name in ("one", "two"))
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, token=one))["id"]
            assert (await shown(gateway, id, two))["id"] == id

    run(work)


def test_tasks_are_made_where_the_key_and_the_settings_allow(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        for folder in (inside / "deep", outside):
            folder.mkdir(parents=True)
        (inside / "link").symlink_to(outside)
        own = key(tmp_path, "own", workspace_path=str(inside)).token
        anywhere = key(tmp_path, "anywhere").token
        usual = settings_in(tmp_path)
        async with served(tmp_path) as gateway:
            for cwd, status in (
                (str(inside), 201),
                (str(inside / "deep"), 201),
                ("deep", 409),
                (None, 409),
                (str(outside), 403),
                (str(inside / ".." / "outside"), 403),
                (str(inside / "link"), 403),
                (str(tmp_path / "missing"), 403),
                ("/", 403),
            ):
                body = {} if cwd is None else {"cwd": cwd}
                assert (await gateway.ask("POST", "/task", body, own))[0] == status, cwd
            assert (await gateway.ask("POST", "/task", {"cwd": str(outside)}, anywhere))[0] == 201
        named = replace(usual, tasks=Tasks(folders=(str(inside),)))
        async with served(tmp_path, named) as gateway:
            for cwd, status in ((inside, 201), (outside, 403)):
                body = {"cwd": str(cwd)}
                assert (await gateway.ask("POST", "/task", body, anywhere))[0] == status
        wide = replace(usual, listen=Listen("0.0.0.0", 0, notice_seconds=0, drain_seconds=1))
        async with served(tmp_path, wide) as gateway:
            for cwd, status in ((outside, 403), (Path("/"), 403), (Path(os.getcwd()), 201)):
                body = {"cwd": str(cwd)}
                assert (await gateway.ask("POST", "/task", body, anywhere))[0] == status, cwd

    run(work)


def test_a_task_is_a_session_and_is_not_spoken_to_as_one(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path, "hello"))["id"]
            await idle(gateway, id)
            (listed,) = (await gateway.ask("GET", "/sessions"))[1]["sessions"]
            assert listed["id"] == id
            _, told, _ = await gateway.ask("GET", f"/sessions/{id}/messages")
            assert [message["role"] for message in told["messages"]] == ["user", "assistant"]
            status, told, _ = await gateway.ask("POST", f"/sessions/{id}/turns", {"content": "x"})
            assert (status, told["error"]["code"]) == (409, "session_is_task")
            status, _, _ = await gateway.ask("PATCH", f"/sessions/{id}", {"active_model": OPENAI})
            assert status == 200
            await say(gateway, id, "and now?")
            await idle(gateway, id)
            done = [e for e in await page(gateway, id) if e["msg"] == "RequestCompleted"]
            assert [each["model"] for each in done] == [ANTHROPIC, OPENAI]
            assert (await gateway.ask("DELETE", f"/sessions/{id}?purge=true"))[0] == 200
            assert (await gateway.ask("GET", "/tasks"))[1] == {"tasks": []}

    run(work)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_no_page_of_elsewhere_reaches_a_task(tmp_path: Path, origin: str) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
            for row in rows():
                if "task" not in row.path and "events" not in row.path:
                    continue
                path = row.path.replace("{id}", id).replace("{message}", "x")
                status, _, headers = await gateway.ask(
                    row.method, path, user("x"), headers={"origin": origin}
                )
                assert status == 403, row
                assert not any(name.startswith("access-control") for name in headers)
            port = gateway.base.rpartition(":")[2]
            rebound = {"host": f"evil.example:{port}", "origin": f"http://evil.example:{port}"}
            assert (await gateway.ask("POST", "/task", {}, headers=rebound))[0] == 403
            assert await page(gateway, id) == []

    run(work)


def test_the_head_of_a_stream_has_an_end(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            id = (await new(gateway, tmp_path))["id"]
            for path in ("/events", f"/task/{id}/events"):
                status, _, headers = await gateway.ask("HEAD", path)
                assert status == 200
                assert headers["content-type"].startswith("text/event-stream")

    run(work)


def test_routes_and_the_default_model_mean_the_same_in_tasks_and_sessions(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        name = ANTHROPIC.partition(":")[2]
        routes = {
            "fast": RouteSettings(ANTHROPIC),
            "claude-*": RouteSettings("anthropic:*"),
            "usual": RouteSettings(OPENAI),
        }
        settings = settings_in(tmp_path, routes=routes, default_model="usual")
        made = key(tmp_path, allowed_models=("route:fast",))
        async with served(tmp_path, settings) as gateway:
            task = await new(gateway, tmp_path, "hello", model="fast", token=made.token)
            assert task["model"] == ANTHROPIC
            await idle(gateway, task["id"], made.token)
            assert provider.requests[-1]["model"] == name
            listed = (await gateway.ask("GET", "/v1/models", token=made.token))[1]["data"]
            assert [each["id"] for each in listed] == ["fast"]
            body = {"workspace_path": ".", "active_model": name}
            status, told, _ = await gateway.ask("POST", "/sessions", body, made.token)
            assert (status, told["active_model"]) == (201, ANTHROPIC)
            status, told, _ = await gateway.ask(
                "POST", "/sessions", {"workspace_path": ".", "active_model": "fats"}, made.token
            )
            assert "did you mean fast" in told["error"]["message"]
            assert gateway.service.turns.router.config().global_default == OPENAI

    run(work)
