"""Streams that end too early, providers that repeat our key, and answers that a crash must not make
forgotten."""

from __future__ import annotations

import asyncio
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.idempotency.keys import IdempotencyKeys
from interlingua.gateway.idempotency.replies import is_whole_stream
from interlingua.gateway.keys import key_admin
from interlingua.gateway.keys.caps import Caps
from interlingua.gateway.keys.keys import Keys
from interlingua.gateway.relay.passthrough import TextCounter
from interlingua.gateway.shared.fronts import front_of
from interlingua.model.exchange import ErrorKind
from interlingua.model.metadata import StopReason
from interlingua.store.open import open_async_store, open_store
from tests.gateway.faults.cuts import (
    BACKS,
    FRONTS,
    Case,
    Cut,
    Sweep,
    body_of,
    has_error,
    stream_of,
    sweep,
)
from tests.gateway.faults.deaths import death
from tests.gateway.loops import post
from tests.gateway.sdks.clients import CLIENTS
from tests.gateway.sdks.provider import Upstream, settings, targets
from tests.gateway.sdks.standing import standing
from tests.replay import faults
from tests.store.places import ask

KEY = "k-of-the-provider-0123456789"


def test_an_answer_is_whole_for_the_client_where_the_provider_said_so() -> None:
    _, wrong = asyncio.run(sweep(400, 7))
    assert wrong == []


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("how", ["end", "break"])
def test_what_happens_after_the_end_is_nobodys_business(front: str, how: str) -> None:
    """Also where the connection is not ended in good order, but for Gemini: its answers may go on
    after they gave a reason, and only the end of the connection tells."""

    async def work() -> None:
        here = Sweep()
        whole = len(here.streams[front])
        assert await here.wrong(Case(front, front, whole, how)) is None
        assert here.noted.last is not None
        is_cut = (front, how) == ("gemini", "break")
        error = ErrorKind.NETWORK if is_cut else None
        assert (here.noted.last.outcome.status, here.noted.last.outcome.error) == (200, error)

    asyncio.run(work())


@pytest.mark.parametrize("front", ["gemini", "anthropic", "ollama"])
@pytest.mark.parametrize(("rest", "how"), [(0, "break"), (40, "end"), (40, "break")])
def test_a_gemini_stream_that_went_on_after_a_reason_is_not_whole(
    front: str, rest: int, how: str
) -> None:
    """Gemini gives a reason before the last piece, now and then."""

    async def work() -> None:
        here = Sweep()
        frames = [
            {"candidates": [{"content": {"parts": [{"text": each}]}, "finishReason": "STOP"}]}
            for each in ("Grüße, ", "世界")
        ]
        first, second = [f"data: {json.dumps(frame)}\r\n\r\n".encode() for frame in frames]
        here.provider.next = Cut(first + second[:rest], how)
        path = FRONTS[front]
        _, reply = await post(here.app, path, body_of(front, "gemini"))
        assert has_error(front, reply)
        assert not is_whole_stream(front, reply)
        here.provider.next = Cut(first + second, "end")
        _, reply = await post(here.app, path, body_of(front, "gemini"))
        assert is_whole_stream(front, reply)

    asyncio.run(work())


@pytest.mark.parametrize("front", FRONTS)
def test_an_empty_answer_is_an_error(front: str) -> None:
    async def work() -> None:
        here = Sweep()
        here.provider.next = Cut(b"", "end")
        path = FRONTS[front].replace("back-gemini", f"back-{front}")
        status, reply = await post(here.app, path, body_of(front, front))
        assert status == 502
        assert b"ended before the message was complete" in reply

    asyncio.run(work())


@pytest.mark.parametrize("front", CLIENTS)
def test_an_sdk_raises_for_a_stream_that_ends_in_good_order_and_too_early(
    tmp_path: Path, front: str
) -> None:
    with (
        Upstream() as upstream,
        standing(settings(store=str(tmp_path / "g.db")), targets(upstream.url)) as here,
    ):
        for fault in (faults.cut(-450, "end"), faults.cut(-450, "fin")):
            client = CLIENTS[front](here.url, f"back-{front}")
            client.say("Hello")
            upstream.stage(fault)
            with pytest.raises((client.Broken, client.Server)):
                client.hear(stream=True)
            client.close()


def test_done_alone_is_no_answer() -> None:
    async def work() -> None:
        here = Sweep()
        here.provider.next = Cut(b"data: [DONE]\n\n", "end")
        status, _ = await post(
            here.app, FRONTS["openai-chat"], body_of("openai-chat", "openai-chat")
        )
        assert status == 502

    asyncio.run(work())


@pytest.mark.parametrize(
    "last", [b"[DONE]", b'{"error":{"message":"it is down","type":"server_error"}}']
)
def test_signs_of_life_are_no_answer_either(last: bytes) -> None:
    async def work() -> None:
        here = Sweep()
        here.provider.next = Cut(b": working\n\n" * 20 + b"data: " + last + b"\n\n", "end")
        body = body_of("openai-chat", "openai-chat")
        status, reply = await post(here.app, FRONTS["openai-chat"], body)
        assert status == 200, "it has begun"
        assert has_error("openai-chat", reply)
        assert b"[DONE]" not in reply
        assert here.noted.last is not None
        assert here.noted.last.outcome.error is not None

    asyncio.run(work())


WITHOUT_REASON = {
    "openai-chat": b"[DONE]",
    "openai-responses": b'"type":"response.incomplete"',
    "anthropic": b'"stop_reason":"max_tokens"',
    "gemini": b'"finishReason":"OTHER"',
    "ollama": b'"done_reason":"length"',
}


@pytest.mark.parametrize("front", FRONTS)
def test_done_without_a_reason_is_no_finished_answer(front: str) -> None:
    async def work() -> None:
        here = Sweep()
        delta = {"index": 0, "delta": {"role": "assistant", "content": "half a"}}
        wire = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [delta]}
        data = f"data: {json.dumps(wire)}\n\ndata: [DONE]\n\n".encode()
        here.provider.next = Cut(data, "end")
        path = FRONTS[front].replace("back-gemini", "back-openai-chat")
        status, reply = await post(here.app, path, body_of(front, "openai-chat"))
        assert status == 200, reply
        assert WITHOUT_REASON[front] in reply
        for word in (b"response.completed", b'"STOP"', b'"end_turn"', b'"stop"'):
            assert word not in reply
        assert here.noted.last is not None
        assert here.noted.last.outcome.stop_reason is StopReason.OTHER

    asyncio.run(work())


def test_the_end_may_be_known_by_its_frame_s_name_only() -> None:
    end = front_of("anthropic").ending(1)
    end.look("{}", "message_stop")
    assert end.is_last


def test_words_that_look_like_an_end_are_none() -> None:
    for dialect, data in {
        "ollama": {"message": {"tool_calls": [{"function": {"arguments": {"done": True}}}]}},
        "gemini": {
            "candidates": [
                {"content": {"parts": [{"functionCall": {"args": {"finishReason": "x"}}}]}}
            ]
        },
        "openai-chat": {"choices": [{"delta": {"content": '"finish_reason":"stop"'}}]},
        "anthropic": {"type": "content_block_delta", "delta": {"text": "message_stop"}},
    }.items():
        end = front_of(dialect).ending(1)
        end.look(json.dumps(data))
        assert not end.is_reached, dialect
    two = front_of("openai-chat").ending(2)
    two.look('{"choices":[{"index":1,"finish_reason":"stop"}]}')
    assert not two.is_reached
    two.look('{"choices":[{"index":0,"finish_reason":"stop"}]}')
    assert two.is_reached
    assert not two.is_last


def test_what_was_said_is_counted_by_its_text() -> None:
    for dialect in BACKS:
        hearing = TextCounter(dialect)
        hearing.add(stream_of(dialect))
        count = hearing.count()
        assert 20 <= count <= 80, (dialect, count)


class Telltale(Cut):
    """Says our key in its headers, and in an error in the middle of its stream."""

    def __init__(self, dialect: str) -> None:
        data = stream_of(dialect)
        frames = data.split(b"\n" if dialect == "ollama" else b"\n\n")
        end = b"\n" if dialect == "ollama" else b"\n\n"
        error: Any = {"type": "server_error", "message": f"no {KEY} here", "code": "x"}
        wire: Any = {"type": "error", "error": error}
        if dialect == "openai-responses":
            wire |= {"message": f"no {KEY} here", "code": "x", "sequence_number": 3}
        if dialect == "ollama":
            wire = {"error": f"no {KEY} here"}
        if dialect == "gemini":
            wire = {"error": {"code": 500, "message": f"no {KEY} here", "status": "INTERNAL"}}
        line = json.dumps(wire).encode()
        named = b"event: error\n" if dialect in ("anthropic", "openai-responses") else b""
        bad = line if dialect == "ollama" else named + b"data: " + line
        super().__init__(end.join([*frames[:2], bad]) + end, "end")
        self.headers |= {
            "x-request-id": f"of {KEY}",
            "retry-after": KEY,
            "x-ratelimit-remaining-tokens": KEY,
            "openai-processing-ms": KEY,
        }


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("back", BACKS)
def test_a_key_that_the_provider_repeats_stays_here(front: str, back: str) -> None:
    async def work() -> None:
        here = Sweep(KEY)
        here.provider.next = Telltale(back)
        path = FRONTS[front].replace("back-gemini", f"back-{back}")
        result = await _told(here.app, path, body_of(front, back))
        assert KEY not in str(result)
        assert "[secret]" in str(result), "the rest of it is told"

    asyncio.run(work())


async def _told(app: Any, path: str, body: Any, headers: Any = (), watch: Any = None) -> list[Any]:
    """Everything that a client is sent; `watch` is asked before each of it."""
    collected: list[Any] = []
    sent = [{"type": "http.request", "body": json.dumps(body).encode()}]

    async def receive() -> Any:
        if not sent:
            await asyncio.Event().wait()
        return sent.pop(0)

    async def send(message: Any) -> None:
        if watch is not None:
            await watch(message)
        collected.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": list(headers),
    }
    await app(scope, receive, send)
    return collected


@pytest.mark.parametrize("front", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_an_answer_is_stored_before_its_end_is_sent(address: str, front: str, stream: bool) -> None:
    with open_store(address) as books:
        terms = key_admin.Terms(daily_cap_usd=Decimal(5))
        token = key_admin.issue(books, "k", "/w", terms).token

    async def work() -> None:
        async with await open_async_store(address) as store:
            here = Sweep()
            gateway = here.app.gateway
            gateway.keys, gateway.caps = Keys(store), Caps(store)
            gateway.idempotency = IdempotencyKeys(store)
            here.provider.next = _answer(stream)
            seen: list[Any] = []

            async def watch(message: Any) -> None:
                reply = message.get("body", b"")
                ends = b"message_stop" in reply or b"[DONE]" in reply
                if ends or (not stream and reply):
                    with open_store(address) as books:
                        seen.append(ask(books, "SELECT status FROM ledger"))
                        seen.append(ask(books, "SELECT status FROM repeats"))

            wire = {**body_of(front, "anthropic"), "stream": stream, "max_tokens": 50}
            headers = [(b"authorization", f"Bearer {token}".encode()), (b"idempotency-key", b"a")]
            result = await _told(here.app, FRONTS[front], wire, headers, watch)
            assert result[0]["status"] == 200, result
            assert seen == [[("settled",)], [("done",)]]
            await gateway.close()

    asyncio.run(work())


def _answer(stream: bool) -> Any:
    if stream:
        return Cut(stream_of("anthropic"), "end")
    text = {"type": "text", "text": "hi"}
    usage = {"input_tokens": 5, "output_tokens": 5}
    wire = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [text]}
    whole = {**wire, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    return Whole(json.dumps(whole).encode())


class Whole(Cut):
    def __init__(self, data: bytes) -> None:
        super().__init__(data, "end")
        self.headers = {"content-type": "application/json"}
        self.data = data

    async def body(self, limit: int) -> bytes:
        return self.data


def test_a_gateway_that_is_killed_forgets_no_answer_that_was_given(tmp_path: Path) -> None:
    count, lost = asyncio.run(death(tmp_path, random.Random(3)))
    assert count >= 5
    assert lost == []
