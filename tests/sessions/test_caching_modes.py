"""The mode of prompt caching: of a client, of one call, of a session."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from tests.client.scripted import scripted
from tests.client.test_loop import says

MODEL = "claude-sonnet-4-6"
LONG = "Answer with care, and in one sentence. " * 400
PLAIN = [il.Message.system(LONG), il.Message.user("hi")]
MARKED = [il.Message.system([il.TextBlock(LONG, cache=il.Cache())]), il.Message.user("hi")]
MODES = [
    ("auto", PLAIN, 2),
    ("pass", PLAIN, 0),
    ("off", PLAIN, 0),
    ("auto", MARKED, 1),
    ("pass", MARKED, 1),
    ("off", MARKED, 0),
]


def marks(body: Any) -> int:
    return json.dumps(body).count('"cache_control"')


@pytest.mark.parametrize(("mode", "messages", "expected"), MODES)
def test_a_client_and_a_call_have_a_mode(mode: Any, messages: Any, expected: int) -> None:
    async def work() -> list[Any]:
        async with scripted("anthropic", says(text="a"), says(text="b")) as server:
            where: Any = {"base_urls": {"anthropic": server.url}, "keys": {"anthropic": "k"}}
            async with il.AsyncClient(caching=mode, environ={}, **where) as client:
                await client.generate(MODEL, messages)
            async with il.AsyncClient(caching="pass", environ={}, **where) as client:
                answer = await client.generate(MODEL, messages, caching=mode)
            removed = [e.code for e in answer.report.entries if e.code == "cache_off"]
            assert bool(removed) is (mode == "off" and messages is MARKED)
            return server.asked

    for body in asyncio.run(work()):
        assert marks(body) == expected


@pytest.mark.parametrize(("mode", "messages", "expected"), MODES)
def test_a_session_has_a_mode(tmp_path: Path, mode: Any, messages: Any, expected: int) -> None:
    with il.open_store(tmp_path / "s.db") as store:
        session = il.Session.create(store, model=MODEL, caching=mode)
        session.append(messages[0])
        call = session.begin(messages[1]).call()
        assert marks(call.wire) == expected


def test_a_session_without_our_client_compares_its_requests(tmp_path: Path) -> None:
    def answered(call: Any, text: str) -> il.Message:
        assert call.wire["messages"], "somebody sends it"
        usage = il.Usage(4000, 5, 0, 0)
        message = il.Message.assistant(
            text, il.MessageMetadata(usage=usage, stop_reason="end_turn")
        )
        wire = il.dialect("anthropic").write_response(il.Response(message)).wire
        return call.complete(wire)

    with il.open_store(tmp_path / "s.db") as store:
        session = il.Session.create(store, model=MODEL, system=LONG)
        first = answered(session.begin("hi").call(), "ho")
        session.swap("claude-sonnet-4-5")
        second = answered(session.begin("and?").call(), "well")
    assert first.metadata.cache_diagnosis is None
    found = second.metadata.cache_diagnosis
    assert found is not None
    assert (found.outcome, found.reason, found.source) == ("miss", "model_changed", "comparison")
    assert found.missed_tokens == 4000
