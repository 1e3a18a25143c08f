"""The driver: a session, a client and tools put together, without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pydantic
import pytest

import interlingua as il
from interlingua.agents.chat.chat import AsyncChat, ChatEvent, family, fork_before_last_turn
from interlingua.agents.chat.files import register_files
from interlingua.agents.chat.setup import Setup
from interlingua.client import CallError
from interlingua.client.errors import OutputError
from interlingua.model.events import Event
from interlingua.providers.provider import MissingSettingError
from interlingua.sessions.session import AsyncCall
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.registry import ToolRegistry
from tests.agents.chat.provider import ANTHROPIC, KEY, OPENAI, Provider


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path / "home"))
    with Provider() as served:
        served.configure(tmp_path / "home")
        yield served


@asynccontextmanager
async def talking(
    tmp_path: Path, model: str = ANTHROPIC, dispatcher: Dispatcher | None = None
) -> AsyncIterator[AsyncChat]:
    setup = Setup()
    tools = dispatcher.registry if dispatcher is not None else None
    async with await il.open_async_store(tmp_path / "chat.db") as store, setup.client() as client:
        session = await il.AsyncSession.create(
            store, str(tmp_path), model=model, router=setup.router, tools=tools
        )
        yield AsyncChat(session, client, dispatcher)


async def all_of(parts: AsyncIterator[ChatEvent]) -> list[ChatEvent]:
    return [content async for content in parts]


def text_of(said: list[ChatEvent]) -> str:
    return "".join(getattr(e, "text", "") for e in said if type(e).__name__ == "TextDelta")


@pytest.mark.parametrize("model", [ANTHROPIC, OPENAI])
def test_what_is_said_is_stored_with_the_answer(
    provider: Provider, tmp_path: Path, model: str
) -> None:
    async def main() -> None:
        async with talking(tmp_path, model) as chat:
            content = await all_of(chat.say("hello"))
            assert text_of(content) == "Answer 1 to: hello"
            user, answer = await chat.session.messages()
            assert (user.text, answer.text) == ("hello", "Answer 1 to: hello")
            assert answer.metadata.model == model
            assert answer.metadata.status is il.MessageStatus.COMPLETE
            assert chat.turn is not None
            assert chat.turn.ended
            assert chat.report is not None

    asyncio.run(main())


class City(pydantic.BaseModel):
    name: str
    rivers: list[str]


def test_a_turn_gives_a_value_of_the_type_that_is_asked_for(
    provider: Provider, tmp_path: Path
) -> None:
    async def main() -> None:
        async with talking(tmp_path, OPENAI) as chat:
            parsed = await chat.parse('json {"name": "Lyon", "rivers": ["Rhône", "Saône"]}', City)
            assert parsed.value == City(name="Lyon", rivers=["Rhône", "Saône"])
            assert [message.role for message in await chat.session.messages()] == [
                il.Role.USER,
                il.Role.ASSISTANT,
            ]
            asked = provider.requests[0]["response_format"]["json_schema"]
            assert asked["name"] == "City"
            with pytest.raises(OutputError, match=r"rivers"):
                await chat.parse('json {"name": "Lyon"}', City)
            assert len(await chat.session.messages()) == 4

    asyncio.run(main())


@pytest.mark.requirement("S002-90")
def test_the_model_changes_in_the_middle_and_the_history_is_said_again(
    provider: Provider, tmp_path: Path
) -> None:
    async def main() -> None:
        async with talking(tmp_path) as chat:
            await all_of(chat.say("think"))
            await chat.session.swap(OPENAI)
            content = await all_of(chat.say("and now?"))
            assert text_of(content) == "Answer 2 to: and now?"
            assert [m["content"] for m in provider.requests[1]["messages"]] == [
                "think",
                "Thought.",
                "and now?",
            ]
            assert chat.report is not None
            assert any(loss.block_type == "thinking" for loss in chat.report.entries)

    asyncio.run(main())


def test_calls_are_run_and_their_results_go_back(provider: Provider, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the file's text")

    async def main() -> list[ChatEvent]:
        tools = ToolRegistry()
        register_files(tools)
        async with talking(tmp_path, dispatcher=Dispatcher(tools, workspace=tmp_path)) as chat:
            return await all_of(chat.say("read a.txt"))

    content = asyncio.run(main())
    results = [each for each in content if isinstance(each, il.ToolResultBlock)]
    assert [block.content[0].text for block in results] == ["the file's text"]  # type: ignore[union-attr]  # text
    assert text_of(content) == "Answer 2 to: read a.txt"
    sent = provider.requests[1]["messages"][-1]["content"][0]
    assert (sent["type"], sent["tool_use_id"]) == ("tool_result", "toolu_1")


def test_writing_needs_somebodys_consent(provider: Provider, tmp_path: Path) -> None:
    async def main(consent: bool) -> il.ToolResultBlock:
        tools = ToolRegistry()
        register_files(tools)
        runner = Dispatcher(tools, workspace=tmp_path, confirm=lambda question: consent)
        async with talking(tmp_path, dispatcher=runner) as chat:
            content = await all_of(chat.say("write b.txt"))
            return next(each for each in content if isinstance(each, il.ToolResultBlock))

    assert asyncio.run(main(False)).is_error
    assert not (tmp_path / "b.txt").exists()
    assert not asyncio.run(main(True)).is_error
    assert (tmp_path / "b.txt").read_text() == "written\n"


@pytest.mark.parametrize("word", ["fail", "break"])
def test_a_failed_turn_keeps_what_arrived_and_can_be_tried_again(
    provider: Provider, tmp_path: Path, word: str
) -> None:
    async def main() -> None:
        async with talking(tmp_path) as chat:
            with pytest.raises(CallError):
                await all_of(chat.say(f"{word} now"))
            _, failed = await chat.session.messages()
            assert failed.metadata.status is il.MessageStatus.ERROR
            assert failed.text == ("" if word == "fail" else "Answer 1 to: break now")
            assert not chat.session.in_turn
            with pytest.raises(CallError):
                await all_of(chat.resume())
            assert [m["role"] for m in provider.requests[-1]["messages"]] == ["user"]

    asyncio.run(main())


def test_a_missing_key_ends_the_turn_and_not_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path / "home"))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    async def main() -> None:
        async with talking(tmp_path) as chat:
            for _ in range(2):
                with pytest.raises(MissingSettingError, match="ANTHROPIC_API_KEY"):
                    await all_of(chat.say("hello"))
                assert not chat.session.in_turn

    asyncio.run(main())


def test_cancelling_keeps_the_part_that_arrived_and_hangs_up(
    provider: Provider, tmp_path: Path
) -> None:
    async def main() -> il.Message:
        async with talking(tmp_path) as chat:
            seen: list[Any] = []

            async def listen() -> None:
                async for content in chat.say("slow"):
                    seen.append(content)

            task = asyncio.ensure_future(listen())
            while len(seen) < 10:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await chat.session.messages())[-1]

    message = asyncio.run(main())
    assert message.metadata.status is il.MessageStatus.CANCELLED
    assert message.text.startswith("w0 w1 w2 ")
    assert provider.left.wait(5)


def test_what_is_kept_of_a_cancelled_answer_was_told(provider: Provider, tmp_path: Path) -> None:
    async def main() -> tuple[str, str]:
        async with talking(tmp_path) as chat:
            seen: list[Any] = []

            async def listen() -> None:
                async for content in chat.say("slow"):
                    seen.append(content)

            task = asyncio.ensure_future(listen())
            take = AsyncCall.take

            async def cancelled_meanwhile(call: AsyncCall, event: Event) -> list[Event]:
                if "w5" in getattr(event, "text", ""):
                    task.cancel()
                return await take(call, event)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(AsyncCall, "take", cancelled_meanwhile)
                with pytest.raises(asyncio.CancelledError):
                    await task
            return (await chat.session.messages())[-1].text, text_of(seen)

    stored, result = asyncio.run(main())
    assert "w5" in stored
    assert result == stored


def test_the_key_is_sent_and_stored_nowhere(provider: Provider, tmp_path: Path) -> None:
    async def main() -> None:
        async with talking(tmp_path) as chat:
            await all_of(chat.say("hello"))
            with pytest.raises(CallError):
                await all_of(chat.say("fail"))

    asyncio.run(main())
    assert provider.headers[0]["x-api-key"] == KEY
    for path in tmp_path.glob("chat.db*"):
        assert KEY.encode() not in path.read_bytes()


def test_going_back_makes_a_fork_and_deletes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with await il.open_async_store(tmp_path / "s.db") as store:
            session = await il.AsyncSession.create(store, ".", model="sonnet")
            for number in (1, 2):
                answer = il.Message.assistant(f"a{number}", il.MessageMetadata())
                await session.append(il.Message.user(f"q{number}"), answer)
            id, taken = await fork_before_last_turn(session)
            assert taken.text == "q2"
            first = await il.AsyncSession.open(store, id)
            assert [m.text for m in await first.messages()] == ["q1", "a1"]
            id, taken = await fork_before_last_turn(first)
            assert taken.text == "q1"
            empty = await il.AsyncSession.open(store, id)
            assert await empty.messages() == []
            assert empty.model == session.model
            with pytest.raises(il.SessionError, match="no turn"):
                await fork_before_last_turn(empty)
            assert len(await session.messages()) == 4
            members = await family(store, empty.id)
            ids = [(m.row.id, m.depth) for m in members]
            assert ids == [(session.id, 0), (first.id, 1), (empty.id, 2)]

    asyncio.run(main())


def test_a_chat_without_an_event_loop(provider: Provider, tmp_path: Path) -> None:
    with il.open_store(tmp_path / "store.db") as store, il.Client() as client:
        session = il.Session.create(store, str(tmp_path), model=ANTHROPIC)
        chat = il.Chat(session, client)
        kinds = [event.type for event in chat.say("hello")]
        assert kinds[-1] == "message_complete"
        answer = chat.ask("hello")
        assert answer.text == session.messages()[-1].text
        assert answer.cost == answer.message.metadata.usage.cost_usd  # type: ignore[union-attr]
        assert len(session.messages()) == 4
        for event in chat.say("slow"):
            if event.type == "text_delta":
                break
        assert session.messages()[-1].metadata.status is il.MessageStatus.CANCELLED
