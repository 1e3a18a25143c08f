"""One request of a turn and its answer, whole or as a stream."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import interlingua as il
from interlingua.model.events import Event, MessageComplete, StreamError, TextDelta, ToolUseEnd
from interlingua.sessions import AsyncSession, TurnError
from interlingua.sessions import call as call_module
from interlingua.store.base import AsyncStore, Store
from interlingua.store.errors import StoreError
from interlingua.store.open import open_async_store
from tests.sessions.talk import dumped, new_session, results_of, take_turn, trace, types
from tests.sessions.wires import MODELS, SPOKEN, TOOLS, answer, stream

DIALECTS = sorted(MODELS)


def until(pieces: list[bytes], word: bytes) -> list[bytes]:
    """The pieces up to the first with this word, and it."""
    at = next(index for index, piece in enumerate(pieces) if word in piece)
    return pieces[: at + 1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_is_stored_as_the_whole_answer_would_be(store: Store, dialect: str) -> None:
    whole, streamed = new_session(store, dialect), new_session(store, dialect)
    wire = answer(dialect, 1, calls=True)
    whole.begin("hi").call().complete(wire)
    turn = streamed.begin("hi")
    call = turn.call()
    events = list(call.stream(stream(dialect, wire)))
    assert isinstance(events[-1], MessageComplete)
    stored, other = store.messages(streamed.id)[1], store.messages(whole.id)[1]
    assert stored == events[-1].response.message.replace(
        id=stored.id, session_id=stored.session_id, created_at=stored.created_at
    )
    assert [type(block) for block in stored.content] == [type(block) for block in other.content]
    assert stored.text == other.text
    assert stored.reasoning == other.reasoning
    assert [c.input for c in stored.tool_calls] == [c.input for c in other.tool_calls]
    assert stored.metadata.status is il.MessageStatus.COMPLETE
    assert stored.metadata.stop_reason is other.metadata.stop_reason
    one, two = store.tool_calls(streamed.id), store.tool_calls(whole.id)
    assert [(row.name, row.status) for row in one] == [(row.name, row.status) for row in two]
    if dialect != "ollama":  # it has no ids; ours are made of the time of the answer
        assert [row.provider_id for row in one] == [row.provider_id for row in two]
    assert types(store, streamed) == types(store, whole)
    turn.results(*results_of(turn))
    turn.call().complete(answer(dialect, 2))
    assert turn.ended
    assert il.validate(store.messages(streamed.id)) == []


@pytest.mark.requirement("S002-38", "S002-51")
def test_what_has_arrived_is_in_the_store_before_the_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_module, "SAVE_EVERY", 0.0)
    session = new_session(store, "openai-chat")
    call = session.begin("hi").call()
    lines = [
        {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "gpt-4.1"}
        | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in ({"role": "assistant", "content": "One "}, {"content": "two "})
    ]
    seen = []
    for line in lines:
        call.feed(il.sse.encode(il.Frame(None, il.dumps(line).decode())))
        stored = store.messages(session.id)[-1]
        seen.append((stored.text, stored.metadata.status.value, stored.id))
    id = seen[0][2]
    assert seen == [("One ", "partial", id), ("One two ", "partial", id)]
    assert il.validate(store.messages(session.id)) == []
    call.close()
    broken = store.messages(session.id)[-1]
    assert (broken.text, broken.metadata.status.value, broken.id) == ("One two ", "error", id)


def test_between_savings_the_store_is_left_alone(store: Store) -> None:
    session = new_session(store)
    now = [0.0]
    call = session.begin("hi").call(clock=lambda: now[0])
    saved = []
    for piece in stream("anthropic", answer("anthropic", 1)):
        call.feed(piece)
        saved.append(dumped(session)[-1])
        now[0] += 0.3
    changes = sum(one != other for one, other in itertools.pairwise(saved))
    assert 3 <= changes <= len(saved) // 3 + 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cancelling_an_answer_keeps_what_the_user_has_seen(store: Store, dialect: str) -> None:
    """Case a of cancelling."""
    session = new_session(store, dialect)
    turn = session.begin("hi")
    call = turn.call()
    pieces = stream(dialect, answer(dialect, 1, calls=True, text="Seen by the user."))
    collected: list[Event] = []
    for piece in until(pieces, b"read_file"):
        collected += call.feed(piece)
    collected += call.cancel()
    last = collected[-1]
    assert isinstance(last, MessageComplete)
    assert last.response.message.metadata.stop_reason is il.StopReason.CANCELLED
    ends = [event for event in collected if isinstance(event, ToolUseEnd)]
    assert ends
    assert all(isinstance(event.input, dict) for event in ends)
    stored = store.messages(session.id)[-1]
    assert stored.text == "Seen by the user."
    assert stored.metadata.status is il.MessageStatus.CANCELLED
    assert {row.status for row in store.tool_calls(session.id) if row.executor == "client"} == {
        "cancelled"
    }
    assert types(store, session)[3:] == ["llm.call_started", "llm.call_failed", "turn.cancelled"]
    failed, cancelled = trace(store, session)[-2:]
    assert failed.payload["error_class"] == "cancelled"
    assert cancelled.payload["reason"] == "user_cancel"
    before = (dumped(session), types(store, session))
    assert call.cancel() == []
    turn.cancel()
    assert (dumped(session), types(store, session)) == before, "a second cancel changes nothing"
    with pytest.raises(TurnError):
        turn.call()
    with pytest.raises(TurnError):
        session.resume()
    again = take_turn(session, "and now?", 2)
    assert b"Seen by the user." not in il.dumps(again[0].wire), "given up is left out"


@pytest.mark.parametrize("waiting", [True, False])
def test_cancelling_between_answers_gives_calls_a_result(store: Store, waiting: bool) -> None:
    """Cases b and c: no failed call to the model, no second end of a message."""
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    first, second = results_of(turn)
    turn.results(*([first] if waiting else [first, second]))
    turn.cancel("client_disconnect")
    statuses = [row.status for row in store.tool_calls(session.id) if row.executor == "client"]
    assert statuses == ["succeeded", "cancelled" if waiting else "succeeded"]
    result = types(store, session)
    assert "llm.call_failed" not in result
    assert result[-1] == "turn.cancelled"
    failed = [e.payload for e in trace(store, session) if e.type == "tool.failed"]
    assert [(f["name"], f["error_class"]) for f in failed] == (
        [("get_weather", "cancelled")] if waiting else []
    )
    assert trace(store, session)[-1].payload["reason"] == "client_disconnect"
    before = (dumped(session), result)
    turn.cancel()
    assert (dumped(session), types(store, session)) == before
    with pytest.raises(TurnError):
        session.resume()
    assert not session.in_turn
    take_turn(session, "and now?", 2)
    assert il.validate(store.messages(session.id)) == []


def test_a_tool_that_was_told_to_have_been_cancelled_is_not_told_twice(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    for id, name in turn.open_calls().items():
        ended = {"tool_use_id": id, "name": name, "error_class": "cancelled", "latency_ms": 1}
        turn.trace.emit("tool.failed", ended)
    turn.cancel()
    assert types(store, session).count("tool.failed") == 2


def test_cancelling_before_anything_was_asked_ends_the_turn(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.cancel("timeout")
    assert types(store, session)[1:] == ["turn.started", "route.decided", "turn.cancelled"]
    turn = session.begin("again")
    call = turn.call()
    call.cancel()
    assert types(store, session)[-2:] == ["llm.call_failed", "turn.cancelled"]
    assert session.messages()[-1].metadata.status is il.MessageStatus.CANCELLED


def test_leaving_a_stream_cancels_it(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    events = turn.call().stream(stream("anthropic", answer("anthropic", 1, text="Heard.")))
    for event in events:
        if isinstance(event, TextDelta):
            break
    events.close()  # type: ignore[attr-defined]  # a generator
    stored = session.messages()[-1]
    assert (stored.text, stored.metadata.status.value) == ("Heard.", "cancelled")
    assert turn.ended


def test_a_connection_that_fails_is_an_error_and_not_the_users_will(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")

    def chunks() -> Iterator[bytes]:
        pieces = stream("anthropic", answer("anthropic", 1, text="Heard."))
        yield from until(pieces, b"Heard.")
        raise ConnectionResetError("peer")

    events: list[Event] = []
    with pytest.raises(ConnectionResetError):
        events.extend(turn.call().stream(chunks()))
    stored = session.messages()[-1]
    assert (stored.text, stored.metadata.status.value) == ("Heard.", "error")
    assert types(store, session)[-1] == "llm.call_failed"
    assert trace(store, session)[-1].payload["error_class"] == "network"
    assert not turn.ended, "the turn may try again"
    turn.call().complete(answer("anthropic", 2))
    assert turn.ended


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_breaks_off_is_an_error_with_what_there_is(
    store: Store, dialect: str
) -> None:
    session = new_session(store, dialect)
    turn = session.begin("hi")
    pieces = until(stream(dialect, answer(dialect, 1, text="Heard.")), b"Heard.")
    events = list(turn.call().stream(pieces))
    assert isinstance(events[-1], StreamError)
    stored = session.messages()[-1]
    assert (stored.text, stored.metadata.status.value) == ("Heard.", "error")
    assert stored.metadata.error_message
    assert types(store, session)[-1] == "llm.call_failed"
    call = turn.call()
    assert b"Heard." not in il.dumps(call.wire)
    call.complete(answer(dialect, 2))
    assert turn.ended


def test_an_error_in_the_middle_of_a_stream_keeps_its_kind(store: Store) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    pieces = until(stream("anthropic", answer("anthropic", 1, text="Heard.")), b"Heard.")
    error = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    events = list(turn.call().stream([*pieces, il.sse.encode(il.Frame("error", error))]))
    assert isinstance(events[-1], StreamError)
    assert events[-1].error.kind is il.ErrorKind.RATE_LIMIT
    assert trace(store, session)[-1].payload["error_class"] == "rate_limit"
    assert session.messages()[-1].text == "Heard."


def failing_once(monkeypatch: pytest.MonkeyPatch, store: Store, name: str) -> None:
    """The next call of this name changes nothing and raises."""
    real = getattr(store, name)

    def broken(*_: Any, **__: Any) -> Any:
        monkeypatch.setattr(store, name, real)
        raise StoreError("here", "the disk is full", "full")

    monkeypatch.setattr(store, name, broken)


def test_a_store_that_fails_loses_no_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    call = turn.call()
    failing_once(monkeypatch, store, "append")
    with pytest.raises(StoreError):
        call.complete(answer("anthropic", 1, calls=True))
    assert call.complete(answer("anthropic", 1, calls=True)).text == "It is so."
    failing_once(monkeypatch, store, "append")
    with pytest.raises(StoreError):
        turn.results(*results_of(turn))
    turn.results(*results_of(turn))
    call = turn.call()
    pieces = stream("anthropic", answer("anthropic", 2))
    for piece in pieces[:-1]:
        call.feed(piece)
    failing_once(monkeypatch, store, "save")
    with pytest.raises(StoreError):
        call.feed(pieces[-1])
    call.close()
    assert turn.ended
    assert [m.metadata.status.value for m in store.messages(session.id)] == ["complete"] * 5
    assert il.validate(store.messages(session.id)) == []
    assert types(store, session)[-1] == "turn.completed"


def test_a_store_that_fails_can_be_asked_to_cancel_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    turn.call().complete(answer("anthropic", 1, calls=True))
    failing_once(monkeypatch, store, "append")
    with pytest.raises(StoreError):
        turn.cancel()
    turn.cancel()
    assert not session.in_turn
    assert types(store, session)[-1] == "turn.cancelled"
    take_turn(session, "go on", 2)


def test_a_store_that_fails_in_the_middle_of_a_stream_has_all_of_it_in_the_end(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    failing_once(monkeypatch, store, "append")
    events = list(turn.call().stream(stream("anthropic", answer("anthropic", 1))))
    assert isinstance(events[-1], MessageComplete)
    assert "partial_answer_not_stored" in caplog.text
    assert store.messages(session.id)[-1].text == "It is so."
    assert turn.ended


def test_a_store_that_fails_at_the_end_of_a_stream_can_be_asked_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session(store)
    turn = session.begin("hi")
    call = turn.call()
    failing_once(monkeypatch, store, "save")
    with pytest.raises(StoreError):
        list(call.stream(stream("anthropic", answer("anthropic", 1))))
    assert not call.ended
    call.close()
    assert store.messages(session.id)[-1].metadata.status is il.MessageStatus.COMPLETE
    assert turn.ended


async def _later(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(0)
        yield piece


async def _new(store: AsyncStore) -> AsyncSession:
    return await AsyncSession.create(store, model=MODELS["anthropic"], tools=TOOLS, dialects=SPOKEN)


def test_the_same_with_an_event_loop(address: str) -> None:
    async def run() -> None:
        async with await open_async_store(address) as store:
            session = await _new(store)
            turn = await session.begin("hi")
            call = await turn.call()
            pieces = stream("anthropic", answer("anthropic", 1, calls=True))
            events = [event async for event in call.stream(_later(pieces))]
            assert isinstance(events[-1], MessageComplete)
            await turn.results(*[il.Message.tool_result(id, "done") for id in turn.open_calls()])
            await (await turn.call()).complete(answer("anthropic", 2))
            assert turn.ended
            assert il.validate(await store.messages(session.id)) == []
            assert await session.swap("openai:gpt-5") is False
            turn = await session.begin("more")
            failing = _later(until(stream("openai-chat", answer("openai-chat", 3)), b"It is so."))
            events = [event async for event in (await turn.call()).stream(failing)]
            assert isinstance(events[-1], StreamError)
            await turn.end()
            fork = await session.fork()
            assert len(await fork.messages()) == len(await session.messages())

    asyncio.run(run())


def test_a_task_that_is_cancelled_cancels_its_stream(address: str) -> None:
    async def run() -> None:
        async with await open_async_store(address) as store:
            session = await _new(store)
            turn = await session.begin("hi")
            heard = asyncio.Event()

            async def endless() -> AsyncIterator[bytes]:
                for piece in until(stream("anthropic", answer("anthropic", 1)), b"It is so."):
                    yield piece
                heard.set()
                await asyncio.sleep(60)

            async def listen() -> None:
                async for _ in (await turn.call()).stream(endless()):
                    pass

            task = asyncio.create_task(listen())
            await heard.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0)
            last = (await store.messages(session.id))[-1]
            assert (last.text, last.metadata.status.value) == ("It is so.", "cancelled")
            kinds = [event.type for event in await store.events(session.id)]
            assert kinds[-2:] == ["llm.call_failed", "turn.cancelled"]
            assert turn.ended

    asyncio.run(run())


def test_cancelling_while_the_store_writes_leaves_one_message(address: str) -> None:
    """Wherever a task is stopped, the answer is there once."""

    async def run(stop_at: int) -> list[Any]:
        async with await open_async_store(address) as store:
            session = await _new(store)
            turn = await session.begin("hi")
            call = await turn.call()

            async def listen() -> None:
                async for _ in call.stream(_later(stream("anthropic", answer("anthropic", 1)))):
                    pass

            task = asyncio.create_task(listen())
            for _ in range(stop_at):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            again = await AsyncSession.open(store, session.id)
            return [(m.role.value, m.metadata.status.value) for m in await again.messages()]

    for stop_at in (1, 2, 3, 5, 8, 13, 21, 34):
        found = asyncio.run(run(stop_at))
        assert found[0] == ("user", "complete")
        assert len(found) <= 2, (stop_at, found)
        assert all(status in ("cancelled", "complete") for _, status in found), (stop_at, found)
