"""Faults of providers and networks, staged on loopback: nothing received is lost, nothing is said
to be complete that was not, and no request is sent twice once its answer had begun to arrive.

The ids are those of the fault catalogue: U1 to U17."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import interlingua as il
from interlingua.client import (
    NetworkError,
    ProviderFailure,
)
from interlingua.client.retry import RetryPolicy
from interlingua.dialects.kernel.wire import encode
from interlingua.model.events import StreamError, TextDelta
from tests.client import served
from tests.client.faulty import CHAT, SONNET, ask, failing
from tests.client.served import MODELS, TEXT, client_of, dialect_arg, serving
from tests.replay.exchanges import Exchange


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
        result = usage.output_tokens if usage is not None else None
        assert result == output or (output is None and not result)
        counts = (usage.input_tokens, usage.output_tokens) if usage is not None else ()
        assert all(count is None or count >= 0 for count in counts)

    asyncio.run(main())
