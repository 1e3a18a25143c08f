"""Compaction for clients of OpenAI and Anthropic, by their own SDKs, with models of other vendors
behind the gateway."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import anthropic
import openai
import pytest

import interlingua as il
from interlingua.adapt.history.compacted import pack
from interlingua.gateway.settings import Limits, RouteSettings
from interlingua.model.events import MessageComplete
from tests.agents.chat.provider import DIALECTS
from tests.gateway.responses.running import asynchronous
from tests.gateway.serving import (
    ANTHROPIC,
    OPENAI,
    Served,
    Upstream,
    key,
    served,
    settings_in,
)

DIALECTS.setdefault("/v1/responses/compact", "openai-responses")
FACTS = [f"fact-{number}-{'abcdefgh'[number]}{number * 37}" for number in range(8)]
LONG = "x" * 400


class Summarizer(Upstream):
    """A model that writes down every fact it sees when it is asked for a summary, and otherwise
    says which facts it can see. Its Responses API compacts in a way of its own."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if not handler.path.endswith("/compact"):
            super().answer(handler, dialect, wire)
            return
        self.requests.append(wire)
        item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "b3BhcXVl"}
        usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        wire = {"id": "resp_1", "object": "response.compaction", "created_at": 1, "output": [item]}
        body = json.dumps({**wire, "usage": usage}).encode()
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        seen = [fact for fact in FACTS if fact in str(request.messages)]
        kind = "Summary" if "answer with the summary alone" in words else "Seen"
        text = il.TextBlock(f"{kind}: {' '.join(seen)}")
        metadata = il.MessageMetadata(
            response_id=f"msg_{len(self.requests)}",
            response_model=request.model,
            stop_reason=il.StopReason.END_TURN,
            usage=il.Usage(input_tokens=100, output_tokens=20),
        )
        yield from il.unfold(il.Response(il.Message.assistant([text], metadata)))


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Summarizer]:
    with Summarizer() as provider:
        provider.configure(tmp_path)
        yield provider


def openai_client(here: Served, token: str = "none") -> Any:
    return openai.AsyncOpenAI(base_url=f"{here.base}/v1", api_key=token, max_retries=0)


def claude(here: Served, token: str = "none") -> Any:
    return anthropic.AsyncAnthropic(base_url=here.base, api_key=token, max_retries=0)


def said(count: int = 4) -> list[dict[str, Any]]:
    """A conversation with a fact in each message of the user."""
    turns: list[dict[str, Any]] = []
    for fact in FACTS[:count]:
        turns += [
            {"role": "user", "content": f"Remember {fact}. {LONG}"},
            {"role": "assistant", "content": "I will."},
        ]
    return turns


def asks(words: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": words}]


def seen(text: str) -> list[str]:
    return text.partition(": ")[2].split()


@asynchronous
async def test_compact_gives_the_users_messages_and_one_item(
    tmp_path: Path, provider: Summarizer
) -> None:
    async with served(tmp_path) as here, openai_client(here) as ai:
        done = await ai.responses.compact(model=ANTHROPIC, input=said())
        assert done.object == "response.compaction"
        assert [item.type for item in done.output] == ["message"] * 4 + ["compaction"]
        assert done.usage.total_tokens == 120
        output = [item.to_dict(warnings=False) for item in done.output]
        next = await ai.responses.create(model=ANTHROPIC, input=[output[-1], *asks("What now?")])
        assert seen(next.output_text) == FACTS[:4]
        await here.stored()
        _, rows, _ = await here.ask("GET", "/requests")
    actions = [row["action"] for row in rows["requests"]]
    assert sorted(actions) == ["compact", "generate", "summarize"]
    (summary,) = [row for row in rows["requests"] if row["action"] == "summarize"]
    assert summary["usage"]["cost_usd"] is not None


@asynchronous
async def test_a_trigger_is_answered_with_a_compaction_item(
    tmp_path: Path, provider: Summarizer
) -> None:
    items = [*said(), {"type": "compaction_trigger"}]
    async with served(tmp_path) as here, openai_client(here) as ai:
        whole = await ai.responses.create(model=ANTHROPIC, input=items)
        assert [item.type for item in whole.output] == ["compaction"]
        events = [
            event
            async for event in await ai.responses.create(
                model=ANTHROPIC,
                input=items,
                stream=True,
            )
        ]
        assert [event.type for event in events] == [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.compaction.compacting",
            "response.output_item.done",
            "response.completed",
        ]
        assert [event.sequence_number for event in events] == list(range(6))
        item = events[-1].response.output[0].to_dict()
        next = await ai.responses.create(model=ANTHROPIC, input=[item, *asks("What now?")])
        assert seen(next.output_text) == FACTS[:4]
        with pytest.raises(openai.BadRequestError, match="final input item"):
            await ai.responses.create(model=ANTHROPIC, input=[items[-1], *said()])


@pytest.mark.parametrize("stream", [False, True])
@asynchronous
async def test_openai_threshold(tmp_path: Path, provider: Summarizer, stream: bool) -> None:
    management = [{"type": "compaction", "compact_threshold": 200}]
    async with served(tmp_path) as here, openai_client(here) as ai:
        ask = {"model": ANTHROPIC, "context_management": management, "stream": stream}
        history = [*said(), *asks("What now?")]
        response: Any = await ai.responses.create(**ask, input=history)
        if stream:
            events = [event async for event in response]
            assert [event.sequence_number for event in events] == list(range(len(events)))
            assert "response.compaction.compacting" in [event.type for event in events]
            response = events[-1].response
        assert [item.type for item in response.output] == ["compaction", "message"]
        assert seen(response.output_text) == FACTS[:4]
        sent = provider.requests[-1]
        assert LONG not in str(sent)
        output = [item.to_dict() for item in response.output]
        ask = {"model": ANTHROPIC}
        later = [*history, *output, *asks("And now?")]
        next = await ai.responses.create(**ask, input=later)
        assert seen(next.output_text) == FACTS[:4]
        assert LONG not in str(provider.requests[-1])
        assert "What now?" in str(provider.requests[-1])
    assert len(provider.requests) == 3


@pytest.mark.parametrize("stream", [False, True])
@asynchronous
async def test_anthropic_threshold(tmp_path: Path, provider: Summarizer, stream: bool) -> None:
    edit: dict[str, Any] = {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": 200},
        "instructions": "Sum up, and answer with the summary alone.",  # OpenAI takes none itself
    }
    messages = [*said(), *asks("What now?")]
    async with served(tmp_path) as here, claude(here) as ai:
        ask: dict[str, Any] = {"model": OPENAI, "max_tokens": 100, "betas": ["compact-2026-01-12"]}
        ask["context_management"] = {"edits": [edit]}
        if stream:
            async with ai.beta.messages.stream(**ask, messages=messages) as events:
                answer: Any = await events.get_final_message()
        else:
            answer = await ai.beta.messages.create(**ask, messages=messages)
        assert [block.type for block in answer.content] == ["compaction", "text"]
        assert seen(answer.content[0].content) == FACTS[:4]
        assert seen(answer.content[1].text) == FACTS[:4]
        assert [each.type for each in answer.usage.iterations] == ["compaction", "message"]
        content = [block.to_dict() for block in answer.content]
        messages += [{"role": "assistant", "content": content}, *asks("And now?")]
        next = await ai.beta.messages.create(model=OPENAI, max_tokens=100, messages=messages)
        assert seen(next.content[0].text) == FACTS[:4]
        assert LONG not in str(provider.requests[-1])
        assert "What now?" in str(provider.requests[-1])
        edit["pause_after_compaction"] = True
        ask["context_management"] = {"edits": [edit]}
        paused = await ai.beta.messages.create(**ask, messages=[*said(), *asks("Now?")])
        assert paused.stop_reason == "compaction"
        assert [block.type for block in paused.content] == ["compaction"]


class Native(Summarizer):
    """A model whose Responses API compacts every conversation that it may."""

    item: ClassVar = {"id": "cmp_7", "type": "compaction", "encrypted_content": "b3BhcXVl+/="}

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        (end,) = [e for e in super()._events(words, request) if type(e) is MessageComplete]
        if request.options.compaction is not None:
            wire = {"object": "response", "status": "completed", "output": [self.item]}
            own = il.dialect("openai-responses").read_response(wire).message.content
            message = end.response.message
            message = message.replace(content=(*own, *message.content))
            end = MessageComplete(end.response.replace(message=message))
        yield from il.unfold(end.response)


@pytest.mark.parametrize("stream", [False, True])
@asynchronous
async def test_openai_compacts_for_a_client_of_anthropic(tmp_path: Path, stream: bool) -> None:
    edit: Any = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 200}}
    messages: list[Any] = [*said(), *asks("What now?")]
    ask: Any = {"model": OPENAI, "max_tokens": 100}
    with Native() as provider:
        provider.configure(tmp_path)
        async with served(tmp_path) as here, claude(here) as ai:
            both = {**ask, "messages": messages, "context_management": {"edits": [edit]}}
            if stream:
                async with ai.beta.messages.stream(**both) as events:
                    answer: Any = await events.get_final_message()
            else:
                answer = await ai.beta.messages.create(**both)
            sent, summing = provider.requests
            management = [{"type": "compaction", "compact_threshold": 200}]
            assert sent["context_management"] == management
            assert "context_management" not in summing
            assert [block.type for block in answer.content] == ["compaction", "text"]
            assert seen(answer.content[0].content) == FACTS[:4]
            content = [block.to_dict() for block in answer.content]
            messages += [{"role": "assistant", "content": content}, *asks("And now?")]
            await ai.beta.messages.create(**ask, messages=messages)
            back = [e for e in provider.requests[-1]["input"] if e.get("type") == "compaction"]
            assert back == [provider.item]
            raw = await ai.beta.messages.with_raw_response.create(
                model=ANTHROPIC, max_tokens=100, messages=messages
            )
            moved = provider.requests[-1]["messages"]
            assert "encrypted" not in str(moved)
            assert all(fact in str(moved) for fact in FACTS[:4])
            assert int(raw.headers["x-interlingua-losses"]) > 0
            await here.stored()
            _, log, _ = await here.ask("GET", "/requests")
            assert [row["action"] for row in log["requests"]].count("summarize") == 1


@asynchronous
async def test_history_that_openai_encrypted_is_bound_to_its_key(tmp_path: Path) -> None:
    one, other = [key(tmp_path, name, keep_content=True).token for name in ("one", "other")]
    edit: Any = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 200}}
    ask: Any = {"model": OPENAI, "max_tokens": 100}
    with Native() as provider:
        provider.configure(tmp_path)
        async with served(tmp_path) as here, claude(here, one) as ai:
            both = {**ask, "context_management": {"edits": [edit]}}
            answer = await ai.beta.messages.create(**both, messages=[*said(), *asks("What now?")])
            block = answer.content[0].to_dict()
            item = provider.item

            async def code(token: str, at: Served, **changes: Any) -> str:
                messages: Any = [{"role": "assistant", "content": [{**block, **changes}]}]
                asked = {**ask, "messages": [*messages, *asks("And now?")]}
                async with claude(at, token) as client:
                    with pytest.raises(anthropic.BadRequestError) as error:
                        await client.beta.messages.create(**asked)
                return str(error.value.body["error"]["details"]["error_code"])  # type: ignore[index]

            sealed = block["encrypted_content"]
            assert await code(other, here) == "compaction_signature_invalid"
            for place in range(0, len(sealed), len(sealed) // 20):
                flipped = "B" if sealed[place] != "B" else "C"
                changed = sealed[:place] + flipped + sealed[place + 1 :]
                invalid = await code(one, here, encrypted_content=changed)
                assert invalid == "compaction_signature_invalid"
            own = il.CompactionBlock(data=item["encrypted_content"], raw={"openai-responses": item})
            unbound = pack(own, "openai-responses").data
            assert await code(one, here, encrypted_content=unbound) == invalid
            assert await code(one, here, content="Other.") == "compaction_content_mismatch"
        home = tmp_path / "elsewhere"
        home.mkdir()
        provider.configure(home)
        token = key(home).token
        async with served(home) as there:
            assert await code(token, there) == "compaction_signature_invalid"


@asynchronous
async def test_a_provider_is_asked_to_compact_what_was_compacted_here(
    tmp_path: Path, provider: Summarizer
) -> None:
    async with served(tmp_path) as here, openai_client(here) as ai:
        done = await ai.responses.compact(model=ANTHROPIC, input=said())
        trigger = {"type": "compaction_trigger"}
        item = done.output[-1].to_dict()
        await ai.responses.create(model=OPENAI, input=[item, *asks("What now?"), trigger])
        assert provider.requests[-1]["input"][-1] == trigger
        management: Any = [{"type": "compaction", "compact_threshold": 200}]
        await ai.responses.create(model=OPENAI, input=[item], context_management=management)
        assert provider.requests[-1]["context_management"] == management


@pytest.mark.parametrize("stream", [False, True])
@asynchronous
async def test_summarize_gives_one_signed_block(
    tmp_path: Path, provider: Summarizer, stream: bool
) -> None:
    async with served(tmp_path) as here, claude(here) as ai:
        ask: dict[str, Any] = {"model": OPENAI, "max_tokens": 100}
        summarize = {**ask, "compaction": {"type": "summarize"}, "messages": said()}
        if stream:
            async with ai.beta.messages.stream(**summarize) as events:
                answer: Any = await events.get_final_message()
        else:
            answer = await ai.beta.messages.create(**summarize)
        assert answer.stop_reason == "compaction"
        (block,) = [each.to_dict() for each in answer.content]
        assert block["signature"]
        first = {"role": "user", "content": [block]}
        next = await ai.beta.messages.create(**ask, messages=[first, *asks("What now?")])
        assert seen(next.content[0].text) == FACTS[:4]

        async def code(messages: list[Any], **more: Any) -> str:
            with pytest.raises(anthropic.BadRequestError) as error:
                await ai.beta.messages.create(**ask, messages=messages, **more)
            body: Any = error.value.body
            return str(body["error"]["details"]["error_code"])

        changed = {**block, "content": f"{block['content']} More."}
        other = {**block, "signature": block["signature"][:-2] + "AA"}
        later = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [block]}]
        open = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
        unfinished = [*asks("Hi."), {"role": "assistant", "content": [open]}]
        assert await code([{"role": "user", "content": [changed]}]) == "compaction_content_mismatch"
        assert await code([{"role": "user", "content": [other]}]) == "compaction_signature_invalid"
        assert await code([*later, *asks("x")]) == "compaction_block_misplaced"
        assert await code([first, first, *asks("x")]) == "compaction_block_ambiguous"
        now = {"compaction": {"type": "summarize"}}
        assert await code(unfinished, **now) == "compaction_incomplete_turn"
        assert await code([], **now) == "compaction_nothing_to_summarize"


@asynchronous
async def test_nobody_else_can_open_a_compaction(tmp_path: Path, provider: Summarizer) -> None:
    one, other = [key(tmp_path, name, keep_content=True).token for name in ("one", "other")]
    async with served(tmp_path) as here, openai_client(here, one) as ai:
        done = await ai.responses.compact(model=ANTHROPIC, input=said())
        item: dict[str, Any] = done.output[-1].to_dict()
        status, full, _ = await here.ask("GET", f"/compactions/{item['id']}", token=one)
        assert status == 200
        assert full["history"] == said()
        assert seen(full["summary"]) == FACTS[:4]
        status, _, _ = await here.ask("GET", f"/compactions/{item['id']}", token=other)
        assert status == 404
        sealed = item["encrypted_content"]
        places = range(0, len(sealed), max(1, len(sealed) // 40))
        for place in places:
            flipped = "B" if sealed[place] != "B" else "C"
            changed = {**item, "encrypted_content": sealed[:place] + flipped + sealed[place + 1 :]}
            with pytest.raises(openai.BadRequestError) as error:
                await ai.responses.create(model=ANTHROPIC, input=[changed, *asks("x")])
            assert error.value.code == "invalid_encrypted_content"
    async with served(tmp_path) as here, openai_client(here, other) as ai:
        with pytest.raises(openai.BadRequestError) as error:
            await ai.responses.create(model=ANTHROPIC, input=[item, *asks("x")])
        assert error.value.code == "invalid_encrypted_content"


@asynchronous
async def test_a_provider_that_compacts_is_left_alone(tmp_path: Path, provider: Summarizer) -> None:
    management: Any = [{"type": "compaction", "compact_threshold": 200}]
    async with served(tmp_path) as here, openai_client(here) as ai:
        await ai.responses.create(model=OPENAI, input=said(), context_management=management)
        assert provider.requests[-1]["context_management"] == management
        own = await ai.responses.compact(model=OPENAI, input=said())
        assert own.output[0].encrypted_content == "b3BhcXVl"
        assert own.usage.total_tokens == 10
        done = await ai.responses.compact(model=ANTHROPIC, input=said())
        item = done.output[-1].to_dict()
        moved = await ai.responses.create(model=OPENAI, input=[item, *asks("What now?")])
        assert seen(moved.output_text) == FACTS[:4]
        assert "ilc1." not in str(provider.requests[-1])


@asynchronous
async def test_a_stored_response_is_compacted_by_its_id(
    tmp_path: Path, provider: Summarizer
) -> None:
    token = key(tmp_path, keep_content=True).token
    async with served(tmp_path) as here, openai_client(here, token) as ai:
        first = await ai.responses.create(model=ANTHROPIC, input=f"Remember {FACTS[0]}.")
        again = {"model": ANTHROPIC, "previous_response_id": first.id}
        done = await ai.responses.compact(**again)
        assert [item.type for item in done.output] == ["message", "compaction"]
        assert FACTS[0] in str(provider.requests[-1])
        trigger = [{"type": "compaction_trigger"}]
        response = await ai.responses.create(**again, input=trigger)
        assert [item.type for item in response.output] == ["compaction"]
        assert response.previous_response_id == first.id
        for output in (done.output[-1], response.output[0]):
            asked = [output.to_dict(), *asks("What now?")]
            next = await ai.responses.create(model=ANTHROPIC, input=asked)
            assert seen(next.output_text) == FACTS[:1]


@asynchronous
async def test_a_conversation_goes_on_from_its_compaction(
    tmp_path: Path, provider: Summarizer
) -> None:
    token = key(tmp_path, keep_content=True).token
    async with served(tmp_path) as here, openai_client(here, token) as ai:
        made = await ai.conversations.create(items=said())
        trigger = [{"type": "compaction_trigger"}]
        response = await ai.responses.create(model=ANTHROPIC, conversation=made.id, input=trigger)
        assert [item.type for item in response.output] == ["compaction"]
        kinds = [item.type async for item in ai.conversations.items.list(made.id, order="asc")]
        assert kinds == [*["message"] * 8, "compaction"]
        for words in ("What now?", "And now?"):
            next = await ai.responses.create(model=ANTHROPIC, conversation=made.id, input=words)
            assert seen(next.output_text) == FACTS[:4]
            assert "I will." not in str(provider.requests[-1])


@asynchronous
async def test_a_vendors_own_block_travels_and_comes_home_unchanged(
    tmp_path: Path, provider: Summarizer
) -> None:
    block = {
        "type": "compaction",
        "content": f"Remember {FACTS[0]}.",
        "encrypted_content": "b3BhcXVl",
        "signature": "c2lnbmVk",
    }
    messages = [{"role": "user", "content": [block]}, *asks("What now?")]
    async with served(tmp_path) as here, claude(here) as ai:
        for model in (ANTHROPIC, OPENAI, ANTHROPIC):
            answer = await ai.beta.messages.create(model=model, max_tokens=50, messages=messages)
            assert seen(answer.content[0].text) == FACTS[:1]
    home, abroad, again = provider.requests
    assert home["messages"] == again["messages"] == messages
    assert "b3BhcXVl" not in str(abroad)


@asynchronous
async def test_a_summary_counts_against_the_caps_of_its_key(
    tmp_path: Path, provider: Summarizer
) -> None:
    token = key(tmp_path, daily_cap_usd=Decimal(5)).token
    poor = key(tmp_path, "poor", daily_cap_usd=Decimal("0.000001")).token
    items = [*said(), {"type": "compaction_trigger"}]
    management = [{"type": "compaction", "compact_threshold": 200}]
    async with served(tmp_path) as here, openai_client(here, token) as ai:
        await ai.responses.create(model=ANTHROPIC, input=items)
        both = {"model": ANTHROPIC, "context_management": management}
        await ai.responses.create(**both, input=[*said(), *asks("What now?")])
        await here.stored()
        _, rows, _ = await here.ask("GET", "/requests", token=token)
        paid = [row["usage"]["cost_usd"] for row in rows["requests"] if row["usage"]]
        assert len(paid) == 3
        async with openai_client(here, poor) as ai:
            with pytest.raises(openai.RateLimitError):
                await ai.responses.create(model=ANTHROPIC, input=items)
    assert len(provider.requests) == 3


@asynchronous
async def test_a_trigger_over_websocket(tmp_path: Path, provider: Summarizer) -> None:
    async with (
        served(tmp_path) as here,
        openai_client(here) as ai,
        ai.responses.connect() as connection,
    ):
        kinds: list[str] = []
        output: list[Any] = []
        for items in ([*said(), {"type": "compaction_trigger"}], asks("What now?")):
            await connection.response.create(
                model=ANTHROPIC, input=[*output, *items], store=False, stream_id="lane"
            )
            async with asyncio.timeout(20):
                while not kinds or kinds[-1] != "response.completed":
                    event = await connection.recv()
                    assert event.stream_id == "lane"
                    kinds.append(event.type)
            output = [item.to_dict() for item in event.response.output]
            last = event.response.output_text
            kinds.append("")
        assert "response.compaction.compacting" in kinds
        assert seen(last) == FACTS[:4]


class Slow(Summarizer):
    """A model that takes its time for a summary, and may fail in the end."""

    fails = False

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        time.sleep(0.5)
        if self.fails:
            self._fail(handler, dialect)
        else:
            super().answer(handler, dialect, wire)


@pytest.mark.parametrize("fails", [False, True])
@asynchronous
async def test_a_stream_that_waits_for_its_summary_is_alive(tmp_path: Path, fails: bool) -> None:
    limits = Limits(first_event=0.1, keep_alive=0.1)
    with Slow() as provider:
        provider.fails = fails
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, limits=limits)) as here:
            items = [*said(), {"type": "compaction_trigger"}]
            body = {"model": ANTHROPIC, "input": items, "stream": True}
            status, text, _ = await here.ask("POST", "/v1/responses", body)
            assert status == 200
            assert text.startswith(": keep-alive")
            assert ("no such luck" in text) is fails
            assert ("response.completed" in text) is not fails


class Small(Summarizer):
    """A model that takes no more than so many characters."""

    most = 9_000

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if wire.get("model") == "gpt-4.1" or len(json.dumps(wire)) <= self.most:
            super().answer(handler, dialect, wire)
            return
        self.requests.append(wire)
        text = "prompt is too long: 300000 tokens > 200000 maximum"
        error = {"type": "invalid_request_error", "message": text}
        body = json.dumps({"type": "error", "error": error}).encode()
        handler.send_response(400)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@pytest.mark.parametrize("stream", [False, True])
@asynchronous
async def test_a_route_compacts_what_is_too_long(tmp_path: Path, stream: bool) -> None:
    history = [*said(8), *said(8), *said(8), *asks("What now?")]
    routes = {
        "plain": RouteSettings(ANTHROPIC),
        "short": RouteSettings(ANTHROPIC, overflow="compact"),
        "large": RouteSettings(ANTHROPIC, overflow=OPENAI),
    }
    with Small() as provider:
        provider.configure(tmp_path)
        settings = settings_in(tmp_path, routes=routes)
        async with served(tmp_path, settings) as here, openai_client(here) as ai:
            with pytest.raises(openai.BadRequestError, match="too long"):
                await ai.responses.create(model="plain", input=history, stream=stream)
            for name in ("short", "large"):
                response = await ai.responses.create(model=name, input=history, stream=stream)
                if stream:
                    response = [event async for event in response][-1].response
                kinds = [item.type for item in response.output]
                assert kinds == (["compaction", "message"] if name == "short" else ["message"])
                assert seen(response.output_text) == FACTS


class Cut(Summarizer):
    """A model of Anthropic whose answers to long conversations are cut, as its window is full."""

    most = 9_000

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if dialect != "anthropic" or len(json.dumps(wire)) <= self.most:
            super().answer(handler, dialect, wire)
            return
        self.requests.append(wire)
        usage = {"input_tokens": 9, "output_tokens": 1}
        end = {"stop_reason": "model_context_window_exceeded", "stop_sequence": None}
        message = {"id": "msg_c", "type": "message", "role": "assistant", "model": wire["model"]}
        message |= {"content": [{"type": "text", "text": "Cut: "}], "usage": usage, **end}
        body, kind = json.dumps(message).encode(), "application/json"
        if wire.get("stream"):
            start = {**message, "content": [], "stop_reason": None}
            frames = [
                {"type": "message_start", "message": start},
                {"type": "message_delta", "delta": end, "usage": usage},
                {"type": "message_stop"},
            ]
            lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in frames]
            body, kind = "".join(lines).encode(), "text/event-stream"
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


async def text_by(front: str, here: Served, model: str, history: list[Any], stream: bool) -> str:
    """What a client of an API hears, by its SDK."""
    async with openai_client(here) as ai, claude(here) as anthropic_ai:
        if front == "responses":
            answer = await ai.responses.create(model=model, input=history, stream=stream)
            whole = [event async for event in answer][-1].response if stream else answer
            return str(whole.output_text)
        if front == "chat":
            answer = await ai.chat.completions.create(model=model, messages=history, stream=stream)
            if not stream:
                return str(answer.choices[0].message.content)
            parts = [choice.delta.content or "" async for c in answer for choice in c.choices]
            return "".join(parts)
        ask: Any = {"model": model, "max_tokens": 100, "messages": history}
        if stream:
            async with anthropic_ai.beta.messages.stream(**ask) as events:
                message: Any = await events.get_final_message()
        else:
            message = await anthropic_ai.beta.messages.create(**ask)
        return "".join([block.text for block in message.content if block.type == "text"])


@pytest.mark.parametrize("kind", [Small, Cut])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("front", ["responses", "messages", "chat"])
@asynchronous
async def test_what_fills_the_window_is_compacted_or_moved(
    tmp_path: Path, front: str, stream: bool, kind: type[Summarizer]
) -> None:
    history = [*said(8), *said(8), *said(8), *asks("What now?")]
    if front != "messages":
        history = [{"role": "system", "content": "Be brief."}, *history]
    routes = {
        "plain": RouteSettings(ANTHROPIC),
        "short": RouteSettings(ANTHROPIC, overflow="compact"),
        "large": RouteSettings(ANTHROPIC, overflow=OPENAI),
    }
    with kind() as provider:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as here:
            if kind is Cut:
                assert seen(await text_by(front, here, "plain", history, stream)) == []
            for name in ("short", "large"):
                assert seen(await text_by(front, here, name, history, stream)) == FACTS
                assert (LONG in str(provider.requests[-1])) is (name == "large")
                assert ("Be brief." in str(provider.requests[-1])) is (front != "messages")


@pytest.mark.parametrize("stream", [False, True])
@asynchronous
async def test_an_answer_that_is_cut_and_replaced_is_paid_for(tmp_path: Path, stream: bool) -> None:
    history = [*said(8), *said(8), *said(8), *asks("What now?")]
    routes = {
        "short": RouteSettings(ANTHROPIC, overflow="compact"),
        "large": RouteSettings(ANTHROPIC, overflow=OPENAI),
    }
    new = key(tmp_path, daily_cap_usd=Decimal(5), read_requests=True)
    with Cut() as provider:
        provider.configure(tmp_path)
        settings = settings_in(tmp_path, routes=routes)
        async with served(tmp_path, settings) as here, claude(here, new.token) as ai:
            for name, expected in (("short", ANTHROPIC), ("large", OPENAI)):
                ask: Any = {"model": name, "max_tokens": 100, "messages": history}
                if stream:
                    async with ai.beta.messages.stream(**ask) as events:
                        await events.get_final_message()
                else:
                    await ai.beta.messages.create(**ask)
                await here.stored()
                _, log, _ = await here.ask("GET", "/requests", token=new.token)
                cut, last = [each for each in log["requests"] if each["action"] != "summarize"][:2]
                assert [last["action"], cut["action"]] == ["generate", "replaced"]
                assert [last["model"], cut["model"]] == [expected, ANTHROPIC]
                assert cut["usage"]["input_tokens"] == 9
                assert last["usage"]["input_tokens"] == 100
                assert cut["status"] == last["status"] == 200
                for row in (last, cut):
                    assert Decimal(row["usage"]["cost_usd"]) > 0
            await here.stored()
            _, log, _ = await here.ask("GET", "/requests", token=new.token)
            spent = sum(Decimal(each["usage"]["cost_usd"]) for each in log["requests"])
            _, keys, _ = await here.ask("GET", "/keys", token=new.token)
            assert [Decimal(cap["spent_usd"]) for cap in keys["keys"][0]["caps"]] == [spent]


@asynchronous
async def test_an_answer_that_is_cut_is_better_than_none(tmp_path: Path) -> None:
    history = [*said(8), *said(8), *said(8), *asks("What now?")]
    routes = {
        "short": RouteSettings(ANTHROPIC, overflow="compact"),
        "large": RouteSettings(ANTHROPIC, overflow="anthropic:claude-opus-4-6"),
    }
    with Cut() as provider:
        provider.most = 0
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as here:
            for name in routes:
                assert await text_by("messages", here, name, history, False) == "Cut: "


@asynchronous
async def test_what_the_gateway_did_is_in_the_report(tmp_path: Path, provider: Summarizer) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    turn = {"role": "assistant", "content": [thinking, {"type": "text", "text": "Hello."}]}
    history = [*said(), *asks("Hi."), turn, *asks("Again."), turn, *asks("What now?")]
    compact: Any = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 200}}
    compact["instructions"] = "Sum up, and answer with the summary alone."
    clear = {"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}
    edits = [clear, {"type": "clear_dreams_20270101"}, compact]
    async with served(tmp_path) as here, claude(here) as ai:
        raw = await ai.beta.messages.with_raw_response.create(
            model=OPENAI,
            max_tokens=100,
            messages=history,
            context_management={"edits": edits},
        )
        await here.stored()
        _, report, _ = await here.ask("GET", f"/losses/{raw.headers['x-request-id']}")
    assert "context_edit_unknown" in [each["code"] for each in report["losses"]]
    notes = {each["code"]: each["reason"] for each in report["notes"]}
    replaced = raw.headers["x-interlingua-compacted"]
    assert f"a summary replaced {replaced} of them" in notes["context_compacted"]
    assert "1 turns of thinking" in notes["context_cleared"]


@asynchronous
async def test_old_results_and_thinking_are_cleared(tmp_path: Path, provider: Summarizer) -> None:
    messages: list[dict[str, Any]] = []
    for number in range(6):
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {"n": number}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": LONG}
        messages += [
            {"role": "user", "content": [{"type": "text", "text": f"Look {number}."}]},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [{"type": "text", "text": "Seen."}]},
        ]
    edit = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "tool_uses", "value": 3},
        "keep": {"type": "tool_uses", "value": 2},
    }
    tool = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
    async with served(tmp_path) as here, claude(here) as ai:
        answer = await ai.beta.messages.create(
            model=OPENAI,
            max_tokens=100,
            messages=[*messages, *asks("Now?")],
            tools=[tool],
            context_management={"edits": [edit]},
        )
        assert str(provider.requests[-1]).count(LONG) == 2
        assert answer.context_management is not None
        (applied,) = answer.context_management.applied_edits
        assert applied.to_dict()["cleared_tool_uses"] == 4


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        (None, 1),
        ({"type": "thinking_turns", "value": 1}, 1),
        ({"type": "thinking_turns", "value": 3}, 3),
        ({"type": "thinking_turns", "value": 9}, 4),
        ({"type": "all"}, 4),
        ("all", 4),
    ],
)
@asynchronous
async def test_thinking_of_earlier_turns_is_cleared(
    tmp_path: Path, provider: Summarizer, keep: Any, left: int
) -> None:
    messages: list[Any] = []
    for number in range(4):
        thinking = {"type": "thinking", "thinking": f"Hm {number}. {LONG}", "signature": "c2ln"}
        text = {"type": "text", "text": f"Answer {number}."}
        messages += [*asks(f"Ask {number}."), {"role": "assistant", "content": [thinking, text]}]
    edit: dict[str, Any] = {"type": "clear_thinking_20251015"}
    edit |= {} if keep is None else {"keep": keep}
    async with served(tmp_path) as here, claude(here) as ai:
        answer = await ai.beta.messages.create(
            model=OPENAI,
            max_tokens=100,
            messages=[*messages, *asks("Now?")],
            context_management={"edits": [edit]},
        )
        sent = str(provider.requests[-1])
    assert all(f"Answer {number}." in sent for number in range(4))
    assert answer.context_management is not None
    applied = [each.to_dict() for each in answer.context_management.applied_edits]
    assert [each["cleared_thinking_turns"] for each in applied] == ([4 - left] if left < 4 else [])
    assert all(each["cleared_input_tokens"] >= (4 - left) * len(LONG) // 4 for each in applied)


@asynchronous
async def test_another_store_refuses_a_compaction(tmp_path: Path, provider: Summarizer) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for home in (one, other):
        provider.configure(home)
    async with served(one) as here, openai_client(here) as ai, claude(here) as anthropic_ai:
        done = await ai.responses.compact(model=ANTHROPIC, input=said())
        item: Any = done.output[-1].to_dict()
        summed = await anthropic_ai.beta.messages.create(
            model=OPENAI, max_tokens=100, messages=said(), compaction={"type": "summarize"}
        )
        block = summed.content[0].to_dict()
    count = len(provider.requests)
    async with served(other) as here, openai_client(here) as ai, claude(here) as anthropic_ai:
        with pytest.raises(openai.BadRequestError) as refused:
            await ai.responses.create(model=ANTHROPIC, input=[item, *asks("What now?")])
        assert refused.value.code == "invalid_encrypted_content"
        first = {"role": "user", "content": [block]}
        with pytest.raises(anthropic.BadRequestError, match="another key or store") as error:
            await anthropic_ai.beta.messages.create(
                model=OPENAI, max_tokens=100, messages=[first, *asks("What now?")]
            )
        body: Any = error.value.body
        assert body["error"]["details"]["error_code"] == "compaction_signature_invalid"
    assert len(provider.requests) == count
    async with served(one) as here, openai_client(here) as ai:
        again = await ai.responses.create(model=ANTHROPIC, input=[item, *asks("What now?")])
        assert seen(again.output_text) == FACTS[:4]
