"""Faults of providers and networks, staged on loopback: nothing received is lost, nothing is said
to be complete that was not, and no request is sent twice once its answer had begun to arrive.

The ids are those of the fault catalogue: U1 to U17."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import interlingua as il
from interlingua.client import (
    AuthError,
    CallCancelledError,
    CallError,
    CallTimeoutError,
    ContextOverflowError,
    InvalidRequestError,
    NetworkError,
    ProviderFailure,
    RateLimitError,
    ServerError,
    TooLargeError,
)
from interlingua.client.retry import RetryPolicy
from interlingua.dialects.kernel.wire import encode
from interlingua.model.events import StreamError, TextDelta
from interlingua.providers.provider import Timeouts
from interlingua.providers.read import providers
from tests.client import served
from tests.client.served import MODELS, TEXT, client_of, dialect_arg, serving
from tests.replay.exchanges import Exchange

SONNET = MODELS["anthropic"]
CHAT = MODELS["openai-chat"]


def impatient(**limits: float) -> dict[str, Any]:
    """Providers with other limits."""
    return {key: il_provider_with(each, Timeouts(**limits)) for key, each in providers().items()}


def il_provider_with(provider: Any, timeouts: Timeouts) -> Any:
    import msgspec

    return msgspec.structs.replace(provider, timeouts=timeouts)


async def ask(client: Any, model: str, stream: bool, **how: Any) -> str:
    if not stream:
        return str((await client.generate(model, "Hello", **how)).text)
    async with client.stream(model, "Hello", **how) as reply:
        async for _ in reply:
            pass
        return str(reply.message().text)


async def failing(work: Awaitable[Any]) -> tuple[CallError, float]:
    """The error, and how long it took."""
    begun = time.monotonic()
    with pytest.raises(CallError) as caught:
        await work
    return caught.value, time.monotonic() - begun


async def in_time(once: Callable[[], Awaitable[Any]], low: float, high: float) -> CallError:
    """The error of a call that fails at a given time. A machine that has other things to do gets
    three chances to be late by itself."""
    for chance in range(3):
        error, spent = await failing(once())
        assert spent >= low
        if spent <= high or chance == 2:
            break
    assert spent <= high
    return error


def both(dialect: str) -> tuple[Exchange, Exchange]:
    return served.whole(dialect), served.streamed(dialect)


def exchange_id(dialect: str, stream: bool) -> str:
    return f"{'stream' if stream else 'whole'}-{dialect}"


STATUSES: dict[int, type[CallError]] = {
    400: InvalidRequestError,
    401: AuthError,
    403: AuthError,
    404: InvalidRequestError,
    413: ContextOverflowError,
    422: InvalidRequestError,
    429: RateLimitError,
    500: ServerError,
    502: ServerError,
    503: ServerError,
    504: ServerError,
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("dialect", list(MODELS))
def test_u2_u3_each_status_has_its_class_and_only_some_are_tried_again(
    dialect: str, stream: bool
) -> None:
    async def main() -> None:
        with serving(*both(dialect)) as server:
            id = exchange_id(dialect, stream)
            quick = RetryPolicy(max_retries=1, first=0.001)
            async with client_of(server, id, retry=quick) as client:
                for status, kind in STATUSES.items():
                    server.clear()
                    server.stage(always=f"failing status={status}")
                    work = ask(client, MODELS[dialect], stream, dialect=dialect_arg(dialect))
                    error, _ = await failing(work)
                    assert type(error) is kind, (status, error)
                    assert error.status == status
                    assert "staged by the replay server" in str(error)
                    again = status == 429 or status >= 500
                    assert len(server.received) == (2 if again else 1)
                    assert len(error.attempts) == len(server.received)
                    assert error.partial is None

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", ["overloaded", "rate_limited retry_after=0", "dropped"])
def test_u1_u2_what_passes_is_tried_again_and_then_answered(fault: str, stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(fault, fault)
            async with client_of(server, exchange_id("anthropic", stream)) as client:
                assert await ask(client, SONNET, stream) == TEXT
            assert len(server.received) == 3

    asyncio.run(main())


@pytest.mark.parametrize(
    ("asked", "said", "requests"),
    [
        ({"retry_after": 0.05}, 0.05, 2),
        ({"retry_after_ms": 50}, 0.05, 2),
        ({"retry_after": 61}, 61.0, 1),
        ({"retry_after": '"Wed, 21 Oct 2099 07:28:00 GMT"'}, None, 1),
        ({"retry_after": '"Wed, 21 Oct 2015 07:28:00 GMT"'}, 0.0, 2),
        ({"retry_after": -5}, None, 2),
        ({"retry_after": '"soon"'}, None, 2),
        ({"retry_after": '"1e999"'}, None, 2),
    ],
)
def test_u1_a_wait_that_is_asked_for_is_honoured_up_to_a_minute(
    asked: dict[str, Any], said: float | None, requests: int
) -> None:
    from tests.replay.faults import rate_limited

    values = {key: _plain(value) for key, value in asked.items()}

    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=rate_limited(**{"retry_after": None, **values}))
            quick = RetryPolicy(max_retries=1, first=0.001)
            async with client_of(server, "whole-anthropic", retry=quick) as client:
                error, spent = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == requests
        assert type(error) is RateLimitError
        if said is not None:
            assert error.retry_after == said
            assert spent >= said or requests == 1
        elif requests == 1:
            assert error.retry_after is not None
            assert error.retry_after > 1e9
        else:
            assert error.retry_after is None
        assert spent < 2

    asyncio.run(main())


def _plain(value: Any) -> Any:
    return value.strip('"') if isinstance(value, str) else value


def test_u1_no_wait_goes_beyond_the_deadline() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="rate_limited retry_after=30")
            async with client_of(server, "whole-anthropic") as client:
                error, spent = await failing(client.generate(SONNET, "Hello", deadline=0.5))
            assert len(server.received) == 1
        assert type(error) is RateLimitError
        assert error.retry_after == 30
        assert spent < 0.5

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "fault", ["silence", "silence after=0", "silence after=40", "late seconds=5"]
)
def test_u4_a_deadline_is_kept_wherever_the_server_stalls(fault: str, stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(always=fault)
            async with client_of(server, exchange_id("anthropic", stream)) as client:
                once = lambda: ask(client, SONNET, stream, deadline=0.3)  # noqa: E731 - once each time
                error = await in_time(once, 0.25, 0.55)
        assert isinstance(error, CallTimeoutError)
        assert isinstance(error, TimeoutError)
        assert error.phase == "deadline"
        assert len(error.attempts) == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    ("limits", "fault", "stream", "phase"),
    [
        ({"total": 0.2}, "silence", False, "total"),
        ({"total": 0.2}, "silence after=20", False, "total"),
        ({"first_byte": 0.2}, "silence", True, "first_byte"),
        ({"first_byte": 0.2}, "silence after=0", True, "first_byte"),
        ({"idle": 0.2}, "silence after=900", True, "idle"),
    ],
)
def test_u4_each_limit_has_its_name_and_nothing_is_sent_twice(
    limits: dict[str, float], fault: str, stream: bool, phase: str
) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(always=fault)
            id = exchange_id("anthropic", stream)
            async with client_of(server, id, providers=impatient(**limits)) as client:
                error = await in_time(lambda: ask(client, SONNET, stream), 0.15, 0.5)
        assert isinstance(error, CallTimeoutError)
        assert error.phase == phase
        assert error.sent
        assert len(error.attempts) == 1

    asyncio.run(main())


def test_u4_a_port_that_nobody_listens_on_and_a_host_that_is_not_there_differ() -> None:
    import socket

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def main() -> None:
        quick = RetryPolicy(max_retries=1, first=0.001)
        async with client_of(f"http://127.0.0.1:{port}", "", retry=quick) as client:
            refused, _ = await failing(client.generate(SONNET, "Hello"))
        assert type(refused) is NetworkError
        assert (refused.phase, refused.sent, len(refused.attempts)) == ("connect", False, 2)
        nowhere = {"ollama": "http://nowhere.invalid"}
        async with client_of("", "", retry=quick, base_urls=nowhere) as client:
            unknown, _ = await failing(client.generate(MODELS["ollama"], "Hello"))
        assert type(unknown) is NetworkError
        assert unknown.phase in ("dns", "connect")

    asyncio.run(main())


def test_u4_a_connection_that_never_stands_times_out_and_may_be_tried_again() -> None:
    """A listener whose queue is full lets nobody in."""
    import socket

    async def main() -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            waiting = [socket.socket() for _ in range(4)]
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(full.getsockname())
            url = f"http://127.0.0.1:{full.getsockname()[1]}"
            quick = RetryPolicy(max_retries=1, first=0.001)
            limits = impatient(connect=0.2)
            async with client_of(url, "", retry=quick, providers=limits) as client:
                error, spent = await failing(client.generate(SONNET, "Hello"))
            for each in waiting:
                each.close()
        assert isinstance(error, CallTimeoutError)
        assert (error.phase, error.sent) == ("connect", False)
        assert len(error.attempts) == 2
        assert 0.35 <= spent <= 1.0

    asyncio.run(main())


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_u5_an_answer_that_breaks_off_is_not_asked_for_again(how: str) -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=f"cut after=100 how={how}")
            async with client_of(server, "whole-anthropic") as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == 1
        assert type(error) is NetworkError
        assert error.begun

    asyncio.run(main())


@pytest.mark.parametrize("dialect", list(MODELS))
def test_u5_u6_a_stream_that_is_cut_at_any_byte_keeps_exactly_what_came(dialect: str) -> None:
    exchange = served.streamed(dialect, served.response(call=True))
    size = sum(len(piece.data) for piece in exchange.answer().pieces)

    async def main() -> None:
        with serving(exchange) as server:
            async with client_of(server, exchange.id, retry=RetryPolicy(0)) as client:
                for after in range(1, size, max(1, size // 25)):
                    server.stage(f"cut after={after} how=fin")
                    stream = client.stream(MODELS[dialect], "Hi", dialect=dialect_arg(dialect))
                    events: list[Any] = []
                    try:
                        async with stream:
                            async for event in stream:
                                events.append(event)
                    except NetworkError:
                        pass
                    if not events:
                        continue
                    text = "".join(e.text for e in events if isinstance(e, TextDelta))
                    message = stream.message()
                    assert message.text == text
                    failed = isinstance(events[-1], StreamError)
                    ended = message.metadata.status
                    assert ended is (
                        il.MessageStatus.ERROR if failed else il.MessageStatus.COMPLETE
                    )
                    assert failed or message.tool_calls[0].input == {"a": 2, "b": 2}

    asyncio.run(main())


@pytest.mark.parametrize("dialect", list(MODELS))
def test_u7_bytes_may_be_cut_anywhere(dialect: str) -> None:
    async def main() -> None:
        exchange = served.streamed(dialect)
        with serving(exchange) as server:
            server.stage("drip size=7 pause=0.0001")
            async with client_of(server, exchange.id) as client:
                text = await ask(client, MODELS[dialect], True, dialect=dialect_arg(dialect))
        assert text == TEXT

    asyncio.run(main())


@pytest.mark.parametrize("fault", ["invalid_utf8", "garbage", "line_ends", "half_chunk"])
def test_u8_garbage_is_an_error_of_ours_or_no_fault_at_all(fault: str) -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            server.stage(always=fault)
            async with client_of(server, "stream-anthropic") as client:
                if fault == "line_ends":
                    assert await ask(client, SONNET, True) == TEXT
                else:
                    error, _ = await failing(ask(client, SONNET, True))
                    assert isinstance(error, (NetworkError, ProviderFailure))
            assert len(server.received) == 1

    asyncio.run(main())


@pytest.mark.parametrize("fault", ["garbage where=head", "large_headers size=200000"])
def test_u8_garbage_in_place_of_http_is_an_error_of_ours(fault: str) -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=fault)
            async with client_of(server, "whole-anthropic", retry=RetryPolicy(0)) as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
        assert isinstance(error, (NetworkError, ProviderFailure))

    asyncio.run(main())


def test_u8_a_body_that_is_no_json_is_an_error_without_its_content() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="garbage")
            async with client_of(server, "whole-anthropic") as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == 1
        assert type(error) is ProviderFailure
        assert "could not parse" in str(error)

    asyncio.run(main())


def test_u11_the_last_frame_twice_changes_nothing() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            server.stage("duplicate_end times=2 frames=2")
            async with client_of(server, "stream-anthropic") as client:
                stream = client.stream(SONNET, "Hello")
                async with stream:
                    events = [event async for event in stream]
        assert [type(event).__name__ for event in events].count("MessageComplete") == 1
        assert stream.message().text == TEXT

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("status", [403, 500, 502])
def test_u12_a_page_of_some_proxy_has_the_class_of_its_status(status: int, stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(always=f"html_error status={status}")
            id = exchange_id("anthropic", stream)
            async with client_of(server, id, retry=RetryPolicy(0)) as client:
                error, _ = await failing(ask(client, SONNET, stream))
        assert type(error) is STATUSES[status]
        assert "text/html" in str(error)
        assert "<" not in str(error)

    asyncio.run(main())


def test_u14_pings_keep_a_stream_alive_and_silence_ends_it() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            limits = impatient(idle=0.25, first_byte=0.25, total=0.1)
            async with client_of(server, "stream-anthropic", providers=limits) as client:
                server.stage("keep_alive count=3 pause=0.02")
                begun = time.monotonic()
                assert await ask(client, SONNET, True) == TEXT
                assert time.monotonic() - begun > 0.5, "longer than any one limit"
                server.stage("silence after=900")
                error, _ = await failing(ask(client, SONNET, True))
        assert isinstance(error, CallTimeoutError)
        assert error.phase == "idle"
        assert error.partial is not None
        assert error.partial.message.text

    asyncio.run(main())


def test_u14_a_slow_reader_is_no_silence() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            limits = impatient(idle=0.1, first_byte=0.1)
            async with client_of(server, "stream-anthropic", providers=limits) as client:
                stream = client.stream(SONNET, "Hello")
                async with stream:
                    await asyncio.sleep(0.3)
                    events = [event async for event in stream]
        assert events
        assert stream.message().text == TEXT

    asyncio.run(main())


def test_a_deadline_that_passes_while_the_reader_rests_is_told_when_it_asks_for_more() -> None:
    async def main() -> None:
        with serving(served.streamed("anthropic"), pace=0.15) as server:
            async with client_of(server, "stream-anthropic") as client:
                stream = client.stream(SONNET, "Hello", deadline=0.4)

                async def read() -> None:
                    rests = iter([True, True])  # while it passes, and after it; then all that came
                    async with stream:
                        async for _ in stream:
                            if not next(rests, False):
                                continue
                            spent = time.process_time()
                            await asyncio.sleep(0.6)
                            assert time.process_time() - spent < 0.2, "nothing turns meanwhile"

                error, _ = await failing(read())
        assert isinstance(error, CallTimeoutError)
        assert error.phase == "deadline"

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_u15_compressed_answers_are_read_and_too_large_ones_refused(stream: bool) -> None:
    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage("gzipped", always="gzip_bomb size=8000000")
            id = exchange_id("anthropic", stream)
            async with client_of(server, id, max_bytes=1_000_000) as client:
                assert await ask(client, SONNET, stream) == TEXT
                error, _ = await failing(ask(client, SONNET, stream))
            assert len(server.received) == 2
        assert isinstance(error, TooLargeError)

    asyncio.run(main())


@pytest.mark.parametrize("fault", ["truncated_gzip", "wrong_length by=50"])
def test_u15_a_body_that_is_shorter_than_it_says_is_not_an_answer(fault: str) -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always=fault)
            async with client_of(server, "whole-anthropic") as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == 1
        assert isinstance(error, (NetworkError, ProviderFailure))

    asyncio.run(main())


@pytest.mark.parametrize("packed", ["br", "gzip, gzip", "something"])
def test_u15_encodings_that_were_not_asked_for_are_refused(packed: str) -> None:
    exchange = Exchange(
        "packed",
        "anthropic",
        "/v1/messages",
        body=b"...",
        headers=(("content-type", "application/json"), ("content-encoding", packed)),
    )

    async def main() -> None:
        with serving(exchange) as server:
            async with client_of(server, "packed", retry=RetryPolicy(0)) as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
        assert "encoding" in str(error) or "before the response was complete" in str(error)

    asyncio.run(main())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_u16_redirects_are_not_followed(status: int) -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server, serving() as elsewhere:
            server.stage(always=f"redirect to={elsewhere.url}/v1/messages status={status}")
            async with client_of(server, "whole-anthropic") as client:
                error, _ = await failing(client.generate(SONNET, "Hello"))
            assert len(server.received) == 1
            assert elsewhere.received == []
        assert type(error) is ProviderFailure
        assert "redirect" in str(error)

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_connection_that_was_closed_while_idle_costs_nobody_anything(stream: bool) -> None:
    """Whatever the race between our request and their end, the caller does not see it."""

    async def main() -> None:
        with serving(*both("anthropic")) as server:
            server.stage(*["close_idle"] * 20)
            async with client_of(server, exchange_id("anthropic", stream)) as client:
                for turn in range(20):
                    assert await ask(client, SONNET, stream) == TEXT
                    if turn % 2:
                        await asyncio.sleep(0.005)

    asyncio.run(main())


def test_a_wrong_key_is_no_reason_to_ask_somebody_else_unless_that_is_wanted() -> None:
    async def main() -> None:
        with serving(*both("anthropic"), *both("openai-chat")) as server:
            places = {
                "anthropic": f"{server.url}/@whole-anthropic",
                "openai": f"{server.url}/@whole-openai-chat/v1",
            }
            server.stage("failing status=401", "failing status=401")
            async with client_of(server, "", base_urls=places) as client:
                error, _ = await failing(client.generate(SONNET, "Hello", fallbacks=[CHAT]))
            also = [il.ErrorKind.AUTH]
            async with client_of(server, "", base_urls=places, fallback_on=also) as client:
                answer = await client.generate(SONNET, "Hello", fallbacks=[CHAT])
            assert len(server.received) == 3
        assert type(error) is AuthError
        assert answer.model == CHAT

    asyncio.run(main())


def test_a_fallback_that_is_not_set_up_does_not_hide_why_it_was_asked_for() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="overloaded status=503")
            keys = {"anthropic": served.KEYS["anthropic"]}
            async with client_of(
                server, "whole-anthropic", retry=RetryPolicy(0), keys=keys
            ) as client:
                error, _ = await failing(client.generate(SONNET, "Hello", fallbacks=[CHAT]))
        assert type(error) is ServerError
        assert [attempt.model for attempt in error.attempts] == [SONNET, CHAT]

    asyncio.run(main())


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_fallback_answers_and_what_happened_is_listed(stream: bool) -> None:
    thought = il.ThinkingBlock("hm", signature="signed by Anthropic")
    by = il.MessageMetadata(model=SONNET, provider="anthropic", protocol="anthropic")
    history = [
        il.Message.user("Hello"),
        il.Message.assistant([thought, il.TextBlock("Hi")], by),
        il.Message.user("How are you?"),
    ]

    async def main() -> None:
        with serving(*both("anthropic"), *both("openai-chat")) as server:
            server.stage("overloaded", "dropped")
            quick = RetryPolicy(max_retries=1, first=0.001)
            places = {
                "anthropic": f"{server.url}/@{exchange_id('anthropic', stream)}",
                "openai": f"{server.url}/@{exchange_id('openai-chat', stream)}/v1",
            }
            async with client_of(server, "", retry=quick, base_urls=places) as client:
                answer = await answered(client, history, stream)
            bodies = [received.body for received in server.received]
        assert answer.text == TEXT
        assert answer.model == CHAT
        assert answer.message.metadata.protocol == "openai-chat"
        assert [(attempt.model, attempt.kind) for attempt in answer.attempts] == [
            (SONNET, il.ErrorKind.SERVER_ERROR),
            (SONNET, il.ErrorKind.NETWORK),
            (CHAT, None),
        ]
        assert b"signed by Anthropic" in bodies[0]
        assert b"signed by Anthropic" not in bodies[2]
        assert b'"messages"' in bodies[2]
        assert len(answer.report) == 1

    async def answered(client: Any, history: list[il.Message], stream: bool) -> Any:
        if not stream:
            return await client.generate(SONNET, history, fallbacks=[CHAT])
        async with client.stream(SONNET, history, fallbacks=[CHAT]) as told:
            async for _ in told:
                pass
            return told.answer()

    asyncio.run(main())


def test_after_the_first_event_nobody_else_is_asked() -> None:
    async def main() -> None:
        with serving(*both("anthropic"), *both("openai-chat")) as server:
            server.stage("error_event after=4 kind=rate_limit")
            async with client_of(server, "stream-anthropic") as client:
                work = ask(client, SONNET, True, fallbacks=[CHAT])
                error, _ = await failing(work)
            assert len(server.received) == 1
        assert type(error) is RateLimitError
        assert error.partial is not None

    asyncio.run(main())


def chunks(*deltas: dict[str, Any], usage: list[dict[str, int]]) -> Exchange:
    """A Chat stream with these deltas, and these usages at its end."""

    def frame(choices: list[Any], **more: Any) -> il.Frame:
        head = {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": choices}
        return il.Frame(None, encode({**head, **more}).decode())

    frames = [frame([{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    frames.append(frame([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]))
    frames += [frame([], usage=each) for each in usage]
    frames.append(il.Frame(None, "[DONE]"))
    return Exchange("odd", "openai-chat", "/v1/chat/completions", frames=tuple(frames))


def part(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments}
    if "name" in more:
        function["name"] = more.pop("name")
    return {"tool_calls": [{"index": index, "type": "function", "function": function, **more}]}


def test_u9_u10_interleaved_calls_stay_apart_and_have_ids_of_their_own() -> None:
    exchange = chunks(
        part(0, "", name="add", id="same"),
        part(3, '{"city":', name="weather"),
        part(0, '{"a": 1'),
        part(3, ' "Ulm"}'),
        part(5, '{"a": 2, "b"', name="add", id="same"),
        part(0, ', "b": 2}'),
        usage=[],
    )

    async def main() -> None:
        with serving(exchange) as server:
            async with client_of(server, "odd") as client:
                stream = client.stream(CHAT, "Hello")
                async with stream:
                    async for _ in stream:
                        pass
        calls = stream.message().tool_calls
        assert [call.name for call in calls] == ["add", "weather", "add"]
        assert [call.input for call in calls[:2]] == [{"a": 1, "b": 2}, {"city": "Ulm"}]
        assert len({call.id for call in calls if call.name == "weather"} | {"same"}) == 2
        assert all(call.id for call in calls)
        assert calls[2].raw_arguments == '{"a": 2, "b"', "kept as it came, for nobody to run"
        assert stream.message().metadata.diagnostics

    asyncio.run(main())


@pytest.mark.parametrize(
    ("usages", "output"),
    [
        ([], None),
        ([{"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}] * 2, 7),
        ([{"prompt_tokens": -5, "completion_tokens": -7, "total_tokens": -12}], None),
    ],
    ids=["missing", "twice", "negative"],
)
def test_u13_counts_are_never_negative_and_never_counted_twice(
    usages: list[dict[str, int]], output: int | None
) -> None:
    async def main() -> None:
        exchange = chunks({"role": "assistant", "content": "Hi"}, usage=usages)
        with serving(exchange) as server:
            async with client_of(server, "odd") as client:
                stream = client.stream(CHAT, "Hello")
                async with stream:
                    async for _ in stream:
                        pass
        usage = stream.message().metadata.usage
        told = usage.output_tokens if usage is not None else None
        assert told == output or (output is None and not told)
        counts = (usage.input_tokens, usage.output_tokens) if usage is not None else ()
        assert all(count is None or count >= 0 for count in counts)

    asyncio.run(main())


def test_cancelling_while_waiting_for_the_next_try_ends_the_wait() -> None:
    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="rate_limited retry_after=20")
            async with client_of(server, "whole-anthropic") as client:
                task = asyncio.create_task(client.generate(SONNET, "Hello", call_id="mine"))
                begun = time.monotonic()
                await asyncio.sleep(0.2)
                assert client.cancel("mine")
                with pytest.raises(CallCancelledError):
                    await task
                assert time.monotonic() - begun < 10
            assert len(server.received) == 1

    asyncio.run(main())
