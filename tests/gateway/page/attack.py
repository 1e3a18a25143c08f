"""A gateway whose answers are scripts: each field that somebody else can fill says one.

    python -m tests.gateway.page.attack --count 5000

The answers are those of a real gateway, copied once for each script, with the script in place of
every text. What the browser asks for is answered with them before it gets to the gateway; so there
is no field that is left out because no model could be brought to fill it. What is stored and comes
through the API has tests of its own, in `test_injections.py` and `test_sessions_view.py`."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.gateway.page.conftest import PATIENCE, Place, launch, standing, watched
from tests.gateway.page.rooms import AGENTS, Room, Scripted, furnished, post
from tests.gateway.page.scripts import payloads, safe_links, unharmed
from tests.gateway.serving import asked

AT_ONCE = 100
"""Scripts on one page."""
AT_A_GATEWAY = 500
"""Scripts before there is another gateway: after five minutes, a task waits no longer."""
IDS = frozenset({"id", "message_id", "session_id", "parent_id", "parent_message_id", "key_id"})
KEPT = frozenset(
    {
        *("msg", "role", "type", "status", "window", "severity"),
        *("at", "created_at", "updated_at", "timestamp", "expires_at"),
        *("cost_usd", "saved_usd", "spent_usd", "limit_usd", "daily_cap_usd"),
    }
)
"""Words of the gateway's own, times and amounts: nobody else fills them."""
SHORT = frozenset({"h1", ".change .losses"})
"""Where not all of them are shown, but the first."""
SHOWN = """([place, text]) => [...document.querySelectorAll(`main ${place}`)]
    .map((each) => each.textContent)
    .some((all) => all.includes(text) || all.includes(JSON.stringify(text).slice(1, -1)))"""
FAILED = {"msg": "Failed", "error": {"code": "x", "message": "x"}}
THOUGHT = {"msg": "ThinkingDelta", "message_id": "live", "index": 0, "offset": 0, "text": "x"}
TALK = {"msg": "TextDelta", "message_id": "live", "index": 1, "offset": 0, "text": "x"}
CAP = {"window": "day", "scope": "x", "spent_usd": "1", "limit_usd": "2"}
KEY = {
    **{"id": "k", "name": "x", "status": "active", "caps": [CAP], "allowed_models": ["x"]},
    **{"created_at": "2026-01-01T00:00:00Z", "user_id": "x", "team_id": "x", "admin": True},
}
OWNER = {"id": "o", "name": "x", "email": "x", "status": "active", "daily_cap_usd": "2"}
BUDGET = {"id": "b", "kind": "x", "value": "x", "owner_id": "x", "daily_cap_usd": "2"}
CHANGE = {
    **{"id": "a", "at": "2026-01-01T00:00:00Z", "actor": "x", "action": "x"},
    **{"target_id": "x", "changes": {"x": ["x", "x"]}},
}
RUNNING = {
    **{"id": "r", "at": "2026-01-01T00:00:00Z", "asked": "x", "model": "x", "action": "x"},
    **{"key_id": "k", "elapsed_ms": 1, "first_byte_ms": None},
}
TRACE = {"type": "llm.call_completed", "timestamp": "2026-01-01T00:00:00Z", "payload": {"x": "x"}}


def filled(value: Any, script: str, number: int, name: str = "") -> Any:
    """The script in place of every text, also as a name inside of arguments; other ids."""
    match value:
        case dict():
            made = {key: filled(each, script, number, key) for key, each in value.items()}
            return made | {script: script} if name in ("args", "payload") else made
        case list():
            return [filled(each, script, number, name) for each in value]
        case str() if name in IDS:
            return f"{value}-{number}"
        case str() if name not in KEPT:
            return script
        case _:
            return value


class Answers:
    """What the gateway says, once for each script."""

    def __init__(self, place: Place, room: Room, said: list[str]) -> None:
        self.said = said
        self.place = place
        self.room = room
        body = {"text": json.dumps(asked("hi", seed=7)), "target": "anthropic", "back": True}
        self.converted = post(place, "/convert", body)
        self.taken = post(place, f"/sessions/{room.session}/redaction", {})
        self.by_path: dict[str, Callable[[], Any]] = {
            r"/events": self.all_tasks,
            r"/task/\w+": lambda: self.one(f"/task/{room.task}"),
            r"/task/\w+/events": self.task_events,
            r"/sessions": lambda: {"sessions": self.each(self._get("/sessions")["sessions"][0])},
            r"/sessions/\w+/messages": self.messages,
            r"/search": lambda: {"messages": self.each(self._get("/search?q=Rome")["messages"][0])},
            r"/sessions/\w+": lambda: self.one(f"/sessions/{room.session}"),
            r"/sessions/\w+/summary": self.summary,
            r"/sessions/\w+/redaction": lambda: {"findings": self.each(self.taken["findings"][0])},
            r"/requests": self.requests,
            r"/requests/running": lambda: {"requests": self.each(RUNNING), "count": len(said)},
            r"/requests/[\w-]+": self.one_request,
            r"/stats": self.stats,
            r"/v1/models": lambda: {"data": self.each({"id": "x"})},
            r"/keys": lambda: {"keys": self.each(KEY)},
            r"/admin/keys": lambda: {"keys": self.each(KEY)},
            r"/admin/users": lambda: {"users": self.each(OWNER)},
            r"/admin/teams": lambda: {"teams": self.each(OWNER)},
            r"/admin/budgets": lambda: {"budgets": self.each(BUDGET)},
            r"/admin/audit": lambda: {"changes": self.each(CHANGE)},
            r"/admin/usage": lambda: {"keys": []},
            r"/convert": self.conversion,
            r"/models": lambda: {
                "data": [{"id": f"x:{each}", "aliases": said[:1]} for each in said]
            },
            r"/v1/chat/completions": self.chunks,
            r"/transcripts": self.transcripts,
            r"/transcripts/[\w-]+/[\w-]+": self.transcript,
        }

    def _get(self, path: str) -> Any:
        request = urllib.request.Request(
            f"{self.place.base}{path}", headers={"accept": "application/json"}
        )
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)

    def each(self, value: Any) -> list[Any]:
        return [filled(value, script, number) for number, script in enumerate(self.said)]

    def one(self, path: str) -> Any:
        reply = self._get(path)
        return filled(reply, self.said[0], 0) | {"id": reply["id"]}

    def all_tasks(self) -> str:
        tasks = self.each(self._get("/tasks")["tasks"][0])
        return _frame("daemon.tasks.synchronized", {"tasks": tasks})

    def task_events(self) -> str:
        path = f"/task/{self.room.task}"
        task = self._get(path)
        events = self._get(f"{path}/events?after=0&limit=100")["events"]
        called = next(event for event in events if event["msg"] == "PostToolCall")
        failed = {**called, "error": "x", "tool_call": {**called["tool_call"], "id": "failed"}}
        several = self.each([*events, {**failed, "text": None}, FAILED])
        frames = [_frame("maria", event) for reported in several for event in reported]
        frames += [
            _frame("maria.delta", each)
            for reported in self.each([THOUGHT, TALK])
            for each in reported
        ]
        waiting, asking = task["queued_messages"][0], task["confirmations"][0]
        frames.append(_frame("maria.queued_messages.synchronized", self.each(waiting)))
        frames.append(_frame("maria.confirmations.synchronized", self.each(asking)))
        return "".join(frames)

    def summary(self) -> Any:
        reply = self._get(f"/sessions/{self.room.session}/summary")
        for name in ("models", "branches"):
            reply[name] = reply[name][:1] + self.each(reply[name][0])
        (change,) = reply["changes"]
        (loss,) = change["losses"]["losses"]
        change |= {"from": self.said[0], "to": self.said[1]}
        change["losses"] = {"target": self.said[2], "count": len(self.said)}
        change["losses"]["losses"] = self.each(loss)
        return reply

    def requests(self) -> Any:
        return {
            "requests": self.each(self._get("/requests")["requests"][0] | {"error": "x"}),
            "last": 0,
        }

    def stats(self) -> Any:
        found: dict[str, Any] = self._get("/stats")
        row = found["models"][0]
        listed = {kind: self.each(row) for kind in ("models", "routes", "keys", "teams")}
        return {**found, **listed, "team_names": {script: script for script in self.said}}

    def one_request(self) -> Any:
        id = next(each["id"] for each in self._get("/requests")["requests"] if each["losses"])
        row = self._get(f"/requests/{id}")
        (loss, *_) = row["report"]["losses"]
        made: dict[str, Any] = filled(row | {"error": "x", "code": "x"}, self.said[0], 0)
        made["tries"] = self.each(row["tries"][0] | {"kind": "x", "request_id": "x"})
        made["report"]["losses"] = self.each(loss)
        made["trace"] = self.each(TRACE)
        made["cache"] = {"outcome": "miss", "reason": self.said[0], "changed": self.said}
        made["content"] = {"request": self.said, "answer": {each: each for each in self.said}}
        return made

    def transcripts(self) -> Any:
        found = self._get("/transcripts?limit=1")
        titles = {script: script for script in self.said}
        rows = self.each(found["transcripts"][0])
        return {"transcripts": rows, "tools": self.said, "titles": titles}

    def transcript(self) -> Any:
        """Each message once for each script."""
        reply = self._get(f"/transcripts/claude-code/{AGENTS}")
        made: dict[str, Any] = filled(reply, self.said[0], 0)
        made["messages"] = [each for one in reply["messages"] for each in self.each(one)]
        made["summary"]["models"] = self.each(reply["summary"]["models"][0])
        return made

    def messages(self) -> Any:
        reply = self._get(f"/sessions/{self.room.session}/messages?limit=100")
        made = [each for one in reply["messages"][:3] for each in self.each(one)]
        return reply | {"messages": made + reply["messages"]}

    def chunks(self) -> str:
        delta = {"content": "\n\n".join(self.said), "reasoning_content": self.said[0]}
        return f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\ndata: [DONE]\n\n"

    def conversion(self) -> Any:
        made: dict[str, Any] = filled(self.converted, self.said[0], 0)
        made["text"] = made["back"] = json.dumps(
            {script: script for script in self.said}, ensure_ascii=False
        )
        made["losses"] = self.each(self.converted["losses"][0])
        made["evidence"] = self.said
        known = {"formats": ["canonical", "anthropic", *self.said], "transcripts": self.said}
        return {**known, "titles": {}, **made}

    def answer(self, route: Any) -> None:
        """Answers what the page asks for; its own files come from the gateway."""
        path = route.request.url.removeprefix(self.place.base).partition("?")[0]
        wanted = next((work for way, work in self.by_path.items() if re.fullmatch(way, path)), None)
        streaming = "event-stream" in route.request.headers.get("accept", "")
        if wanted is None or "text/html" in route.request.headers.get("accept", ""):
            route.continue_()
        elif streaming:
            result = wanted()
            body = result if isinstance(result, str) else ""
            route.fulfill(body=body, content_type="text/event-stream")
        else:
            result = wanted()
            body = result if isinstance(result, str) else json.dumps(result)
            route.fulfill(body=body, content_type="application/json")


def _frame(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def attacked(browser: Any, place: Place, room: Room, said: list[str]) -> None:
    """Each view with these scripts in it: all are shown, none runs, nothing leads elsewhere."""
    answers = Answers(place, room, said)
    with watched(browser, place) as page:
        page.route("**/*", answers.answer)
        page.goto("/")
        for kind in ("model", "route", "key", "team"):
            whole = page.get_by_role("region", name=f"By {kind}").get_by_role("button")
            whole.click()
        kinds = [f"[aria-label='By {kind}']" for kind in ("model", "route", "key", "team")]
        _harmless(page, said, *kinds, "[aria-label='Last failures']", "[aria-label='Running']")
        page.get_by_text("Connect an SDK or an agent").click()
        page.goto(f"/#/tasks/{room.task}")
        _harmless(page, said, "[role=log]", ".queue", ".approvals", "ul.tasks", "h1")
        page.goto("/#/sessions")
        page.get_by_label("Search").fill("x")
        _harmless(page, said, "ul.sessions", "section:not([hidden]) ul.sessions", "select")
        page.goto(f"/sessions/claude-code:{AGENTS}")
        _harmless(page, said, "[role=log]", "h1", "table", "select")
        page.get_by_label("Search in this session").fill("ran")
        page.locator("[aria-label='Messages found'] li").first.wait_for(timeout=PATIENCE)
        _harmless(page, said)
        page.goto(f"/#/sessions/{room.session}")
        _harmless(page, said, "[role=log]")
        page.get_by_text("Export", exact=True).click()
        page.get_by_role("button", name="Show what is taken out").click()
        _harmless(page, said, ".export", ".change .losses", "table", "select")
        page.goto("/#/requests")
        _harmless(page, said, "table.requests", "details table")
        page.locator("table.requests a").first.click()
        _harmless(page, said, "ol", ".outline", "details", "h1", "[aria-label=Cache]")
        page.locator("[aria-label=Content] details").evaluate_all(
            "all => all.map((e) => e.open = true)"
        )
        _harmless(page, said, "[aria-label=Content]")
        for part in ("keys", "users", "teams", "budgets"):
            page.goto(f"/admin?show={part}")
            _harmless(page, said, "table.admin")
            page.locator("table.admin button").first.click()
            _in_dialog(page, said)
        page.goto("/admin?show=audit")
        _harmless(page, said, "ol.audit")
        page.goto("/convert")
        page.get_by_label("Examples").select_option("OpenAI Chat request")
        _harmless(page, said, ".report", ".code-colours", ".detected", "select")
        page.goto("/playground")
        page.get_by_label("Prompt", exact=True).fill("x")
        page.get_by_role("button", name="Run").click()
        page.locator(".answers .figures dd").first.wait_for(timeout=PATIENCE)
        assert page.locator(".answer summary").count()
        _harmless(page, said, ".answers select")


def _harmless(page: Any, said: list[str], *places: str) -> None:
    for place in places:
        wanted = said[0] if place in SHORT else said[-1]
        page.wait_for_function(SHOWN, arg=[place, wanted], timeout=PATIENCE)
    unharmed(page)
    assert safe_links(page)


def _in_dialog(page: Any, said: list[str]) -> None:
    """The question about the first of them names it."""
    page.locator("dialog").wait_for()
    assert said[0].strip()[:10] in page.locator("dialog h2").inner_text()
    unharmed(page)


def _attack_one(browser: Any, said: list[str]) -> None:
    """With a gateway of its own, whose task still waits for an answer."""
    with (
        tempfile.TemporaryDirectory() as home,
        standing(Path(home), behind=Scripted) as (place, _),
    ):
        room = furnished(place)
        for at in range(0, len(said), AT_ONCE):
            attacked(browser, place, room, said[at : at + AT_ONCE])


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    content = payloads(parser.parse_args().count)
    began = time.monotonic()
    with sync_playwright() as playwright, closing(launch(playwright)) as browser:
        for at in range(0, len(content), AT_A_GATEWAY):
            _attack_one(browser, content[at : at + AT_A_GATEWAY])
            print(f"{min(at + AT_A_GATEWAY, len(content))} of {len(content)}", end="\r", flush=True)
    print(
        f"{len(content)} scripts in each field of each view: none ran, none left the page;", end=" "
    )
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
