"""A gateway with something in every view of the page, and the way to each of them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import interlingua as il
from interlingua import transcripts
from interlingua.gateway.memory.content import place_of
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Message
from interlingua.store.idempotency import ObjectRow
from interlingua.store.requests import RequestRow
from interlingua.transcripts import Transcript
from tests.gateway.page.conftest import Place
from tests.gateway.page.planted import CLAUDE, GPT, answer, plant, plant_losses
from tests.gateway.serving import Upstream, asked

TASK = "Dates in March are off by one. Look at dates.py and mend it."
NEXT = "Then write a test for it."
CODE = "def day_of_year(month, day):\n    return sum(LENGTHS[: month]) + day\n"
MENDED = CODE.replace("[: month]", "[: month - 1]")
PARTS: tuple[tuple[il.Block, ...], ...] = (
    (
        TextBlock("I look at the file first."),
        ToolUseBlock("toolu_1", "read_file", {"path": "dates.py"}),
    ),
    (
        TextBlock(
            "Months are counted from 1 there, and the sum takes one too many. I mend that line."
        ),
        ToolUseBlock("toolu_2", "write_file", {"path": "dates.py", "text": MENDED}),
    ),
    (TextBlock("Done: the sum now ends before the month itself."),),
)
LOSING = {"seed": 7, "frequency_penalty": 0.5, "logit_bias": {"50256": -100}}
QUESTION = {"tools": [{"type": "function", "function": {"name": "search", "parameters": {}}}]}


MARKED = "Compare two ways to sort a list."
TABLE = """## Two ways

| way | new list | stable |
| --- | --- | --- |
| `sorted(names)` | yes | yes |
| `names.sort()` | no | yes |

```python
names.sort(key=str.casefold)
```
"""
POINTS = """- **`sorted`** returns a *new* list
- **`list.sort`** changes the list itself

Both are stable."""
ANSWERS = (TABLE, POINTS)


class Scripted(Upstream):
    """Reads a file and wants to write it, where it is asked for that; answers in Markdown, where it
    is asked to compare."""

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        if words == MARKED:
            text = ANSWERS["haiku" in (request.model or "")]
            known = il.MessageMetadata(
                response_id=f"msg_{len(self.requests)}",
                response_model=request.model,
                stop_reason=il.StopReason.END_TURN,
                usage=il.Usage(24, 61),
            )
            yield from il.unfold(il.Response(il.Message.assistant(text, known)))
            return
        if words != TASK:
            yield from super()._events(words, request)
            return
        content = PARTS[sum(message.role is il.Role.ASSISTANT for message in request.messages)]
        calls = any(isinstance(block, ToolUseBlock) for block in content)
        known = il.MessageMetadata(
            response_id=f"msg_{len(self.requests)}",
            response_model=request.model,
            stop_reason=il.StopReason.TOOL_USE if calls else il.StopReason.END_TURN,
            usage=il.Usage(1450, 96),
        )
        yield from il.unfold(il.Response(il.Message.assistant(content, known)))


class Room(NamedTuple):
    task: str
    session: str


def furnished(place: Place) -> Room:
    """A task that waits for a yes, others that are done, sessions, requests with losses."""
    for name in ("Notes of the release", "Which tests are slow?"):
        _task(place, name, "hello")
    (place.home / "dates").mkdir()
    (place.home / "dates" / "dates.py").write_text(CODE)
    task = _task(place, "Mend the dates", TASK, "dates")
    post(place, f"/task/{task}/message", {"role": "user", "content": NEXT})
    for words, more in (("hello", LOSING), ("fail", {}), ("hello again", QUESTION)):
        post(place, "/v1/chat/completions", asked(words, max_tokens=50, **more))
    _agent_session(place)
    _fallback(place)
    return Room(task, _session(place))


PROMPT = {
    "model": "smart",
    "messages": [
        {"role": "system", "content": "You plan trips. Be brief."},
        {"role": "user", "content": "Where do we eat in Rome?"},
    ],
}
ANSWER = {
    "id": "chatcmpl-1",
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {
                "role": "assistant",
                "content": "In **Testaccio**:\n\n- Flavio al Velavevodetto\n- Da Felice",
            },
        }
    ],
}


def _fallback(place: Place) -> None:
    """A request that another model answered at the second attempt, with all that is known of it."""
    id = f"req_{Ulids().new()}"
    row = RequestRow(
        id,
        datetime.now(UTC),
        "openai-chat",
        200,
        3120,
        asked="smart",
        model=GPT,
        dialect="openai-responses",
        stream=True,
        attempts=2,
        first_byte_ms=1840,
        usage=il.Usage(4200, 96, 1024, cost_usd=Decimal("0.0064")),
        tries=(
            {"model": CLAUDE, "kind": "server_error", "status": 529, "took": 0.62},
            {"model": GPT, "waited": 0.5},
        ),
        cache={
            **{"outcome": "miss", "reason": "tools_changed", "missed_tokens": 3800},
            **{"changed": ["tools", "messages[4]"], "cost_usd": "0.0043", "source": "comparison"},
            "since": "2026-11-18T12:00:00Z",
        },
    )
    body = json.dumps({"request": PROMPT, "answer": ANSWER}).encode()
    with il.open_store(str(place.home / "gateway.db")) as store:
        store.append_requests([row])
        store.put_objects(place_of(None), [ObjectRow(id, 0, body)], 86_400.0)


AGENTS = "0c6a1f3e-5b7d-4c8e-9a51-3f1d2b4c6e80"


def _agent_session(place: Place) -> None:
    """A session of Claude Code in the home folder."""
    messages = (
        Message.user("Why does the build fail on Windows?"),
        answer("A path has a colon in it. I rename that file.", CLAUDE, input_tokens=900),
    )
    made = Transcript.of("claude-code", messages, id=AGENTS, folder="/home/ada/build")
    folder = place.home / ".claude" / "projects" / "-home-ada-build"
    folder.mkdir(parents=True)
    transcripts.write(made, folder / f"{AGENTS}.jsonl", "claude-code")


def _task(place: Place, name: str, words: str, folder_name: str | None = None) -> str:
    folder = place.home / (folder_name or name)
    folder.mkdir(exist_ok=True)
    message = {"role": "user", "content": words}
    made = post(place, "/task", {"cwd": str(folder), "name": name, "message": message})
    return str(made["task"]["id"])


def post(place: Place, path: str, body: Any) -> Any:
    data, headers = json.dumps(body).encode(), {"content-type": "application/json"}
    request = urllib.request.Request(f"{place.base}{path}", data, headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as odd:
        return json.load(odd)


def _session(place: Place) -> str:
    """Two models, one after the other, with a tool, a branch and what the change lost."""
    id = new_tool_id(Ulids())
    call = ToolUseBlock(id, "forecast", {"city": "Rome", "days": 2})
    thought = ThinkingBlock("Two days, and they may rain. I look first.", "c2ln")
    row, added = plant(
        place,
        [
            Message.user("Two days in Rome, and we like old stones. What do you suggest?"),
            answer("I look at the weather.", CLAUDE, thought, call, cached_input_tokens=2400),
            Message.tool_result(id, "Saturday 19 °C, dry. Sunday 17 °C, rain from noon."),
            answer(
                "Saturday outside: the Forum and the Palatine. Sunday the Capitoline Museums.",
                CLAUDE,
                input_tokens=310,
                output_tokens=64,
                cached_input_tokens=2600,
            ),
            Message.user("And where do we eat?"),
            answer("In Testaccio, near the old slaughterhouse.", GPT, input_tokens=2900),
        ],
        name="Two days in Rome",
        active_model=GPT,
        folder="/home/ada/trips",
    )
    lost = {
        "kind": "dropped",
        "path": "$.messages[1].content[0]",
        "reason": "thinking that another model has signed",
        "severity": "info",
        "block_type": "thinking",
    }
    plant_losses(place, row, added[5], [lost])
    with il.open_store(str(place.home / "gateway.db")) as store:
        fork = store.fork(row.id, added[3].id, name="Rome with children")
        store.append(fork.id, [Message.user("We take the children along.")])
    return row.id


def _seen(page: Any, address: str, words: str) -> None:
    """At this address, when the words are there."""
    page.goto(address)
    page.locator("main", has_text=words).wait_for()


def _task_view(page: Any, room: Room) -> None:
    _seen(page, f"/#/tasks/{room.task}", "Run write_file?")
    page.get_by_role("list", name="Queue").wait_for()


def _session_view(page: Any, room: Room) -> None:
    _seen(page, f"/#/sessions/{room.session}", "Caching saved")


def _unfolded(page: Any, room: Room) -> None:
    _session_view(page, room)
    page.locator("main summary").evaluate_all(
        "all => all.forEach((e) => (e.parentElement.open = true))"
    )


def _view_as(page: Any, room: Room) -> None:
    _session_view(page, room)
    _about(page)
    page.get_by_role("combobox", name="View as").select_option("openai-chat")
    page.locator("main mark").first.wait_for()
    page.locator(".view-as").evaluate("each => each.scrollIntoView()")


def _about(page: Any) -> None:
    """What is known of a session is folded where there is little room."""
    title = page.get_by_text("About this session", exact=True)
    if title.is_visible() and not page.get_by_label("View as").is_visible():
        title.click()


def _export_view(page: Any, room: Room) -> None:
    _session_view(page, room)
    _about(page)
    page.get_by_text("Export", exact=True).click()
    page.get_by_role("button", name="Show what is taken out").click()
    page.get_by_role("list", name="Redacted").get_by_role("listitem").first.wait_for()
    page.locator(".export").evaluate("each => each.scrollIntoView()")


def _convert_view(page: Any, room: Room) -> None:
    _seen(page, "/convert", "Paste JSON")
    page.get_by_label("Examples").select_option("OpenAI Chat request")
    page.locator(".code-mark").first.wait_for()


def _playground_view(page: Any, room: Room) -> None:
    _seen(page, "/playground", "One prompt")
    page.get_by_label("Prompt", exact=True).fill("How do whales sleep?")
    page.get_by_role("button", name="Run").click()
    page.locator(".figures dd").first.wait_for()


def _several_targets(page: Any, room: Room) -> None:
    _seen(page, "/convert?to=anthropic,gemini,openai-responses", "Paste JSON")
    page.get_by_label("Examples").select_option("OpenAI Chat request")
    page.locator(".code-mark").first.wait_for()


def _four_models(page: Any, room: Room) -> None:
    _seen(page, "/playground", "One prompt")
    more = page.get_by_role("button", name="Add a model")
    while more.is_enabled():
        more.click()
    page.get_by_label("Prompt", exact=True).fill(MARKED)
    page.get_by_role("button", name="Run").click()
    for number in range(4):
        page.locator(".answers > section").nth(number).locator(".figures dd").first.wait_for()


def _one_request(page: Any, which: str) -> None:
    """The newest request that has several of these, or a reason of it."""
    _seen(page, "/requests", "Live")
    found = """async (which) => {
        const reply = await fetch("/requests", {headers: {accept: "application/json"}});
        const { requests } = await reply.json();
        return requests.find((row) => Number(row[which]) > 1 || row[which]?.reason).id;
    }"""
    page.goto(f"/requests/{page.evaluate(found, which)}")


def _request_view(page: Any, room: Room) -> None:
    _one_request(page, "losses")
    page.get_by_role("list", name="Losses").wait_for()


def _fallback_view(page: Any, room: Room) -> None:
    _one_request(page, "cache")
    page.get_by_role("log", name="Logged conversation").get_by_role("article").first.wait_for()


VIEWS: dict[str, Callable[[Any, Room], None]] = {
    "overview": lambda page, room: _seen(page, "/", "needs approval"),
    "tasks": lambda page, room: _seen(page, "/#/tasks", "Notes of the release"),
    "task": _task_view,
    "sessions": lambda page, room: _seen(page, "/#/sessions", "Two days in Rome"),
    "session": _session_view,
    "transcript": lambda page, room: _seen(page, f"/sessions/claude-code:{AGENTS}", "a colon"),
    "session-unfolded": _unfolded,
    "view-as": _view_as,
    "export": _export_view,
    "convert": _convert_view,
    "convert-several": _several_targets,
    "playground": _playground_view,
    "playground-four": _four_models,
    "requests": lambda page, room: _seen(page, "/#/requests", "Live"),
    "request": _request_view,
    "fallback": _fallback_view,
}
"""By name: brings a page there and waits until it has been drawn."""
