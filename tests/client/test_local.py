"""End to end with the bundled local model: a real model, real HTTP, three dialects."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.client import AsyncClient, Client
from interlingua.local import LocalServer
from interlingua.model.events import MessageComplete, TextDelta
from tests.local.conftest import folder, server, weights

__all__ = ["folder", "server", "weights"]  # fixtures of the folder next door

DIALECTS = ["openai-chat", "openai-responses", "anthropic"]
# Anthropic's own API refuses a temperature, so our writer leaves it out; this server takes it.
GREEDY = il.Options(
    temperature=0, max_output_tokens=16, seed=1, raw={"anthropic": {"temperature": 0}}
)
# Short and plain: which words come second may depend on what the server still has in its cache.
QUESTION = [il.Message.system("Answer with one word."), il.Message.user("Say yes.")]


@pytest.fixture(scope="module")
def client(server: LocalServer) -> Iterator[Client]:
    """A client that nobody told where the bundled local model is; it asks for the shared one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("interlingua.local.server.shared", lambda: server)
        with Client(environ={}) as client:
            yield client


def test_three_dialects_give_the_same_answer_whole_and_streamed(client: Client) -> None:
    collected: list[Any] = []
    for dialect in DIALECTS:
        answer = client.generate("local", QUESTION, options=GREEDY, dialect=dialect)
        with client.stream("local", QUESTION, options=GREEDY, dialect=dialect) as stream:
            events = list(stream)
        assert isinstance(events[-1], MessageComplete)
        for message in (answer.message, stream.message()):
            usage = message.metadata.usage
            assert usage is not None
            assert message.metadata.protocol == dialect
            counts = (usage.prompt_tokens, usage.output_tokens)
            collected.append((message.text, message.metadata.stop_reason, counts))
    assert collected[0][0] == "Yes."
    assert all(each == collected[0] for each in collected), collected


def test_history_goes_on_in_another_dialect(client: Client) -> None:
    history = [il.Message.user("My name is Ada. Say hello.")]
    for dialect in DIALECTS:
        answer = client.generate("local", history, options=GREEDY, dialect=dialect)
        assert answer.text
        history += [answer.message, il.Message.user("And again, please.")]
    protocols = [message.metadata.protocol for message in history if message.role == "assistant"]
    assert protocols == DIALECTS


def test_a_stream_that_is_left_keeps_what_had_arrived(client: Client) -> None:
    options = il.Options(temperature=0, max_output_tokens=400)
    with client.stream("local", "Tell a very long story.", options=options) as stream:
        for event in stream:
            if isinstance(event, TextDelta):
                break
    message = stream.message()
    assert message.metadata.status is il.MessageStatus.CANCELLED
    assert message.text
    assert client.generate("local", "Hi", options=GREEDY).text, "it answers others at once"


def test_structured_output_is_enforced(client: Client) -> None:
    class Pet(msgspec.Struct):
        name: str
        legs: int

    options = il.Options(temperature=0, max_output_tokens=60)
    parsed = client.parse("local", "Describe a dog called Rex as JSON.", Pet, options=options)
    assert isinstance(parsed.value, Pet)


def test_a_forced_call_and_its_result_go_round(client: Client) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = il.ToolDefinition("weather", "The weather in a city.", schema, il.SideEffects.READ)
    choice = il.ToolChoice("any", ("weather",))
    options = il.Options(temperature=0, max_output_tokens=60, tool_choice=choice)
    asked: list[str] = []

    def weather(city: str) -> str:
        asked.append(city)
        return "Sunny."

    run = client.run("local", "Weather in Paris?", [tool], {"weather": weather}, 1, options)
    assert asked
    assert run.steps[0].results[0].is_error is False


def test_a_deadline_cuts_a_real_answer(client: Client) -> None:
    from interlingua.client import CallTimeoutError

    options = il.Options(temperature=0, max_output_tokens=2000)
    with pytest.raises(CallTimeoutError) as caught:
        client.generate("local", "Count from 1 to 1000.", options=options, deadline=0.4)
    assert caught.value.phase == "deadline"


def test_the_same_with_await(client: Client) -> None:
    async def main() -> str:
        async with AsyncClient(environ={}) as other:
            count = await other.count_tokens("local", QUESTION, dialect="anthropic")
            assert count.source == "provider"
            assert count.tokens > 5
            return (await other.generate("local", QUESTION, options=GREEDY)).text

    assert asyncio.run(main()) == "Yes."
