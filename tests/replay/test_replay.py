"""Providers' own SDKs take the replay server for the provider, and hear what was recorded."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anthropic import Anthropic
from botocore.exceptions import (  # type: ignore[import-untyped]  # it has no types
    ClientError,
    EventStreamError,
)
from openai import NotFoundError, OpenAI, RateLimitError

import interlingua as il
from tests.cassettes import cases, cassette, home
from tests.laws import corpus
from tests.replay import bare, faults
from tests.replay.exchanges import Exchange, from_record
from tests.replay.sdks import MISTRAL, SDKS, Heard, bedrock_client
from tests.replay.server import ReplayServer

GENERATED = [each for dialect in il.dialects() for each in cases.exchanges(dialect)]
SAID = [each for each in GENERATED if not each.id.partition(".")[2].startswith("error")]
SAMPLE = 4
"""Recorded exchanges of each kind; an SDK takes its time to start."""


@pytest.fixture(scope="module")
def running() -> Iterator[ReplayServer]:
    with ReplayServer(GENERATED, patience=5) as server:
        yield server


@pytest.fixture
def server(running: ReplayServer) -> ReplayServer:
    running.clear()
    return running


def meant(exchange: Exchange) -> Heard:
    """What our own readers hear."""
    content = folded(exchange).message.content
    text = "".join(block.text for block in content if isinstance(block, il.TextBlock))
    calls = [block for block in content if isinstance(block, il.ToolUseBlock)]
    return Heard(text, [(call.name, call.input) for call in calls if call.executor == "client"])


def folded(exchange: Exchange) -> il.Response:
    if exchange.frames is None:
        return il.dialect(exchange.dialect).read_response(exchange.body)
    return il.fold(home.read_frames(exchange.dialect, exchange.frames))


def heard(server: ReplayServer, exchange: Exchange, wire: str | None = None) -> Heard:
    sdk = MISTRAL if wire == "mistral" else SDKS[exchange.dialect]
    return (sdk.streamed if exchange.is_stream else sdk.whole)(server.url_of(exchange))


@pytest.mark.parametrize("exchange", SAID, ids=lambda each: each.id)
def test_an_sdk_hears_what_our_writers_said(server: ReplayServer, exchange: Exchange) -> None:
    result = heard(server, exchange)
    assert result == meant(exchange)
    assert result.text
    (received,) = server.received
    assert (received.exchange, received.fault) == (exchange.id, None)
    assert received.path.endswith(exchange.path.partition("?")[0].rpartition("/")[2][-8:])


WIRES = {
    "anthropic-messages": "anthropic",
    "bedrock-converse": "bedrock",
    "gemini": "gemini",
    "gemini-interactions": "gemini-interactions",
    "mistral": "openai-chat",
    "ollama-chat": "ollama",
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "other-openai-compatible": "openrouter",
}
"""Recordings to the dialect whose SDK is asked; of those compatible to OpenAI, OpenRouter's."""


def sample(wire: str, is_stream: bool) -> list[Exchange]:
    """Some recorded answers, spread over the recordings. Damaged arguments are left out: SDKs hand
    them on as text."""
    fitting = (
        from_record(record)
        for record in corpus.records(WIRES[wire])
        if record.wire == wire and record.status == 200 and (record.stream is not None) == is_stream
    )
    spread = islice(fitting, 0, 7 * SAMPLE, 7)
    return [each for each in spread if b"raw_arguments" not in il.dumps(folded(each))]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_sdk_hears_what_was_recorded(wire: str, is_stream: bool) -> None:
    corpus.corpus_or_skip()
    exchanges = sample(wire, is_stream)
    assert len(exchanges) > 1
    with ReplayServer(exchanges) as server:
        for exchange in exchanges:
            assert heard(server, exchange, wire) == meant(exchange), exchange.id


def test_an_error_is_the_sdks_own_error(server: ReplayServer) -> None:
    failures: dict[str, Any] = {}
    for dialect in il.dialects():
        if dialect == "cohere" and find_spec("cohere") is None:
            continue
        with pytest.raises(Exception, match="Too many requests") as caught:
            SDKS[dialect].whole(server.url_of(f"{dialect}.error"))
        failures[dialect] = caught.value
    assert isinstance(failures["openai-chat"], RateLimitError)
    assert failures["openai-chat"].request_id == "req_openai-chat.error"
    assert failures["anthropic"].status_code == 429
    assert failures["gemini"].code == 429
    assert failures["ollama"].status_code == 429
    assert isinstance(failures["bedrock"], ClientError)
    assert failures["bedrock"].response["Error"]["Code"] == "ThrottlingException"
    metadata = failures["bedrock"].response["ResponseMetadata"]
    assert metadata["RequestId"] == "req_bedrock.error"


def test_an_error_inside_a_stream_is_one_to_the_sdk(server: ReplayServer) -> None:
    with pytest.raises(EventStreamError, match="throttlingException"):
        SDKS["bedrock"].streamed(server.url_of("bedrock.error.stream"))
    with pytest.raises(Exception, match="Too many requests"):
        SDKS["anthropic"].streamed(server.url_of("anthropic.error.stream"))


# -- which exchange answers -----------------------------------------------------------------------


def test_a_request_is_answered_as_the_same_one_was(server: ReplayServer) -> None:
    """No id is said anywhere: the SDK sends what was recorded, and gets what was recorded."""
    for id in ("openai-chat.tools", "openai-chat.text", "openai-chat.tools.stream"):
        exchange = next(each for each in GENERATED if each.id == id)
        asked: Any = json.loads(exchange.request or b"")
        with OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0) as client:
            list(client.chat.completions.create(**asked))
        assert server.received[-1].exchange == id
        assert msgspec.json.decode(server.received[-1].body) == asked


def test_a_request_that_was_never_recorded_is_not_found(server: ReplayServer) -> None:
    with OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0) as client:
        asked: Any = [{"role": "user", "content": "Something else"}]
        with pytest.raises(NotFoundError, match="nothing recorded fits"):
            client.chat.completions.create(model="m", messages=asked)
    assert server.received[-1].exchange is None


def test_a_header_names_the_exchange(server: ReplayServer) -> None:
    headers = {"x-replay-exchange": "anthropic.tools"}
    with Anthropic(
        api_key="none", base_url=server.url, max_retries=0, default_headers=headers
    ) as client:
        hello: Any = [{"role": "user", "content": "Hello"}]
        result = client.messages.create(model="m", max_tokens=9, messages=hello)
    assert result.stop_reason == "tool_use"
    assert result._request_id == "req_anthropic.tools"


def test_several_answers_to_one_request_are_given_in_turn() -> None:
    path, asked = "/v1/chat/completions", b'{"model":"m","messages":[]}'
    bodies = [b'{"n":1}', b'{"n":2}']
    made = [Exchange(str(n), "openai-chat", path, asked, body=b) for n, b in enumerate(bodies)]
    with ReplayServer(made) as server:
        again = Exchange("", "openai-chat", path, b'{"messages": [], "model": "m"}')
        assert [bare.ask(server.url, again).body for _ in range(3)] == [*bodies, bodies[1]]


# -- the wire -------------------------------------------------------------------------------------


def test_gemini_streams_an_array_unless_it_is_asked_for_events(server: ReplayServer) -> None:
    exchange = next(each for each in GENERATED if each.id == "gemini.text.stream")
    path = exchange.path.partition("?")[0]
    array = bare.ask(server.url, Exchange("", "gemini", path, exchange.request))
    events = bare.ask(server.url, exchange)
    assert array.header("content-type") == "application/json; charset=UTF-8"
    assert events.header("content-type") == "text/event-stream; charset=utf-8"
    frames = [json.loads(frame.data) for frame in exchange.frames or ()]
    assert json.loads(array.body) == frames
    assert len(array.chunks) == len(frames) + 1


def test_bedrock_packs_the_frames_of_others_into_its_own(server: ReplayServer) -> None:
    exchange = next(each for each in GENERATED if each.id == "anthropic.text.stream")
    with bedrock_client(server.url_of(exchange)) as client:
        result = client.invoke_model_with_response_stream(modelId="m", body=exchange.request)
        chunks = [json.loads(event["chunk"]["bytes"]) for event in result["body"]]
    assert chunks == [json.loads(frame.data) for frame in exchange.frames or ()]


def test_frames_keep_a_distance_when_they_are_to() -> None:
    exchange = next(each for each in GENERATED if each.id == "ollama.text.stream")
    with ReplayServer([exchange], pace=0.03) as server:
        raw = bare.ask(server.url, exchange)
    assert len(raw.chunks) == len(exchange.frames or ())
    assert raw.seconds > 0.015 * len(raw.chunks)


def test_cassettes_are_served_as_they_were_taped() -> None:
    tapes = cassette.committed()
    assert tapes
    with ReplayServer(each for tape in tapes for each in tape.replayed()) as server:
        for tape in tapes:
            for taped, exchange in zip(tape.exchanges, tape.replayed(), strict=True):
                raw = bare.ask(server.url_of(exchange), exchange)
                assert (raw.status, raw.body) == (taped.status, taped.answered), exchange.id
                assert taped.chunks is None or raw.chunks == taped.pieces
                assert raw.header("content-type") == taped.headers["content-type"]


# -- what was received ----------------------------------------------------------------------------


def test_everything_that_was_sent_is_kept(server: ReplayServer) -> None:
    exchange = GENERATED[0]
    connection_numbers = []
    for _ in range(2):
        bare.ask(server.url, exchange, fault="dropped")
        connection_numbers.append(server.received[-1].connection)
    first, second = server.received
    assert (first.method, first.path, first.body) == ("POST", exchange.path, exchange.request)
    assert first.header("Content-Type") == "application/json"
    assert first.header("authorization") is None
    assert first.fault == "dropped"
    assert first.sent == 0
    assert first.at < second.at
    assert connection_numbers[0] != connection_numbers[1]


def test_a_connection_that_is_used_again_is_the_same_one(server: ReplayServer) -> None:
    exchange = GENERATED[0]
    with OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0) as client:
        asked: Any = json.loads(exchange.request or b"")
        for _ in range(3):
            client.chat.completions.create(**asked)
    assert len({each.connection for each in server.received}) == 1
    # A client has the last bytes a moment before the server notes that it sent them.
    assert server.wait_until(lambda: all(each.finished for each in server.received))


def test_a_client_that_leaves_is_noticed_at_once(server: ReplayServer) -> None:
    server.stage(faults.silence(after=10))
    exchange = next(each for each in GENERATED if each.id == "openai-chat.text.stream")
    raw = bare.ask(server.url, exchange, seconds=0.1)
    assert raw.end == "silence"
    assert server.wait_until(lambda: server.received[0].left_at is not None)
    assert not server.received[0].finished


def test_many_clients_are_served_at_once(server: ReplayServer) -> None:
    found: list[bytes] = []
    exchange = next(each for each in GENERATED if each.id == "anthropic.text.stream")

    def run() -> None:
        found.append(bare.ask(server.url, exchange, fault="drip size=40 pause=0.005").body)

    threads = [threading.Thread(target=run) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [exchange.answer().body] * 20


# -- on its own -----------------------------------------------------------------------------------


def test_it_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "tests.replay", "--dialect", "ollama", "--fault", "overloaded"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            exchange = cases.exchanges("ollama")[0]
            assert bare.ask(url, exchange).status == 529
            assert bare.ask(url, exchange).body == exchange.body
        finally:
            process.terminate()


def test_a_port_that_is_taken_is_an_error_and_no_server(server: ReplayServer) -> None:
    taken = ReplayServer(port=server.port)
    with pytest.raises(OSError, match="address already in use"):
        taken.__enter__()
