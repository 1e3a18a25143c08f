"""One request, one answer: in every dialect, with history from anywhere."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.client import AsyncClient, Client, InvalidRequestError
from interlingua.providers.provider import MissingSettingError, UnknownProviderError
from tests.client import served
from tests.client.served import MODELS, TEXT, client_of, dialect_arg, serving

DIALECTS = list(MODELS)


def sent(server: Any, index: int = -1) -> Any:
    return msgspec.json.decode(server.received[index].body)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.requirement("S002-1")
def test_an_answer_of_every_dialect_arrives_whole_and_says_where_it_is_from(dialect: str) -> None:
    async def main() -> None:
        with serving(served.whole(dialect, served.response(call=True))) as server:
            async with client_of(server, f"whole-{dialect}") as client:
                answer = await client.generate(
                    MODELS[dialect], "What is 2 + 2?", dialect=dialect_arg(dialect)
                )
        metadata = answer.message.metadata
        assert answer.text == TEXT
        assert [call.input for call in answer.tool_calls] == [{"a": 2, "b": 2}]
        assert answer.stop_reason is il.StopReason.TOOL_USE
        assert answer.usage is not None
        assert answer.usage.output_tokens == 9
        assert (metadata.model, metadata.provider, metadata.protocol) == (
            MODELS[dialect],
            MODELS[dialect].partition(":")[0],
            dialect,
        )
        assert metadata.status is il.MessageStatus.COMPLETE
        assert answer.latency_ms is not None
        assert [attempt.kind for attempt in answer.attempts] == [None]
        assert not il.validate(answer.message.replace(metadata=il.MessageMetadata()))

    asyncio.run(main())


def test_history_of_another_provider_is_retold_and_what_is_lost_is_in_the_report() -> None:
    thinking = il.ThinkingBlock("two and two", signature="only Anthropic can read this")
    metadata = il.MessageMetadata(
        model="anthropic:claude-sonnet-4-5", provider="anthropic", protocol="anthropic"
    )
    history = [
        il.Message.user("What is 2 + 2?"),
        il.Message.assistant([thinking, il.TextBlock("4")], metadata),
        il.Message.user("And 3 + 3?"),
    ]

    async def main() -> None:
        with serving(served.whole("openai-chat")) as server:
            async with client_of(server, "whole-openai-chat") as client:
                answer = await client.generate("openai:gpt-4.1", history)
            wire = sent(server)
        assert [message["role"] for message in wire["messages"]] == ["user", "assistant", "user"]
        assert b"only Anthropic" not in server.received[0].body
        assert [loss.block_type for loss in answer.report.entries] == ["thinking"]

    asyncio.run(main())


def test_a_request_may_be_text_a_message_a_list_or_a_request() -> None:
    message = il.Message.user("Hello")
    tool = il.ToolDefinition("add", "Adds.", {"type": "object", "properties": {}})

    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            async with client_of(server, "whole-anthropic") as client:
                for value in ("Hello", message, [message], il.Request((message,))):
                    await client.generate("anthropic:claude-sonnet-4-5", value, [tool])
            wires = [sent(server, index) for index in range(4)]
        assert all(wire == wires[0] for wire in wires)
        assert wires[0]["tools"][0]["name"] == "add"
        assert wires[0]["stream"] is False

    asyncio.run(main())


def test_aliases_and_other_dialects_of_a_provider_can_be_named() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            own = {"mine": "ollama:some-model"}
            async with client_of(server, "whole-anthropic", aliases=own) as client:
                answer = await client.generate("mine", "Hello", dialect="anthropic")
            assert server.received[0].path.endswith("/v1/messages")
        assert answer.model == "ollama:some-model"
        assert answer.message.metadata.protocol == "anthropic"

    asyncio.run(main())


def test_requests_go_over_one_connection_and_carry_the_key_where_it_belongs() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            async with client_of(server, "whole-anthropic") as client:
                for _ in range(5):
                    await client.generate("anthropic:claude-sonnet-4-5", "Hello")
            assert {received.connection for received in server.received} == {0}
            assert server.received[0].header("x-api-key") == served.KEYS["anthropic"]
            assert server.received[0].header("user-agent") == "interlingua"
            assert server.received[0].header("cookie") is None

    asyncio.run(main())


def test_a_host_that_speaks_chat_gets_its_own_words() -> None:
    async def main() -> None:
        with serving(served.whole("openai-chat")) as server:
            async with client_of(
                server,
                "whole-openai-chat",
                keys={"mistral": "k" * 20},
                base_urls={"mistral": f"{server.url}/@whole-openai-chat/v1"},
            ) as client:
                options = il.Options(max_output_tokens=7, seed=3)
                await client.generate("mistral:mistral-large-2512", "Hello", options=options)
            wire = sent(server)
        assert (wire["max_tokens"], wire["random_seed"]) == (7, 3)

    asyncio.run(main())


def test_a_server_that_has_to_be_started_is_started_first() -> None:
    started: list[str] = []

    async def main() -> None:
        with serving(served.whole("openai-chat")) as server:

            def start() -> str:
                started.append("started")
                return f"{server.url}/@whole-openai-chat"

            async with AsyncClient(base_urls={"local": start}, environ={}) as client:
                answer = await client.generate("local", "Hello")
        assert answer.text == TEXT
        assert started == ["started"]

    asyncio.run(main())


def test_a_missing_key_and_an_unknown_provider_are_named_before_anything_is_sent() -> None:
    client = AsyncClient(environ={})
    with pytest.raises(MissingSettingError, match="ANTHROPIC_API_KEY"):
        asyncio.run(client.generate("anthropic:claude-sonnet-4-5", "Hello"))
    with pytest.raises(UnknownProviderError, match="antropic"):
        asyncio.run(client.generate("antropic:claude-sonnet-4-5", "Hello"))


def test_an_unknown_model_is_refused_with_others_that_look_like_it() -> None:
    error = il.ProviderError(il.ErrorKind.INVALID_REQUEST, "model: claude-sonnet-5-4 not found")

    async def main() -> None:
        with serving(served.failure("anthropic", 404, error)) as server:
            async with client_of(server, "error") as client:
                with pytest.raises(InvalidRequestError) as caught:
                    await client.generate("anthropic:claude-sonnet-5-4", "Hello")
            assert len(server.received) == 1
        assert any("claude-sonnet" in near for near in caught.value.alternatives)
        assert "near: " in str(caught.value)

    asyncio.run(main())


def test_where_nothing_is_the_address_that_was_asked_is_reported() -> None:
    error = il.ProviderError(il.ErrorKind.INVALID_REQUEST, "Not Found")

    async def main() -> None:
        with serving(served.failure("anthropic", 404, error)) as server:
            async with client_of(server, "error") as client:
                with pytest.raises(InvalidRequestError) as caught:
                    await client.generate("anthropic:claude-sonnet-4-5", "Hello")
        assert caught.value.address is not None
        assert caught.value.address.endswith("/v1/messages")
        assert f"from {caught.value.address}" in str(caught.value)
        assert "http" not in caught.value.problem

    asyncio.run(main())


def test_a_client_of_another_loop_is_refused_in_words() -> None:
    with serving(served.whole("anthropic")) as server:
        client = client_of(server, "whole-anthropic")
        loop = asyncio.new_event_loop()
        first = loop.run_until_complete(client.generate("anthropic:claude-sonnet-4-5", "Hello"))
        assert first.text == TEXT
        with pytest.raises(il.InterlinguaError, match="event loop"):
            asyncio.run(client.generate("anthropic:claude-sonnet-4-5", "Hello"))
        loop.run_until_complete(client.close())
        loop.close()


def test_two_calls_cannot_have_the_same_name() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage("late seconds=0.2")
            async with client_of(server, "whole-anthropic") as client:
                model = "anthropic:claude-sonnet-4-5"
                first = asyncio.create_task(client.generate(model, "Hello", call_id="mine"))
                await asyncio.sleep(0.05)
                with pytest.raises(il.InterlinguaError, match="mine"):
                    await client.generate(model, "Hello", call_id="mine")
                assert (await first).text == TEXT

    asyncio.run(main())


def test_the_same_names_exist_with_and_without_await() -> None:
    def names(cls: type) -> set[str]:
        return {name for name in vars(cls) if not name.startswith("_")}

    inside = {"begin", "call", "end", "failed", "tries"}
    assert names(AsyncClient) - inside == names(Client) - {"work"}  # who awaits needs no such thing


def test_what_a_model_takes_may_be_said_for_a_client_and_for_a_call() -> None:
    own = {
        "id": "own",
        "models": ["claude-opus-4-6"],
        "sources": ["own"],
        "reasoning": {"efforts": ["low"]},
    }
    wanted = il.Options(reasoning=il.Reasoning("xhigh"), max_output_tokens=900)
    model = "anthropic:claude-opus-4-6"

    async def main() -> None:
        with serving(served.whole("anthropic", served.response())) as server:

            async def effort(client: AsyncClient, **more: Any) -> str:
                await client.generate(model, "Hello", options=wanted, **more)
                content: str = sent(server)["output_config"]["effort"]
                return content

            async with client_of(server, "whole-anthropic") as client:
                assert await effort(client) == "high"
                assert await effort(client, profile=False) == "xhigh"
                strict = client.asker.targets.find(model).profile
                assert await effort(client, profile=strict) == "high"
            async with client_of(server, "whole-anthropic", profiles=[own]) as client:
                assert await effort(client) == "low"
            async with client_of(server, "whole-anthropic", profiles=False) as client:
                assert await effort(client) == "xhigh"

    asyncio.run(main())
