"""Responses that are kept: going on from one, fetching it, deleting it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import openai
import pytest

import interlingua as il
from interlingua.gateway.keys.key_admin import issue
from interlingua.gateway.memory.responses import Responses, keeps
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import Arrival, Principal, Refusal
from interlingua.store.base import AsyncStore
from interlingua.store.open import open_async_store
from tests.gateway.serving import Upstream, key, served

MINE = Principal(key_id="gk_mine", keep_content=True)
OTHER = Principal(key_id="gk_other", keep_content=True)
SHY = Principal(key_id="gk_mine", keep_content=False)


def arrival(principal: Principal = MINE) -> Arrival:
    return Arrival("req_1", "openai-responses", principal)


def request(text: str, previous: str | None = None, **more: Any) -> il.Request:
    wire = {"model": "m", "input": text, "instructions": f"for {text}", **more}
    if previous is not None:
        wire["previous_response_id"] = previous
    return il.dialect("openai-responses").read_request(wire)


def answer(id: str, *content: il.Block) -> il.Response:
    known = il.MessageMetadata(
        response_id=id, response_model="m", usage=il.Usage(input_tokens=3, output_tokens=4)
    )
    return il.Response(il.Message.assistant(content or (il.TextBlock(f"answer {id}"),), known))


def run(path: Path, work: Callable[[Responses, AsyncStore], Awaitable[None]]) -> None:
    async def inside() -> None:
        async with await open_async_store(str(path / "s.db")) as store:
            await work(Responses(store), store)

    asyncio.run(inside())


def test_a_request_goes_on_from_a_chain_of_responses(tmp_path: Path) -> None:
    async def work(responses: Responses, store: AsyncStore) -> None:
        call = il.ToolUseBlock("toolu_1", "add", {"a": 1})
        await responses.keep(request("one"), answer("resp_1"), arrival(), "anthropic")
        await responses.keep(
            request("two", "resp_1"), answer("resp_2", call), arrival(), "anthropic"
        )
        there = Responses(store)  # another process, or this one after a restart
        result = await there.expand(request("three", "resp_2"), arrival())
        assert result.continues is None
        assert [m.text for m in result.messages] == [
            *("for three", "one", "answer resp_1", "two", "", "three"),
        ], "instructions of earlier requests do not hold any more"
        assert result.messages[4].tool_calls == [call]

    run(tmp_path, work)


def test_a_request_that_goes_on_from_nothing_is_left_alone(tmp_path: Path) -> None:
    async def work(responses: Responses, store: AsyncStore) -> None:
        plain = request("one")
        assert await responses.expand(plain, arrival()) is plain

    run(tmp_path, work)


@pytest.mark.parametrize(
    ("principal", "more", "kept"),
    [
        (MINE, {}, True),
        (MINE, {"store": True}, True),
        (MINE, {"store": False}, False),
        (SHY, {"store": True}, False),
    ],
)
def test_content_is_kept_only_where_client_and_key_want_it(
    tmp_path: Path, principal: Principal, more: dict[str, Any], kept: bool
) -> None:
    async def work(responses: Responses, store: AsyncStore) -> None:
        done = await responses.keep(
            request("one", **more), answer("resp_1"), arrival(principal), "anthropic"
        )
        assert done is kept
        assert (await responses.wire("resp_1", principal) is not None) is kept

    run(tmp_path, work)


def test_a_response_is_never_another_tenants_and_is_gone_when_deleted(tmp_path: Path) -> None:
    async def work(responses: Responses, store: AsyncStore) -> None:
        await responses.keep(request("one"), answer("resp_1"), arrival(), "anthropic")
        await responses.keep(request("theirs"), answer("resp_1"), arrival(OTHER), "anthropic")
        assert b"theirs" not in (await responses.wire("resp_1", MINE) or b"")
        result = await responses.expand(request("two", "resp_1"), arrival(OTHER))
        assert [m.text for m in result.messages[1:]] == ["theirs", "answer resp_1", "two"]
        assert await responses.remove("resp_1", MINE)
        assert not await responses.remove("resp_1", MINE)
        assert await responses.wire("resp_1", OTHER) is not None
        with pytest.raises(Refusal) as refused:
            await responses.expand(request("two", "resp_1"), arrival())
        assert refused.value.status == 400
        assert refused.value.error.code == "previous_response_not_found"

    run(tmp_path, work)


def test_a_key_that_replaces_another_finds_its_responses(tmp_path: Path) -> None:
    async def work(responses: Responses, store: AsyncStore) -> None:
        old = KeyPrincipal(key_id="gk_1", account_id="gk_1", keep_content=True)
        new = KeyPrincipal(key_id="gk_2", account_id="gk_1", keep_content=True)
        await responses.keep(request("one"), answer("resp_1"), arrival(old), "anthropic")
        assert await responses.wire("resp_1", new) is not None

    run(tmp_path, work)


def test_a_chain_without_an_end_is_refused(tmp_path: Path) -> None:
    async def work(responses: Responses, store: AsyncStore) -> None:
        await responses.keep(request("one", "resp_1"), answer("resp_1"), arrival(), "anthropic")
        with pytest.raises(Refusal):
            await responses.expand(request("two", "resp_1"), arrival())

    run(tmp_path, work)


def test_a_provider_that_keeps_responses_is_asked_itself() -> None:
    from interlingua.client.targets import Targets

    targets = Targets()
    assert keeps(targets.find("openai:gpt-4.1", "openai-responses"), "openai-responses")
    assert not keeps(targets.find("openai:gpt-4.1", "openai-chat"), "openai-responses")
    assert not keeps(targets.find("local"), "openai-responses")


def test_the_sdk_fetches_and_deletes_a_response(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        made = key(tmp_path, keep_content=True)
        other = key(tmp_path, keep_content=True).token
        async with served(tmp_path) as gateway:
            who = await gateway.service.gateway.keys.find(made.token)
            await gateway.service.responses.keep(
                request("one"), answer("resp_1"), arrival(who), "anthropic"
            )
            await asyncio.to_thread(_fetch, gateway.base, made.token, other)

    with Upstream() as provider:
        asyncio.run(work(provider))


def _fetch(base: str, token: str, other: str) -> None:
    with openai.OpenAI(base_url=f"{base}/v1", api_key=other) as theirs:
        with pytest.raises(openai.NotFoundError):
            theirs.responses.retrieve("resp_1")
        with pytest.raises(openai.NotFoundError):
            theirs.responses.delete("resp_1")
    with openai.OpenAI(base_url=f"{base}/v1", api_key=token) as own:
        found = own.responses.retrieve("resp_1")
        assert (found.id, found.output_text) == ("resp_1", "answer resp_1")
        assert found.usage is not None
        assert found.usage.output_tokens == 4
        own.responses.delete("resp_1")
        with pytest.raises(openai.NotFoundError) as odd:
            own.responses.retrieve("resp_1")
        assert "resp_1" in odd.value.message


def test_nothing_that_was_said_is_in_the_database_of_a_shy_key(tmp_path: Path) -> None:
    secret = "unmistakable-words"

    async def work(responses: Responses, store: AsyncStore) -> None:
        await responses.keep(request(secret), answer("resp_1"), arrival(SHY), "anthropic")

    run(tmp_path, work)
    found = [file for file in tmp_path.iterdir() if secret.encode() in file.read_bytes()]
    assert found == []
    with il.open_store(str(tmp_path / "s.db")) as store:
        assert issue(store, "x", ".").key.keep_content is False, "off unless somebody asks"
