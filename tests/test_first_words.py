"""What people who come from other libraries type first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import interlingua as il
from tests.agents.chat.provider import ANTHROPIC, Provider
from tests.client.scripted import Scripted, scripted
from tests.client.test_loop import call, results, says

HI = [{"role": "user", "content": "hi"}]


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@il.tool(side_effects="write")
def save(text: str) -> str:
    """Saves a text."""
    return f"saved {text}"


def echo(text: str) -> str:
    """Says it again."""
    return f"echo of {text}"


def asked(work: Callable[[il.AsyncClient], Any], *answers: Any) -> tuple[Any, Scripted]:
    """What comes back, and who was asked."""

    async def main() -> tuple[Any, Scripted]:
        async with scripted("anthropic", *answers) as server:
            places, keys = {"anthropic": server.url}, {"anthropic": "k"}
            async with il.AsyncClient(base_urls=places, keys=keys, environ={}) as client:
                return await work(client), server

    return asyncio.run(main())


def test_a_list_of_dicts_options_as_keywords_and_a_plain_name() -> None:
    answer, server = asked(
        lambda client: client.generate("claude-sonnet-4-6", HI, temperature=0, max_tokens=9),
        says(text="ho"),
    )
    assert answer.text == "ho"
    assert answer.model == "anthropic:claude-sonnet-4-6"
    body = server.asked[0]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("claude-sonnet-4-6", 0, 9)
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


def test_options_as_a_dict_with_keywords_over_them() -> None:
    _, server = asked(
        lambda client: client.generate("haiku", "hi", options={"max_tokens": 5}, max_tokens=7),
        says(text="ho"),
    )
    assert server.asked[0]["max_tokens"] == 7


def test_keywords_are_laid_over_the_options_of_a_request() -> None:
    request = il.Request((il.Message.user("hi"),), options=il.Options(max_output_tokens=5, top_k=3))
    _, server = asked(
        lambda client: client.generate("claude-haiku-4-5", request, max_tokens=7), says(text="ho")
    )
    assert (server.asked[0]["max_tokens"], server.asked[0]["top_k"]) == (7, 3)


def test_a_function_is_a_tool_that_the_loop_runs() -> None:
    run, server = asked(
        lambda client: client.run("sonnet", "What is 2 + 1?", [add], max_tokens=99),
        says(call(2)),
        says(text="It is 3."),
    )
    assert run.text == "It is 3."
    assert results(run) == [("call_2", False, "3")]
    tool = server.asked[0]["tools"][0]
    assert (tool["name"], tool["description"]) == ("add", "Adds two numbers.")
    assert tool["input_schema"]["required"] == ["a", "b"]
    assert server.asked[0]["max_tokens"] == server.asked[1]["max_tokens"] == 99


@pytest.mark.parametrize(
    ("confirm", "result"),
    [(None, "refused"), (lambda question: False, "refused"), (lambda question: True, "saved x")],
)
def test_side_effects_are_asked_about(confirm: Any, result: str) -> None:
    run, _ = asked(
        lambda client: client.run("sonnet", "Save x.", [save], confirm=confirm),
        says(call(1, "save", text="x")),
        says(text="Done."),
    )
    ((_, is_error, outcome),) = results(run)
    assert is_error is (result == "refused")
    assert result in outcome.lower() or is_error


def test_tools_that_nobody_can_run_say_so() -> None:
    tool = il.ToolDefinition("look", "Looks.", {"type": "object"}, il.SideEffects.READ, False)
    with pytest.raises(TypeError, match="pass Python functions as tools, or a dispatcher"):
        asked(lambda client: client.run("sonnet", "hi", [tool]), says(text="ho"))


class City(BaseModel):
    name: str
    people: int


def test_parse_gives_a_value_of_the_type() -> None:
    parsed, server = asked(
        lambda client: client.parse("sonnet", HI, City, temperature=0),
        says(text='{"name": "Lyon", "people": 520000}'),
    )
    assert parsed.value == City(name="Lyon", people=520000)
    assert "output_config" in server.asked[0] or "output_format" in server.asked[0]


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda c: c.generate("sonnet", 3), "messages are text"),
        (lambda c: c.generate("sonnet", "hi", temprature=1), "did you mean 'temperature'"),
        (lambda c: c.generate("sonnet", "hi", options=3), "options are il.Options"),
        (lambda c: c.generate("sonnet", "hi", tools=[3]), "a tool is"),
        (lambda c: c.generate(3, "hi"), "a model is a name"),
        (lambda c: c.parse("sonnet", "hi", 3), "the shape of an answer is"),
    ],
)
def test_wrong_things_are_a_type_error_that_says_what_is_taken(ask: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        asked(ask, says(text="ho"))


# Sessions, chats and agents take the same.


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path / "home"))
    with Provider() as served:
        served.configure(tmp_path / "home")
        yield served


def test_a_session_takes_functions_dicts_and_words(tmp_path: Path) -> None:
    with il.open_store(tmp_path / "s.db") as store:
        session = il.Session.create(
            store, model="claude-sonnet-4-6", tools=[echo], options={"max_tokens": 9, "top_k": 3}
        )
        session.append({"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"})
        turn = session.begin({"role": "user", "content": "and?"}, temperature=0)
        wire = turn.call().wire
    assert session.model == ANTHROPIC
    texts = [block["text"] for each in wire["messages"] for block in each["content"]]
    assert texts == ["hi", "ho", "and?"]
    assert (wire["max_tokens"], wire["top_k"], wire["temperature"]) == (9, 3, 0)
    assert wire["tools"][0]["name"] == "echo"


def test_a_chat_runs_the_functions_of_its_session(provider: Provider, tmp_path: Path) -> None:
    async def main() -> list[il.Message]:
        async with await il.open_async_store(tmp_path / "c.db") as store, il.AsyncClient() as c:
            session = await il.AsyncSession.create(store, model="claude-sonnet-4-6", tools=[echo])
            chat = il.AsyncChat(session, c)
            async for _ in chat.say({"role": "user", "content": "echo this"}, temperature=0):
                pass
            return await session.messages()

    messages = asyncio.run(main())
    assert [each.role.value for each in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[2].content[0].content == (il.TextBlock("echo of this"),)  # type: ignore[union-attr]
    assert [each["temperature"] for each in provider.requests] == [0, 0]


def test_an_async_chat_needs_only_a_model(provider: Provider) -> None:
    async def main() -> tuple[il.Answer, list[il.Message]]:
        async with il.AsyncChat("claude-sonnet-4-6", tools=[echo], system="Be brief.") as chat:
            answer = await chat.ask("echo this", temperature=0)
            return answer, await chat.session.messages()

    answer, messages = asyncio.run(main())
    assert answer.text == messages[-1].text
    assert messages[3].content[0].content == (il.TextBlock("echo of this"),)  # type: ignore[union-attr]
    assert provider.requests[0]["system"] == "Be brief."


@pytest.mark.parametrize("confirm", [None, lambda question: True])
def test_an_agent_runs_functions_and_takes_text(
    provider: Provider, tmp_path: Path, confirm: Any
) -> None:
    @il.tool(side_effects="write", name="echo")
    def write(text: str) -> str:
        """Writes it down."""
        return f"echo of {text}"

    with il.open_store(tmp_path / "a.db") as store, il.Client() as client:
        agent = il.Agent.create(store, str(tmp_path), model="claude-sonnet-4-6", tools=[write])
        agent.queue_message("echo this")
        agent.run(client, confirm=confirm)
        messages = agent.session.messages()
    result = messages[2].content[0]
    assert isinstance(result, il.ToolResultBlock)
    assert result.is_error is (confirm is None)
