"""A turn costs what is new: history is retold once, estimated once, and walked once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.adapt import converter
from interlingua.adapt import request as road
from interlingua.adapt.request import adapt, write
from interlingua.agents.chat.chat import AsyncChat
from interlingua.client.client import AsyncClient
from interlingua.client.transport import HttpRequest, Limits
from interlingua.model.metadata import MessageMetadata
from interlingua.profiles.estimate import features
from interlingua.profiles.estimate.estimator import Estimator, estimate_input_tokens
from interlingua.store.open import open_async_store

MODEL = "openai:gpt-4o"
ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
THOUGHT = il.Message.assistant(
    [il.ThinkingBlock("Hm.", signature="sealed"), il.TextBlock("Hello.")]
).replace(metadata=MessageMetadata(provider="anthropic", protocol="anthropic"))
HISTORY = [
    il.Message.system("Be brief."),
    il.Message.user("hi"),
    THOUGHT,
    il.Message.user(
        [il.TextBlock("look"), il.ImageBlock(il.Source("url", "https://x.test/a.png"))]
    ),
    il.Message.assistant([il.ToolUseBlock("t1", "look_up", {"word": "home"})]),
    il.Message.tool_result("t1", "found"),
    il.Message.assistant("It is there."),
]


class Counted:
    """How often something was done, and to how much."""

    def __init__(self, patch: pytest.MonkeyPatch, place: Any, name: str) -> None:
        self.times = 0
        real = getattr(place, name)

        def counted(*args: Any, **named: Any) -> Any:
            self.times += 1
            return real(*args, **named)

        patch.setattr(place, name, counted)


class Reply:
    status = 200
    headers: Mapping[str, str] = {"content-type": "application/json"}

    def __init__(self) -> None:
        self._left = [msgspec.json.encode(ANSWER)]

    async def chunk(self) -> bytes:
        return self._left.pop() if self._left else b""

    async def body(self, limit: int) -> bytes:
        return await self.chunk()

    def close(self) -> None:
        return None


class Provider:
    def __init__(self) -> None:
        self.bodies: list[Any] = []

    async def send(self, request: HttpRequest, limits: Limits) -> Reply:
        self.bodies.append(msgspec.json.decode(request.body))
        return Reply()

    async def close(self) -> None:
        return None


def test_history_is_retold_and_written_once_in_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with il.open_store(f"sqlite:///{tmp_path}/s.db") as store:
        session = il.Session.create(store, model=MODEL)
        session.append(*HISTORY)
        session.begin("first").call().complete(ANSWER)
        retold, wrote = (
            Counted(monkeypatch, road, "rewrite_history"),
            Counted(monkeypatch, converter, "write"),
        )
        counted = Counted(monkeypatch, features.WeighedPieces, "add")
        call = session.begin("second").call()
        assert call.wire["messages"][-1]["content"] == "second"
        assert call.report is call.report
        call.complete(ANSWER)
        assert (retold.times, wrote.times) == (1, 1)
        assert counted.times == 2, "the answer before it, and the question"


def test_a_chat_with_a_client_writes_once_as_well_and_logs_what_it_leaves_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="interlingua.model.losses")

    async def talk() -> tuple[Any, Any, int]:
        provider = Provider()
        client = AsyncClient(environ={"OPENAI_API_KEY": "k" * 20}, transport=provider)
        async with await open_async_store(tmp_path / "s.db") as store:
            session = await il.AsyncSession.create(store, model=MODEL)
            await session.append(*HISTORY)
            chat = AsyncChat(session, client)
            async for _ in chat.say("first"):
                pass
            caplog.clear()
            retold = Counted(monkeypatch, road, "rewrite_history")
            async for _ in chat.say("second"):
                pass
            assert chat.call is not None
            return provider.bodies[-1], chat.call.wire, retold.times

    sent, wire, times = asyncio.run(talk())
    assert sent == wire
    assert times == 1
    assert [record.message for record in caplog.records] == ["block_dropped"]


def test_a_client_writes_anew_what_is_asked_of_another_model_or_in_other_words(
    tmp_path: Path,
) -> None:
    provider = Provider()
    client = AsyncClient(
        environ={"OPENAI_API_KEY": "k" * 20, "GROQ_API_KEY": "k" * 20}, transport=provider
    )
    with il.open_store(f"sqlite:///{tmp_path}/s.db") as store:
        call = il.Session.create(store, model=MODEL).begin("hi").call()
        other = call.request.replace(messages=(il.Message.user("ho"),))
        asyncio.run(
            client.generate(
                "groq:openai/gpt-oss-20b", call.request, written_request=call.written_request
            )
        )
        asyncio.run(client.generate(MODEL, other, written_request=call.written_request))
        asyncio.run(client.generate(MODEL, call.request, written_request=call.written_request))
    first, second, third = provider.bodies
    assert first["model"] == "openai/gpt-oss-20b"
    assert second["messages"][0]["content"] == "ho"
    assert third == call.wire


@pytest.mark.parametrize("model", [MODEL, "anthropic:claude-sonnet-4-5", "gemini:gemini-2.5-pro"])
def test_what_is_remembered_of_an_estimate_changes_nothing_about_it(model: str) -> None:
    tool = il.ToolDefinition("look_up", "Looks.", {"type": "object", "properties": {"w": {}}})
    options = il.Options(response_format=il.ResponseFormat("json_schema", "x", {"type": "object"}))
    estimator = Estimator(model)
    for end in (*range(len(HISTORY) + 1), 3, len(HISTORY)):
        for tools, chosen in (((), None), ((tool,), options)):
            known = estimate_input_tokens(HISTORY[:end], tools, model, chosen)
            assert estimator.tokens(HISTORY[:end], tools, chosen) == known


def written_whole(call: Any) -> tuple[Any, list[Any]]:
    whole = write(adapt(call.request, call.adapter.target))
    return whole.wire, whole.report.losses


@pytest.mark.parametrize("model", [MODEL, "anthropic:claude-opus-4-6", "gemini:gemini-2.5-flash"])
def test_what_is_remembered_of_earlier_turns_gives_the_body_of_a_whole_writing(
    tmp_path: Path, model: str
) -> None:
    with il.open_store(f"sqlite:///{tmp_path}/s.db") as store:
        session = il.Session.create(store, model=MODEL)
        session.append(*HISTORY)
        for number, asked in enumerate([MODEL, MODEL, model, model, MODEL, model]):
            call = session.begin(f"question {number}", override=asked).call()
            written = call.written_request
            assert written is not None
            text = written.body.json() if written.text is None else written.text
            assert (msgspec.json.decode(text), call.report.losses) == written_whole(call)
            assert call.wire == msgspec.json.decode(text)
            answered = il.Response(il.Message.assistant(f"answer {number}"))
            call.answer(answered)
        changed = call.wire
        for key in ("messages", "contents"):
            for turn in changed.get(key, ()):
                turn.clear()  # the wire belongs to whoever asked for it
        call = session.begin("once more").call()
        assert call.wire == written_whole(call)[0]


@pytest.mark.parametrize("replies", ["", "Yes."])
def test_breakpoints_of_a_session_are_those_of_a_whole_writing(
    tmp_path: Path, replies: str
) -> None:
    with il.open_store(f"sqlite:///{tmp_path}/s.db") as store:
        session = il.Session.create(store, model="anthropic:claude-sonnet-4-5")
        session.append(il.Message.user("A long story. " * 1000), il.Message.assistant("Yes?"))
        for number in range(4):
            call = session.begin(f"question {number}").call()
            assert (call.wire, call.report.losses) == written_whole(call)
            assert str(call.wire).count("cache_control") == 2
            content = [il.TextBlock(replies)] if replies else []
            call.answer(il.Response(il.Message.assistant(content)))


def test_an_estimate_that_grows_is_that_of_the_whole_history() -> None:
    growing = Estimator(MODEL)
    messages: list[il.Message] = []
    for message in [*HISTORY, il.Message.system("Now in verse."), *HISTORY]:
        messages.append(message)
        assert growing.tokens(tuple(messages)) == Estimator(MODEL).tokens(messages)
    assert growing.tokens(tuple(messages[3:])) == Estimator(MODEL).tokens(messages[3:])
    assert growing.tokens(tuple(messages)) == Estimator(MODEL).tokens(messages)
