"""A cap holds however a request is spelled, and whatever it makes a provider do by itself."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway.shared.fronts import fronts
from interlingua.gateway.shared.sizes import unbounded
from tests.gateway.faults.spellings import run
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, asked, key, served

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
GEMINI = "/v1beta/models/gemini-3-pro-preview:generateContent"
HI = b'"messages":[{"role":"user","content":"hi"}]'
_CONTENTS = b'"contents":[{"role":"user","parts":[{"text":"hi"}]}]'


def _anthropic(more: bytes, content: bytes = b'"hi"') -> bytes:
    model = ANTHROPIC.encode()
    turn = b'"messages":[{"role":"user","content":%b}]' % content
    return b'{"model":"%b",%b,%b}' % (model, turn, more)


def _response(more: bytes, said: bytes = b'"hi"') -> bytes:
    return b'{"model":"%b","input":%b,"max_output_tokens":9,%b}' % (OPENAI.encode(), said, more)


def _chat(more: bytes) -> bytes:
    return b'{"model":"%b",%b,%b}' % (OPENAI.encode(), HI, more)


def _gemini(more: bytes) -> bytes:
    return b"{%b,%b}" % (_CONTENTS, more)


FEW = b'"max_tokens":9'
URL = b'{"type":"url","url":"https://papers.example/a.pdf"}'
ESCAPED = {
    "document": (MESSAGES, _anthropic(FEW, b'[{"type":"docum\\u0065nt","source":%b}]' % URL)),
    "input_file": (
        RESPONSES,
        _response(
            b'"x":1',
            b'[{"role":"user","content":[{"type":"inp\\u0075t_file",'
            b'"f\\u0069le_url":"https://papers.example/a.pdf"}]}]',
        ),
    ),
    "conversation": (RESPONSES, _response(b'"conv\\u0065rsation":"conv_1"')),
    "previous": (RESPONSES, _response(b'"previous_r\\u0065sponse_id":"resp_1"')),
    "fileData": (
        GEMINI,
        b'{"contents":[{"role":"user","parts":[{"f\\u0069leData":{"fileUri":"https://papers.example'
        b'/a.pdf","mimeType":"application/pdf"}}]}],"generationConfig":{"maxOutputTokens":9}}',
    ),
}
FORMS = {
    "a float": (MESSAGES, _anthropic(b'"max_tokens":64000.0')),
    "an exponent": (MESSAGES, _anthropic(b'"max_tokens":6.4e4')),
    "a text": (MESSAGES, _anthropic(b'"max_tokens":"64000"')),
    "escaped": (MESSAGES, _anthropic(b'"max_tok\\u0065ns":64000')),
    "said twice": (MESSAGES, _anthropic(b'"max_tokens":64000,"max_tokens":64001')),
    "eight answers": (CHAT, _chat(b'"max_tokens":1000,"n":8.0')),
    "the other limit": (CHAT, _chat(b'"max_completion_tokens":9,"max_tokens":60000')),
    "both configurations": (
        GEMINI,
        _gemini(
            b'"generationConfig":{"maxOutputTokens":50},'
            b'"generation_config":{"max_output_tokens":60000}'
        ),
    ),
    "both spellings": (
        GEMINI,
        _gemini(b'"generationConfig":{"maxOutputTokens":50,"max_output_tokens":60000}'),
    ),
    "the other spelling": (
        GEMINI,
        _gemini(b'"generation_config":{"max_output_tokens":50,"maxOutputTokens":60000}'),
    ),
}
BY_ITSELF = {
    "cached": (
        GEMINI,
        _gemini(b'"cachedContent":"cachedContents/1","generationConfig":{"maxOutputTokens":9}'),
    ),
    "addresses": (
        GEMINI,
        _gemini(b'"tools":[{"urlContext":{}}],"generationConfig":{"maxOutputTokens":9}'),
    ),
    "fetches": (
        MESSAGES,
        _anthropic(FEW + b',"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]'),
    ),
    "searches": (
        MESSAGES,
        _anthropic(FEW + b',"tools":[{"type":"web_search_20250305","name":"web_search"}]'),
    ),
    "servers": (
        MESSAGES,
        _anthropic(FEW + b',"mcp_servers":[{"type":"url","url":"https://m.example","name":"m"}]'),
    ),
    "searches of a response": (RESPONSES, _response(b'"tools":[{"type":"web_search"}]')),
    "files": (
        RESPONSES,
        _response(b'"tools":[{"type":"file_search","vector_store_ids":["vs_1"]}]'),
    ),
    "priority": (CHAT, _chat(b'"max_tokens":9,"service_tier":"priority"')),
    "a dearer speed": (MESSAGES, _anthropic(FEW + b',"speed":"fast"')),
    "background": (RESPONSES, _response(b'"background":true')),
    "searches of chat": (CHAT, _chat(b'"max_tokens":9,"web_search_options":{}')),
}


async def _post(gateway: Any, path: str, body: bytes, token: str) -> tuple[int, str]:
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    async with gateway.http.post(gateway.base + path, data=body, headers=headers) as reply:
        return reply.status, (await reply.read()).decode()


def _try(tmp_path: Path, path: str, body: bytes, **terms: Any) -> tuple[int, str, int]:
    """Status, body and how often the provider was asked."""

    async def work(provider: Upstream) -> tuple[int, str, int]:
        provider.configure(tmp_path)
        with (tmp_path / "providers.toml").open("a") as file:
            file.write(
                f'[providers.gemini]\nbase_url = "{provider.url}/v1beta"\nkey = "k-gemini"\n'
            )
        token = key(tmp_path, **terms).token
        async with served(tmp_path) as gateway:
            status, result = await _post(gateway, path, body, token)
            return status, result, len(provider.requests)

    with Upstream() as provider:
        return asyncio.run(work(provider))


@pytest.mark.parametrize("case", [*ESCAPED, *FORMS, *BY_ITSELF])
def test_no_spelling_passes_a_cap(tmp_path: Path, case: str) -> None:
    path, body = {**ESCAPED, **FORMS, **BY_ITSELF}[case]
    status, result, count = _try(tmp_path, path, body, daily_cap_usd=Decimal("0.05"))
    assert status in (400, 403, 429), result
    assert count == 0, result
    if case in BY_ITSELF or case in ESCAPED:
        assert (status, "has no bound" in result) == (403, True), result


@pytest.mark.parametrize("limit", [b"null", b"-1"])
def test_what_is_no_limit_is_replaced_by_one_that_the_cap_pays_for(
    tmp_path: Path, limit: bytes
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, daily_cap_usd=Decimal("0.05")).token
        async with served(tmp_path) as gateway:
            body = _anthropic(b'"max_tokens":' + limit)
            status, result = await _post(gateway, MESSAGES, body, token)
            assert status == 200, result
            assert 256 <= provider.requests[0]["max_tokens"] <= 0.05 / 15e-6, "15 dollars a million"

    with Upstream() as provider:
        asyncio.run(work(provider))


@pytest.mark.parametrize("case", ["fetches", "document", "background", "priority"])
def test_an_owner_may_allow_what_nobody_can_limit(tmp_path: Path, case: str) -> None:
    path, body = {**ESCAPED, **BY_ITSELF}[case]
    terms = {"daily_cap_usd": Decimal(50), "allow_unbounded": True}
    status, result, count = _try(tmp_path, path, body, **terms)
    assert (status, count) == (200, 1), result


@pytest.mark.parametrize("case", ["fetches", "document", "a float", "background"])
def test_keys_without_caps_ask_for_what_they_like(tmp_path: Path, case: str) -> None:
    path, body = {**ESCAPED, **FORMS, **BY_ITSELF}[case]
    status, result, count = _try(tmp_path, path, body)
    assert (status, count) == (200, 1), result


def test_what_is_said_twice_is_sent_once(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, daily_cap_usd=Decimal(5)).token
        body = _anthropic(b'"max_tokens":64000,"max_tok\\u0065ns":9,"metadata":{"user_id":"a"}')
        async with served(tmp_path) as gateway:
            status, result = await _post(gateway, MESSAGES, body, token)
            assert status == 200, result
            assert provider.requests[0]["max_tokens"] == 9

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_tokens_of_a_minute_hold_without_a_limit_of_the_request(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, tokens_per_minute=5000).token
        async with served(tmp_path) as gateway:
            ask = [gateway.ask("POST", CHAT, asked("hi"), token) for _ in range(8)]
            statuses = [status for status, _, _ in await asyncio.gather(*ask)]
            assert set(statuses) == {200, 429}, "one is shortened to what is left of the minute"
            sent = [request["max_tokens"] for request in provider.requests]
            assert len(sent) == statuses.count(200)
            assert max(sent) < 5000
            few = asked("hi", max_tokens=1000)
            ask = [gateway.ask("POST", CHAT, few, token) for _ in range(16)]
            passed = [status for status, _, _ in await asyncio.gather(*ask)].count(200)
            assert 1 <= passed <= 16
            assert len(provider.requests) == len(sent) + passed

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_counting_is_a_request_like_others(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, requests_per_minute=5).token
        async with served(tmp_path) as gateway:
            fields = {"model": ANTHROPIC, "messages": [{"role": "user", "content": "hi"}]}
            path = f"{MESSAGES}/count_tokens"
            ask = [gateway.ask("POST", path, fields, token) for _ in range(20)]
            collected = [status for status, _, _ in await asyncio.gather(*ask)]
            assert collected.count(200) <= 10, "five, or ten where a minute ended"
            assert set(collected) == {200, 429}
            assert len(provider.requests) == collected.count(200)

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_counting_costs_nothing(tmp_path: Path) -> None:
    content = _anthropic(b'"system":"x"')
    terms = {"daily_cap_usd": Decimal(0), "concurrent": 2}
    status, result, count = _try(tmp_path, f"{MESSAGES}/count_tokens", content, **terms)
    assert (status, count) == (200, 1), result


def test_no_way_to_spell_json_passes_a_cap(tmp_path: Path) -> None:
    counts, wrong = asyncio.run(run(tmp_path, 300, 5))
    assert wrong == []
    assert sum(counts.values()) == 300


MEMBER_VALUES: dict[str, Any] = {
    "mcp_servers": [{"type": "url", "url": "https://m.example", "name": "m"}],
    "container": "container_1",
    "speed": "fast",
    "inference_geo": "us",
    "fallbacks": [{"model": "claude-opus-4-8"}],
    "thread": {"type": "continue", "previous_message_id": "msg_1"},
    "compaction": {"type": "summarize"},
    "context_management": {"edits": [{"type": "compact_20260112"}]},
    "web_search_options": {},
    "prediction": {"type": "content", "content": "hi"},
    "audio": {"voice": "alloy", "format": "wav"},
    "plugins": [{"id": "web"}],
    "models": ["a/b"],
    "background": True,
    "cachedContent": "cachedContents/1",
    "cached_content": "cachedContents/1",
    "continuationToken": "t",
    "continuation_token": "t",
    "agent": "deep-research",
    "environment": {"type": "remote"},
    "previous_interaction_id": "v1_a",
    "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"},
    "performanceConfig": {"latency": "optimized"},
    "promptVariables": {"name": {"text": "value"}},
    "connectors": [{"id": "web-search"}],
    "conversation_id": "c",
}
BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "m", "input": "hi"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "gemini-interactions": {"model": "m", "input": "hi"},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
    "cohere": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
}


@pytest.mark.parametrize(
    ("dialect", "name"), [(front.dialect, name) for front in fronts() for name in front.unbounded]
)
def test_every_member_that_may_cost_more_is_found_wherever_its_reader_puts_it(
    dialect: str, name: str
) -> None:
    def found(**more: Any) -> tuple[str, ...]:
        wire = {**BODIES[dialect], **more}
        request = il.dialect(dialect).read_request(wire, "m", False)
        return unbounded(request, dialect, json.dumps(wire).encode())

    value = MEMBER_VALUES[name]
    if dialect == "openai-responses" and name == "context_management":
        value = [{"type": "compaction", "compact_threshold": 1000}]
    assert found(**{name: value}), name
    assert not found()


def test_what_only_makes_a_context_smaller_may_be_asked_for() -> None:
    clears = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
    wire = {**BODIES["anthropic"], "context_management": clears, "speed": "standard"}
    request = il.dialect("anthropic").read_request(wire)
    assert unbounded(request, "anthropic") == ()
