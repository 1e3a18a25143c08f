"""Recorded answers of providers through the client, whole, cut anywhere, and in any pieces.

They come from memory in place of a socket: what is tested is everything after it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Mapping
from itertools import islice

import pytest

import interlingua as il
from interlingua.client import AsyncClient, AsyncStream, CallError, RetryPolicy
from interlingua.client.transport import HttpRequest, Limits, TransportError
from interlingua.costs.cost import with_runs
from interlingua.dialects.framing import decoder
from interlingua.model.events import MessageComplete, StreamError
from tests.client.served import ENVIRON, KEYS, MODELS, dialect_arg
from tests.effort import examples
from tests.laws.corpus import corpus_or_skip
from tests.replay.exchanges import Exchange, from_corpus

STREAMS = examples(25)
CUTS = 8
WHOLE = examples(150)
KINDS = {"ollama": "application/x-ndjson", "bedrock": "application/vnd.amazon.eventstream"}


class Recorded:
    """A transport that gives these pieces, and then an end or a break."""

    def __init__(self, pieces: list[bytes], kind: str, breaks: bool, status: int) -> None:
        self.pieces, self.kind, self.breaks, self.status = pieces, kind, breaks, status
        self.sent = 0

    async def send(self, request: HttpRequest, limits: Limits) -> RecordedReply:
        self.sent += 1
        return RecordedReply(self)

    async def close(self) -> None:
        pass


class RecordedReply:
    def __init__(self, transport: Recorded) -> None:
        self.status = transport.status
        self.headers: Mapping[str, str] = {"content-type": transport.kind}
        self._pieces = iter(transport.pieces)
        self._breaks = transport.breaks

    async def chunk(self) -> bytes:
        piece = next(self._pieces, b"")
        if not piece and self._breaks:
            raise TransportError("read", "the connection broke", sent=True, begun=True)
        return piece

    async def body(self, limit: int) -> bytes:
        return b"".join(self._pieces)

    def close(self) -> None:
        pass


def recorded(dialect: str, streams: bool) -> Iterator[Exchange]:
    corpus_or_skip()
    for exchange in from_corpus(dialect):
        if exchange.is_stream is streams:
            yield exchange


def client_for(transport: Recorded) -> AsyncClient:
    return AsyncClient(keys=KEYS, environ=ENVIRON, transport=transport, retry=RetryPolicy(0))


async def through(
    dialect: str, pieces: list[bytes], breaks: bool = False
) -> tuple[list[il.Event], AsyncStream, CallError | None]:
    kind = KINDS.get(dialect, "text/event-stream")
    async with client_for(Recorded(pieces, kind, breaks, 200)) as client:
        stream = client.stream(MODELS[dialect], "Hello", dialect=dialect_arg(dialect))
        events = []
        try:
            async with stream:
                async for event in stream:
                    events.append(event)
        except CallError as error:
            return events, stream, error
        return events, stream, None


def pieces_of(data: bytes, rng: random.Random) -> list[bytes]:
    cuts = sorted(rng.sample(range(len(data)), min(len(data) // 2, rng.randint(1, 60))))
    places = zip([0, *cuts], [*cuts, len(data)], strict=True)
    return [data[begin:end] for begin, end in places if begin < end]


def expected(dialect: str, data: bytes) -> il.Response:
    """What the dialect's own reader makes of these bytes."""
    frames, reader = decoder(dialect), il.dialect(dialect).stream_reader()
    events = [e for frame in (*frames.feed(data), *frames.close()) for e in reader.feed(frame)]
    return il.fold([*events, *reader.close()])


def counted(usage: il.Usage | None) -> il.Usage | None:
    """The usage without its cost, which the client adds."""
    changes = dict.fromkeys(("cost_usd", "cost_breakdown", "pricing_version", "unpriced"))
    return None if usage is None else usage.replace(**changes)


@pytest.mark.parametrize("dialect", list(MODELS))
def test_u7_recorded_streams_arrive_as_the_reader_reads_them_however_they_are_cut(
    dialect: str,
) -> None:
    rng = random.Random(7)

    async def main() -> int:
        count = 0
        for exchange in islice(recorded(dialect, True), STREAMS):
            data = exchange.answer().body
            result = expected(dialect, data)
            if not data:
                continue
            events, stream, error = await through(dialect, pieces_of(data, rng))
            count += 1
            assert (error is None) == (result.error is None), exchange.id
            if error is None:
                message = stream.message()
                assert isinstance(events[-1], MessageComplete)
                assert message.content == result.message.content, exchange.id
                assert counted(message.metadata.usage) == counted(with_runs(result.message))
                assert message.metadata.stop_reason == result.message.metadata.stop_reason
        return count

    assert asyncio.run(main()) or dialect == "openrouter"


@pytest.mark.parametrize("breaks", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("dialect", list(MODELS))
def test_u5_u6_recorded_streams_that_are_cut_are_complete_only_if_the_reader_saw_their_end(
    dialect: str, breaks: bool
) -> None:
    rng = random.Random(56)

    async def main() -> int:
        cut = 0
        for exchange in islice(recorded(dialect, True), STREAMS):
            data = exchange.answer().body
            for end in sorted(rng.sample(range(1, len(data)), min(CUTS, len(data) - 1))):
                events, stream, error = await through(dialect, [data[:end]], breaks)
                result = expected(dialect, data[:end])
                over = result.error is None
                assert (error is None) == over or not events, (exchange.id, end)
                if error is None:
                    continue
                cut += 1
                if not events:
                    continue
                assert isinstance(events[-1], StreamError)
                status = stream.message().metadata.status
                assert status is il.MessageStatus.ERROR
                assert stream.message().text == result.message.text, (exchange.id, end)
        return cut

    assert asyncio.run(main()) or dialect == "openrouter"


@pytest.mark.parametrize("dialect", list(MODELS))
def test_recorded_answers_and_errors_arrive_as_the_reader_reads_them(dialect: str) -> None:
    async def main() -> int:
        count = 0
        for exchange in islice(recorded(dialect, False), WHOLE):
            data = exchange.body
            transport = Recorded([data], "application/json", False, exchange.status)
            result = il.dialect(dialect).read_response(data)
            async with client_for(transport) as client:
                work = client.generate(MODELS[dialect], "Hello", dialect=dialect_arg(dialect))
                if exchange.status != 200 or result.error is not None:
                    with pytest.raises(CallError) as caught:
                        await work
                    assert exchange.status == 200 or caught.value.status == exchange.status
                else:
                    answer = await work
                    assert answer.message.content == result.message.content
                    assert counted(answer.usage) == counted(with_runs(result.message))
            assert transport.sent == 1
            count += 1
        return count

    assert asyncio.run(main()) or dialect == "openrouter"
