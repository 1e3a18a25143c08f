"""Streams that break off and go on, on routes that say so."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.gateway.config import ConfigError, load
from interlingua.gateway.idempotency.replies import is_whole_stream
from interlingua.gateway.relay.continued import anchor_of, tail_of
from interlingua.gateway.relay.joined import Sent
from interlingua.gateway.settings import RouteSettings
from interlingua.model.exchange import ResponseFormat
from tests.gateway.faults.continued import CALL as CALL_HEAD
from tests.gateway.faults.continued import (
    HEAD,
    TEXT,
    Provider,
    Sweep,
    dialect_at,
    generated,
    heard,
    pieces,
    response_of,
    rest_of,
    written,
)
from tests.gateway.faults.cuts import Cut, has_error
from tests.gateway.responses.running import asynchronous
from tests.gateway.serving import OPENAI, Served, Upstream, key, served, settings_in

CLAUDE = "anthropic:claude-sonnet-4-5"
BLANK = "\n" * 9
"""As long as a piece of what is `written`."""
CALL = il.ToolUseBlock("call_1", "weather", {"city": "Vienna", "days": [1, 2, 3]})


class Breaking(Upstream):
    """Breaks off its first answers, each at a share of its bytes, and then goes on as asked."""

    def __init__(
        self, *shares: float, blocks: tuple[il.Block, ...] = (il.TextBlock(TEXT),)
    ) -> None:
        super().__init__()
        self.shares = list(shares)
        self.whole = response_of(*blocks)

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        self.requests.append(wire)
        data = written(dialect, rest_of(il.dialect(dialect).read_request(wire), self.whole))
        share = self.shares.pop(0) if self.shares else 1.0
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data[: int(len(data) * share)])
        handler.close_connection = True


def settings(home: Path, on_break: Any = "continue") -> Any:
    routes = {
        "sure": RouteSettings(OPENAI, (CLAUDE,), on_break=on_break),
        "claude": RouteSettings(CLAUDE, (OPENAI,), on_break=on_break),
    }
    return settings_in(home, routes=routes)


def openai_client(here: Served, token: str = "none") -> Any:
    return openai.AsyncOpenAI(base_url=f"{here.base}/v1", api_key=token, max_retries=0)


async def chat(ai: Any, model: str = "sure") -> tuple[str, str | None]:
    text, reason = "", None
    asked = [{"role": "user", "content": "hi"}]
    async for chunk in await ai.chat.completions.create(model=model, messages=asked, stream=True):
        for choice in chunk.choices:
            text, reason = text + (choice.delta.content or ""), choice.finish_reason or reason
    return text, reason


def test_every_cut_is_continued_exactly_or_ends_with_an_error() -> None:
    counts, wrong = asyncio.run(generated(300, 7))
    assert not wrong, wrong[0]
    assert counts["continued"] > 150


@asynchronous
async def test_an_sdk_hears_one_answer(tmp_path: Path) -> None:
    token = key(tmp_path, daily_cap_usd=Decimal(5), read_requests=True).token
    with Breaking(0.6) as provider:
        provider.configure(tmp_path)
        async with served(tmp_path, settings(tmp_path)) as here, openai_client(here, token) as ai:
            assert await chat(ai) == (TEXT, "stop")
            assert len(provider.requests) == 2
            assert provider.requests[1]["messages"][-1]["content"].startswith(HEAD[:40])
            await here.stored()
            _, log, _ = await here.ask("GET", "/requests", token=token)
            broken, last = log["requests"]
            assert [broken["action"], last["action"]] == ["replaced", "generate"]
            assert [broken["error"], last["error"]] == ["network", None]
            assert last["usage"]["input_tokens"] == 21
            _, details, _ = await here.ask("GET", f"/requests/{last['id']}", token=token)
            assert [each.get("kind") for each in details["tries"]] == ["network", None]
            _, report, _ = await here.ask("GET", f"/losses/{last['id']}", token=token)
            assert [loss["code"] for loss in report["losses"]] == ["stream_continued"]


@asynchronous
async def test_a_cap_that_one_answer_may_use_up_has_room_for_the_rest(tmp_path: Path) -> None:
    """Without a limit of its own a request reserves all that the cap leaves; what broke off is
    settled before the rest is asked for."""
    token = key(tmp_path, daily_cap_usd=Decimal("0.2"), read_requests=True).token
    with Breaking(0.5, 0.5) as provider:
        provider.configure(tmp_path)
        async with served(tmp_path, settings(tmp_path)) as here, openai_client(here, token) as ai:
            assert await chat(ai) == (TEXT, "stop")
            assert [wire["model"] for wire in provider.requests][1:] == ["gpt-4.1", CLAUDE[10:]]
            await here.stored()
            _, log, _ = await here.ask("GET", "/requests", token=token)
            assert [row["action"] for row in log["requests"]].count("replaced") == 2
    today = datetime.now(UTC).date().isoformat()
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        rows = store.spent([store.keys()[0].id], today)
    assert [(row.reserved, row.spent > 0) for row in rows if row.period == today] == [(0, True)]


@asynchronous
async def test_a_model_that_takes_the_beginning_gets_it(tmp_path: Path) -> None:
    with Breaking(0.7) as provider:
        provider.configure(tmp_path)
        async with (
            served(tmp_path, settings(tmp_path)) as here,
            anthropic.AsyncAnthropic(base_url=here.base, api_key="none", max_retries=0) as ai,
        ):
            asked: Any = {"model": "claude", "max_tokens": 500}
            asked["messages"] = [{"role": "user", "content": "hi"}]
            async with ai.messages.stream(**asked) as events:
                message = await events.get_final_message()
            assert [block.text for block in message.content] == [TEXT]  # type: ignore[union-attr]
            last = provider.requests[1]["messages"][-1]
            assert last["role"] == "assistant"
            assert provider.requests[1]["max_tokens"] < 500


@pytest.mark.parametrize("front", ["chat", "responses"])
@asynchronous
async def test_a_call_that_is_cut_is_made_anew(tmp_path: Path, front: str) -> None:
    with Breaking(0.8, 0.7, blocks=(il.TextBlock("I look."), CALL)) as provider:
        provider.configure(tmp_path)
        async with served(tmp_path, settings(tmp_path)) as here, openai_client(here) as ai:
            if front == "chat":
                asked: Any = [{"role": "user", "content": "hi"}]
                async with ai.chat.completions.stream(model="sure", messages=asked) as events:
                    done = await events.get_final_completion()
                (call,) = done.choices[0].message.tool_calls
                text, arguments = done.choices[0].message.content, call.function.arguments
            else:
                async with ai.responses.stream(model="sure", input="hi") as events:
                    whole = await events.get_final_response()
                text, arguments = whole.output_text, whole.output[-1].arguments
            assert (text, json.loads(arguments)) == ("I look.", CALL.input)
            assert len(provider.requests) == 3


@asynchronous
async def test_what_breaks_off_every_time_ends_with_an_error(tmp_path: Path) -> None:
    with Breaking(0.5, 0.5, 0.5) as provider:
        provider.configure(tmp_path)
        async with served(tmp_path, settings(tmp_path)) as here, openai_client(here) as ai:
            with pytest.raises(openai.APIError):
                await chat(ai)
            assert len(provider.requests) == 3  # the same model once more, then the other


@asynchronous
async def test_by_default_the_client_gets_the_error(tmp_path: Path) -> None:
    with Breaking(0.6) as provider:
        provider.configure(tmp_path)
        usual = settings(tmp_path, "error")
        async with served(tmp_path, usual) as here, openai_client(here) as ai:
            with pytest.raises(openai.APIError):
                await chat(ai)
            assert len(provider.requests) == 1


def test_the_end_of_a_text_is_found_once_in_it() -> None:
    assert anchor_of("short") == "short"
    text = "one two three, four five six, seven eight nine, ten eleven twelve"
    assert anchor_of(text) == text[text.index("six") :]
    again = "the same words again, and " * 20
    assert anchor_of(again) == again
    assert anchor_of("ab " * 5000) is None


def test_what_is_constrained_has_to_come_out_the_same() -> None:
    target = Targets(keys={"openai": "k"}, environ={}).find(OPENAI)
    request = il.Request((il.Message.user("hi"),))
    sent = Sent(('{"city": "Vie',), True)
    options = il.Options(response_format=ResponseFormat("json"))
    tail = tail_of(request.replace(options=options), sent, target)
    assert tail is not None
    assert (tail.request.messages, tail.starts) == (request.messages, sent.texts)
    assert tail_of(request.replace(options=il.Options(n=2)), sent, target) is None


def test_a_seam_that_a_new_beginning_would_fit_is_not_asked_for() -> None:
    """A short beginning, by which a model that begins anew could not be told from one that goes on,
    is repeated by the model; and so is none that another block begins with."""
    target = Targets(keys={"anthropic": "k"}, environ={}).find(CLAUDE)
    request = il.Request((il.Message.user("hi"),))
    short = tail_of(request, Sent(("It",), True), target)
    assert short is not None
    assert (short.starts, short.again) == (("It",), "")
    assert short.request.messages[-1].text.startswith(HEAD[:40])
    long = tail_of(request, Sent(("It rains",), True), target)
    assert long is not None
    assert (long.starts, long.again) == (("",), "It rains")
    assert tail_of(request, Sent(("a", "a"), True), target) is None


@pytest.mark.parametrize("before", [BLANK, "", BLANK[:4]])
def test_white_space_alone_is_not_shown_to_the_next_model(before: str) -> None:
    """Providers refuse it as the beginning of an answer. A model that begins with it, too, or with
    a word goes on."""

    class Blank(Provider):
        async def send(self, request: HttpRequest, limits: Limits) -> Any:
            self.asked += 1
            if self.asked == 1:
                return self.first
            name = dialect_at(request.url)
            sent = il.dialect(name).read_request(request.body)
            assert [message.text for message in sent.messages] == ["hi"]
            return Cut(written(name, response_of(il.TextBlock(before + TEXT))), "end")

    sweep = Sweep(Blank())
    data = written("openai-chat", response_of(il.TextBlock(BLANK + TEXT)))
    sweep.provider.first = Cut(data[: data.index(b"It rains")], "break")
    _, result = asyncio.run(sweep.answer("openai-chat", "openai-chat"))
    if before in (BLANK, ""):
        assert heard("openai-chat", result).text == BLANK + TEXT
    else:
        assert has_error("openai-chat", result)
        assert pieces("openai-chat", result) == BLANK


def test_a_short_last_block_proves_no_seam() -> None:
    target = Targets(environ={}).find(OPENAI)
    request = il.Request((il.Message.user("hi"),))
    assert tail_of(request, Sent(("The capital of Austria", ", "), True), target) is None
    assert tail_of(request, Sent(("The capital of Austria", " is Vienna"), True), target)


@pytest.mark.parametrize("how", ["end", "break"])
def test_a_call_may_follow_a_reason_if_the_connection_breaks(how: str) -> None:
    """Some hosts give the reason after each of several calls."""
    here, other = Sweep(), il.ToolUseBlock("call_2", "weather", {"city": "Graz"})
    data = written("openai-chat", response_of(CALL)).partition(b"data: [DONE]")[0]
    here.provider.first, here.provider.whole = Cut(data, how), response_of(CALL, other)
    _, result = asyncio.run(here.answer("openai-chat", "openai-chat"))
    assert is_whole_stream("openai-chat", result) == (how == "end")
    assert has_error("openai-chat", result) == (how == "break")


def test_a_word_that_is_unknown_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text('[routes.a]\nmodel = "local"\non_break = "maybe"\n')
    with pytest.raises(ConfigError, match="on_break"):
        load(path)


LONG = {"path": "a.txt", "text": "One line with some words in it, and another one.\n" * 12}
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "text": {"type": "string", "maxLength": 700}},
    "required": ["path", "text"],
}
WRITE = {
    "type": "function",
    "function": {"name": "write", "description": "Writes.", "parameters": SCHEMA},
}


class Completing(Breaking):
    """Breaks off inside of a call, and is asked for the rest of it: which it writes (`good`), does
    not know (`unknown`), or writes something that the tool does not take (`invalid`)."""

    def __init__(self, how: str, at: float) -> None:
        call = il.ToolUseBlock("call_1", "write", LONG)
        other = il.ToolUseBlock("call_2", "write", {"path": "b", "text": "c"})
        super().__init__(at, blocks=(il.TextBlock(TEXT), call, other))
        self.how = how

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        request = il.dialect(dialect).read_request(wire)
        asked = request.messages[-1].text
        if self.how == "good" or not asked.startswith(CALL_HEAD):
            super().answer(handler, dialect, wire)
            return
        anchor = asked.split("\n\n")[3]
        rest = f'{anchor}", "path": 7}}' if self.how == "invalid" else "Which call?"
        whole, self.whole = self.whole, response_of(il.TextBlock(rest))
        super().answer(handler, dialect, {**wire, "messages": wire["messages"][:1]})
        self.requests[-1], self.whole = wire, whole


@asynchronous
@pytest.mark.parametrize("route", ["sure", "claude"])
@pytest.mark.parametrize(
    ("how", "share", "asked"),
    [("good", 0.5, 2), ("good", 0.7, 2), ("unknown", 0.6, 3), ("invalid", 0.6, 3)],
)
async def test_a_call_that_broke_off_is_completed_or_made_anew(
    tmp_path: Path, how: str, share: float, asked: int, route: str
) -> None:
    with Completing(how, share) as provider:
        provider.configure(tmp_path)
        async with served(tmp_path, settings(tmp_path)) as here:
            ai = openai_client(here)
            text, calls, reason = "", dict[int, list[str]](), None
            question = [{"role": "user", "content": "hi"}]
            async for chunk in await ai.chat.completions.create(
                model=route, messages=question, tools=[WRITE], stream=True
            ):
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    reason = choice.finish_reason or reason
                    for call in choice.delta.tool_calls or ():
                        calls.setdefault(call.index, []).append(call.function.arguments or "")
            await ai.close()
            found = [json.loads("".join(pieces)) for pieces in calls.values()]
            assert (text, found) == (TEXT, [LONG, {"path": "b", "text": "c"}])
            assert reason == "tool_calls"
    assert len(provider.requests) == asked
    first = il.dialect("openai-chat" if route == "sure" else "anthropic")
    result = first.read_request(provider.requests[1]).messages[-1].text
    assert result.startswith(CALL_HEAD)
