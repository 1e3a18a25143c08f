"""Streams: events as they arrive, the answer so far at any time, and every way to end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import interlingua as il
from interlingua.client import (
    CallCancelledError,
    NetworkError,
    ProviderFailure,
    RateLimitError,
    ServerError,
)
from interlingua.model.events import MessageComplete, StreamError, TextDelta
from tests.client import served
from tests.client.served import MODELS, TEXT, client_of, dialect_arg, serving
from tests.replay.exchanges import Exchange

DIALECTS = list(MODELS)
SONNET = MODELS["anthropic"]


async def collect(client: Any, model: str, **how: Any) -> tuple[list[Any], Any, Exception | None]:
    """The events, the stream, and what it raised in the end."""
    events: list[Any] = []
    stream = client.stream(model, "Hello", **how)
    try:
        async with stream:
            async for event in stream:
                events.append(event)
    except il.InterlinguaError as error:
        return events, stream, error
    return events, stream, None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.requirement("S002-87")
def test_a_stream_of_every_dialect_gives_the_answer_that_comes_whole(dialect: str) -> None:
    async def main() -> None:
        result = served.response(call=True)
        with serving(served.whole(dialect, result), served.streamed(dialect, result)) as server:
            how: dict[str, Any] = {"dialect": dialect_arg(dialect)}
            async with client_of(server, f"whole-{dialect}") as client:
                whole = await client.generate(MODELS[dialect], "Hello", **how)
            async with client_of(server, f"stream-{dialect}") as client:
                events, stream, error = await collect(client, MODELS[dialect], **how)
        assert error is None
        assert isinstance(events[-1], MessageComplete)
        assert events[-1].response == stream.response() == il.fold(events)
        assert stream.message().content == whole.message.content
        assert stream.message().metadata == whole.message.metadata
        assert stream.answer().text == TEXT
        assert stream.model == MODELS[dialect]

    asyncio.run(main())


def test_the_answer_so_far_can_be_asked_for_at_any_time() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic"), pace=0.01) as server:
            async with (
                client_of(server, "stream-anthropic") as client,
                client.stream(SONNET, "Hello") as stream,
            ):
                texts = []
                async for event in stream:
                    if isinstance(event, TextDelta):
                        message = stream.message()
                        texts.append(message.text)
                        assert message.metadata.status is il.MessageStatus.PARTIAL
                        assert message.metadata.model == SONNET
        assert all(TEXT.startswith(text) for text in texts)
        assert len(set(texts)) > 3

    asyncio.run(main())


def test_chat_streams_ask_for_the_counts_of_tokens() -> None:
    async def main() -> None:
        with serving(served.streamed("openai-chat")) as server:
            async with client_of(server, "stream-openai-chat") as client:
                await collect(client, MODELS["openai-chat"])
            assert b'"include_usage":true' in server.received[0].body
            assert server.received[0].header("accept-encoding") == "identity"

    asyncio.run(main())


def test_a_finished_stream_leaves_its_connection_to_the_next() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            async with client_of(server, "stream-anthropic") as client:
                for _ in range(3):
                    await collect(client, SONNET)
            assert {received.connection for received in server.received} == {0}

    asyncio.run(main())


def test_leaving_a_stream_cancels_it_upstream_and_keeps_what_had_arrived() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic"), pace=0.02) as server:
            async with client_of(server, "stream-anthropic") as client:
                async with client.stream(SONNET, "Hello") as stream:
                    async for event in stream:
                        if isinstance(event, TextDelta):
                            break
                left = time.monotonic()
                received = server.received[0]
                assert await asyncio.to_thread(
                    server.wait_until, lambda: received.left_at is not None, 2.0
                )
                assert received.left_at is not None
                assert received.left_at - left < 0.5
        message = stream.message()
        assert message.metadata.status is il.MessageStatus.CANCELLED
        assert message.metadata.stop_reason is il.StopReason.CANCELLED
        assert message.text
        assert TEXT.startswith(message.text)
        assert len(server.received) == 1

    asyncio.run(main())


def test_a_stream_that_is_only_iterated_is_left_as_well() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic"), pace=0.02) as server:
            async with client_of(server, "stream-anthropic") as client:
                async for event in client.stream(SONNET, "Hello"):
                    if isinstance(event, TextDelta):
                        break
                received = server.received[0]
                assert await asyncio.to_thread(
                    server.wait_until, lambda: received.left_at is not None, 2.0
                )

    asyncio.run(main())


@pytest.mark.parametrize("how", ["stream", "client", "by name"])
def test_cancelling_ends_a_stream_with_an_event_and_an_error(how: str) -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic"), pace=0.02) as server:
            async with client_of(server, "stream-anthropic") as client:
                stream = client.stream(SONNET, "Hello", call_id="mine")
                events: list[Any] = []

                def cancel() -> bool:
                    if how == "stream":
                        return stream.cancel()
                    return client.cancel(None if how == "client" else "mine")

                async def read() -> None:
                    async with stream:
                        async for event in stream:
                            events.append(event)
                            if isinstance(event, TextDelta) and len(events) == 4:
                                asyncio.get_running_loop().call_later(0.005, cancel)

                with pytest.raises(CallCancelledError) as caught:
                    await read()
                assert not cancel()
        last = events[-1]
        assert isinstance(last, StreamError)
        assert last.error.kind is il.ErrorKind.CANCELLED
        assert last.partial == stream.message()
        assert stream.message().metadata.status is il.MessageStatus.CANCELLED
        assert caught.value.partial == stream.response() == il.fold(events)
        assert stream.message().text

    asyncio.run(main())


def test_a_cancelled_task_keeps_what_had_arrived_and_stays_cancelled() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic"), pace=0.02) as server:
            async with client_of(server, "stream-anthropic") as client:
                stream = client.stream(SONNET, "Hello")

                async def read() -> None:
                    async with stream:
                        async for _ in stream:
                            pass

                task = asyncio.create_task(read())
                await asyncio.sleep(0.15)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                received = server.received[0]
                assert await asyncio.to_thread(
                    server.wait_until, lambda: received.left_at is not None, 2.0
                )
        assert stream.message().metadata.status is il.MessageStatus.CANCELLED
        assert stream.message().text

    asyncio.run(main())


def test_generating_can_be_cancelled_by_name_and_by_its_task() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="silence")
            async with client_of(server, "whole-anthropic") as client:
                work = client.generate(SONNET, "Hello", call_id="mine")
                task = asyncio.create_task(work)
                await asyncio.sleep(0.05)
                assert client.cancel("mine")
                assert not client.cancel("mine")
                with pytest.raises(CallCancelledError):
                    await task
                assert not client.cancel("mine")
                task = asyncio.create_task(client.generate(SONNET, "Hello"))
                await asyncio.sleep(0.05)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert not client.cancel()

    asyncio.run(main())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_that_is_cut_anywhere_is_complete_only_if_its_end_was_seen(dialect: str) -> None:
    """U6: closed cleanly after any frame. The last one may be cut where the dialect said before
    that it was over."""
    exchange = served.streamed(dialect, served.response(call=True))
    pieces = exchange.answer().pieces
    sizes = [len(piece.data) for piece in pieces]

    async def main() -> None:
        with serving(exchange) as server:
            async with client_of(server, exchange.id, max_retries=0, retry=None) as client:
                statuses = []
                for count in range(1, len(pieces)):
                    server.stage(f"cut after={sum(sizes[:count])} how=end")
                    events, stream, error = await collect(
                        client, MODELS[dialect], dialect=dialect_arg(dialect)
                    )
                    if not events:
                        assert isinstance(error, NetworkError)
                        continue
                    status = stream.message().metadata.status
                    assert (status is il.MessageStatus.COMPLETE) == (error is None)
                    assert isinstance(events[-1], MessageComplete if error is None else StreamError)
                    if error is not None:
                        assert isinstance(error, NetworkError)
                        assert error.partial == stream.response() == il.fold(events)
                        assert status is il.MessageStatus.ERROR
                        assert stream.message().metadata.stop_reason is il.StopReason.ERROR
                        assert TEXT.startswith(stream.message().text)
                    statuses.append(status)
                requests = len(server.received)
        assert il.MessageStatus.ERROR in statuses
        assert requests == len(pieces) - 1

    asyncio.run(main())


def test_a_reset_in_the_middle_keeps_the_partial_answer_and_is_not_tried_again() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            server.stage(always="cut after=-150 how=rst")
            async with client_of(server, "stream-anthropic") as client:
                events, stream, error = await collect(client, SONNET)
            assert len(server.received) == 1
        assert isinstance(error, NetworkError)
        assert isinstance(events[-1], StreamError)
        assert events[-1].partial == stream.message()
        assert stream.message().text == TEXT
        assert stream.message().metadata.status is il.MessageStatus.ERROR
        assert error.request_id is not None

    asyncio.run(main())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_inside_a_stream_is_an_error_with_what_had_arrived(dialect: str) -> None:
    async def main() -> None:
        exchange = served.streamed(dialect)
        with serving(exchange) as server:
            server.stage("error_event after=5")
            async with client_of(server, exchange.id) as client:
                events, stream, error = await collect(
                    client, MODELS[dialect], dialect=dialect_arg(dialect)
                )
            assert len(server.received) == 1
        assert error is not None
        assert isinstance(events[-1], StreamError)
        assert il.fold(events) == stream.response()
        assert stream.message().metadata.status is il.MessageStatus.ERROR
        assert stream.message().text
        assert TEXT.startswith(stream.message().text)

    asyncio.run(main())


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "gemini", "bedrock"])
def test_an_error_before_anything_else_is_tried_again_although_the_status_was_200(
    dialect: str,
) -> None:
    async def main() -> None:
        exchange = served.streamed(dialect)
        with serving(exchange) as server:
            server.stage("error_event after=0 kind=rate_limit", None)
            async with client_of(server, exchange.id) as client:
                events, stream, error = await collect(client, MODELS[dialect])
            assert len(server.received) == 2
        assert error is None
        assert stream.message().text == TEXT
        assert [attempt.kind for attempt in stream.attempts] == [il.ErrorKind.RATE_LIMIT, None]
        assert isinstance(events[-1], MessageComplete)

    asyncio.run(main())


def test_entering_a_stream_raises_what_fails_before_the_first_event() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            server.stage(always="overloaded status=503")
            async with client_of(server, "stream-anthropic") as client:
                events, _, error = await collect(client, SONNET)
            assert len(server.received) == 3
        assert events == []
        assert isinstance(error, ServerError)
        assert error.status == 503
        assert len(error.attempts) == 3

    asyncio.run(main())


def test_a_server_without_streams_is_understood_all_the_same() -> None:
    async def main() -> None:
        with serving(served.whole("openai-chat")) as server:
            async with client_of(server, "whole-openai-chat") as client:
                events, stream, error = await collect(client, MODELS["openai-chat"])
        assert error is None
        assert isinstance(events[-1], MessageComplete)
        assert stream.message().text == TEXT

    asyncio.run(main())


def test_a_json_error_with_status_200_is_an_error() -> None:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "slow down", "rate_limit_exceeded")

    async def main() -> None:
        with serving(served.failure("openai-chat", 200, error)) as server:
            async with client_of(server, "error", max_retries=0, retry=None) as client:
                _, _, caught = await collect(client, MODELS["openai-chat"])
                with pytest.raises(RateLimitError, match="slow down"):
                    await client.generate(MODELS["openai-chat"], "Hello")
        assert isinstance(caught, RateLimitError)

    asyncio.run(main())


def test_a_page_in_place_of_an_answer_is_an_error_that_says_so() -> None:
    page = Exchange(
        "page",
        "anthropic",
        "/v1/messages",
        body=b"<html><body>Please log in to the hotel's network</body></html>",
        headers=(("content-type", "text/html"),),
    )

    async def main() -> None:
        with serving(page) as server:
            async with client_of(server, "page") as client:
                _, _, caught = await collect(client, SONNET)
                with pytest.raises(ProviderFailure, match="text/html"):
                    await client.generate(SONNET, "Hello")
            assert len(server.received) == 2
        assert isinstance(caught, ProviderFailure)
        assert "text/html" in str(caught)

    asyncio.run(main())


def test_a_stream_is_used_once_and_has_nothing_before_it_began() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            async with client_of(server, "stream-anthropic") as client:
                stream = client.stream(SONNET, "Hello")
                with pytest.raises(il.InterlinguaError, match="not started"):
                    stream.response()
                async with stream:
                    pass
                with pytest.raises(il.InterlinguaError, match="once"):
                    async with stream:
                        pass

    asyncio.run(main())


def test_marks_tell_which_frame_an_event_came_from() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            async with client_of(server, "stream-anthropic") as client:
                plain, _, _ = await collect(client, SONNET)
                marked, _, _ = await collect(client, SONNET, marks=True)
        deltas = [event for event in marked if isinstance(event, TextDelta)]
        assert deltas
        assert all(event.frame is not None for event in deltas)
        assert any(event.frame is None for event in plain if isinstance(event, TextDelta))

    asyncio.run(main())
