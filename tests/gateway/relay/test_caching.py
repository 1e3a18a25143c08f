"""The prompt cache through a gateway: what is added, and why it was missed."""

from __future__ import annotations

import asyncio
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.framing import encoder
from interlingua.gateway.settings import PoolMember, RouteSettings
from tests.gateway.serving import (
    ANTHROPIC,
    OPENAI,
    Served,
    Upstream,
    key,
    served,
    settings_in,
)
from tests.loopback import reply

LONG = "Answer with care, and in one sentence. " * 300
MODEL = "anthropic:claude-sonnet-4-6"


class Caching(Upstream):
    """Answers with tokens as a cache would count them: all of them new."""

    broken: frozenset[str] = frozenset()
    diagnosis: il.CacheDiagnosis | None = None
    """What the vendor itself says in a stream, where it is asked."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if handler.headers.get("x-api-key") in self.broken:
            handler.send_response(500)
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        self.requests.append(wire)
        usage = il.Usage(4000, 5, 0, 0)
        metadata = il.MessageMetadata(
            response_id="msg_1", response_model="m", usage=usage, stop_reason=il.StopReason.END_TURN
        )
        message = il.Message(il.Role.ASSISTANT, (il.TextBlock("Yes."),), metadata=metadata)
        if not wire.get("stream"):
            reply(handler, il.dialect(dialect).write_response(il.Response(message)).json())
            return
        if wire.get("diagnostics") and self.diagnosis is not None:
            message = message.replace(metadata=metadata.replace(cache_diagnosis=self.diagnosis))
        writer, encode = il.dialect(dialect).stream_writer(), encoder(dialect)
        frames = [
            frame for event in il.unfold(il.Response(message)) for frame in writer.feed(event)
        ]
        reply(handler, b"".join(map(encode, [*frames, *writer.close()])), "text/event-stream")


def chat(turns: int, system: str = LONG, model: str = MODEL, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for number in range(turns):
        messages += [{"role": "assistant", "content": "Yes."}] if number else []
        messages.append({"role": "user", "content": f"Question {number}"})
    return {"model": model, "messages": messages, "max_tokens": 50, **more}


def marks(wire: Any) -> int:
    return json.dumps(wire).count('"cache_control"')


async def ask(gateway: Served, body: Any, path: str = "/v1/chat/completions", **more: Any) -> Any:
    status, answer, headers = await gateway.ask("POST", path, body, **more)
    assert status == 200, answer
    return answer, headers


@pytest.mark.parametrize("front", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_requests_get_breakpoints_unless_route_key_or_call_say_otherwise(
    tmp_path: Path, front: str
) -> None:
    body = chat(2)
    if front == "/v1/messages":
        body = il.convert(body, "openai-chat", "anthropic", model=MODEL).wire
    elif front == "/v1/responses":
        body = il.convert(body, "openai-chat", "openai-responses").wire
    body["model"] = MODEL

    async def work(provider: Caching) -> None:
        provider.configure(tmp_path)
        routes = {
            "plain": RouteSettings(MODEL, caching="pass"),
            "none": RouteSettings(MODEL, caching="off"),
        }
        settings = settings_in(tmp_path, routes=routes)
        tokens = {mode: key(tmp_path, mode, caching=mode).token for mode in ("auto", "pass")}
        async with served(tmp_path, settings) as gateway:

            async def sent(model: str, mode: str = "auto", **headers: str) -> int:
                wire = {**body, "model": model}
                await ask(gateway, wire, front, token=tokens[mode], headers=headers)
                return marks(provider.requests[-1])

            assert await sent(MODEL) == 3
            assert await sent(MODEL, "pass") == 0
            assert await sent("plain") == 3, "the key's word counts"
            assert await sent("none", "pass") == 0
            assert await sent(MODEL, **{"x-interlingua-caching": "off"}) == 0
            assert await sent(MODEL, "pass", **{"x-interlingua-caching": "auto"}) == 3
            refused = await gateway.ask(
                "POST",
                front,
                body,
                tokens["auto"],
                headers={"x-interlingua-caching": "often"},
            )
            assert refused[0] == 400

    with Caching(0.0) as provider:
        asyncio.run(work(provider))


def test_a_key_is_added_to_openais_own_bodies_and_nothing_else_changes(tmp_path: Path) -> None:
    async def work(provider: Caching) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            body = chat(1, model=OPENAI)
            await ask(gateway, body)
            await ask(gateway, chat(2, model=OPENAI))
            one, two = provider.requests
            assert one["prompt_cache_key"] == two["prompt_cache_key"]
            del one["prompt_cache_key"]
            assert one == {**body, "model": one["model"]}

    with Caching(0.0) as provider:
        asyncio.run(work(provider))


def test_the_answer_the_log_and_the_client_say_why_the_cache_was_missed(tmp_path: Path) -> None:
    async def work(provider: Caching) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            _, first = await ask(gateway, chat(1))
            _, second = await ask(gateway, chat(2, LONG + "Today is Monday."))
            assert "x-interlingua-cache" not in first
            words = second["x-interlingua-cache"]
            assert words.startswith("miss; reason=system_changed; changed=system; since=")
            assert "missed-tokens=4000; cost-usd=0.0108" in words
            body = il.convert(chat(3, "Other. " * 900), "openai-chat", "openai-responses").wire
            body["prompt_cache_options"] = {"comparison_response_id": "msg_1"}
            answer, _ = await ask(gateway, {**body, "model": MODEL}, "/v1/responses")
            found = answer["prompt_cache_diagnostics"]
            assert (found["type"], found["reason"]) == ("cache_miss", "input_changed")
            assert provider.requests[-1]["diagnostics"] == {"previous_message_id": "msg_1"}
            await gateway.stored()
            _, listed, _ = await gateway.ask("GET", "/requests")
            rows = listed["requests"] if "requests" in listed else listed["data"]
            assert rows[1]["cache"]["changed"] == ["system"]
            assert rows[2]["cache"] is None
            assert LONG[:40] not in json.dumps(rows)

    with Caching(0.0) as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize("said", [None, il.CacheDiagnosis("miss", "tools_changed", 77)])
def test_a_stream_says_why_the_cache_was_missed(
    tmp_path: Path, said: il.CacheDiagnosis | None
) -> None:
    def asking(turns: int, system: str) -> dict[str, Any]:
        body = il.convert(chat(turns, system), "openai-chat", "openai-responses").wire
        body["prompt_cache_options"] = {"comparison_response_id": "msg_1"}
        return {**body, "model": MODEL, "stream": True}

    async def work(provider: Caching) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path) as gateway:
            await ask(gateway, asking(1, LONG), "/v1/responses")
            provider.diagnosis = said
            stream, headers = await ask(gateway, asking(2, LONG + "Monday."), "/v1/responses")
            words = headers["x-interlingua-cache"]
            if said is None:
                assert words.startswith("miss; expected; reason=system_changed; changed=system")
                # it will be written again: $3.75 a million in place of $0.30
                assert words.endswith("missed-tokens=4000; cost-usd=0.0138")
            reason = "tools_changed" if said is not None else "input_changed"
            assert f'"reason":"{reason}"' in str(stream).replace(" ", "")
            own = il.convert(chat(3, LONG + "Tuesday."), "openai-chat", "anthropic", model=MODEL)
            passed = {**own.wire, "diagnostics": {"previous_message_id": "msg_1"}, "stream": True}
            await ask(gateway, {**passed, "model": MODEL}, "/v1/messages")
            await gateway.stored()
            _, listed, _ = await gateway.ask("GET", "/requests")
            last, middle = listed["data"][:2] if "data" in listed else listed["requests"][:2]
            assert middle["cache"]["reason"] == (said.reason if said else "system_changed")
            assert last["cache"]["reason"] == (said.reason if said else "system_changed")
            assert last["cache"]["changed"] == ["system"], "ours beside the provider's"

    with Caching(0.0) as provider:
        asyncio.run(work(provider))


def test_a_conversation_stays_with_its_deployment_and_a_move_says_what_it_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POOL_A", "key-a")
    monkeypatch.setenv("POOL_B", "key-b")
    pool = (PoolMember(ANTHROPIC, 1.0, "env:POOL_A"), PoolMember(ANTHROPIC, 1.0, "env:POOL_B"))

    async def work(provider: Caching) -> None:
        provider.configure(tmp_path)
        routes = {"pool": RouteSettings(ANTHROPIC, models=pool)}
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:
            used = set()
            for turns in range(1, 5):
                _, headers = await ask(gateway, chat(turns, model="pool"))
                used.add(provider.headers[-1]["x-api-key"])
                assert "deployment" not in headers.get("x-interlingua-cache", "")
            assert len(used) == 1
            provider.broken = frozenset(used)
            _, headers = await ask(gateway, chat(5, model="pool"))
            words = headers["x-interlingua-cache"]
            assert words.startswith("miss; reason=deployment_changed; changed=deployment")
            assert "cost-usd=" in words

    with Caching(0.0) as provider:
        asyncio.run(work(provider))
