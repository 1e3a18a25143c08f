"""The client without `await`: the same, from any thread."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.client import CallCancelledError, Client, NetworkError, RateLimitError, RetryPolicy
from interlingua.model.events import MessageComplete, StreamError, TextDelta
from tests.client import served
from tests.client.served import ENVIRON, KEYS, MODELS, QUICK, TEXT, bases, serving

SONNET = MODELS["anthropic"]


def client_of(server: Any, id: str, **how: Any) -> Client:
    usual = {"keys": KEYS, "environ": ENVIRON, "retry": QUICK, "base_urls": bases(server, id)}
    return Client(**{**usual, **how})


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "gemini", "ollama", "bedrock"])
def test_whole_answers_and_streams_come_without_await(dialect: str) -> None:
    with serving(served.whole(dialect), served.streamed(dialect)) as server:
        with client_of(server, f"whole-{dialect}") as client:
            answer = client.generate(MODELS[dialect], "Hello")
        with (
            client_of(server, f"stream-{dialect}") as client,
            client.stream(MODELS[dialect], "Hello") as stream,
        ):
            events = list(stream)
            reply = stream.answer()
    assert answer.text == reply.text == TEXT
    assert isinstance(events[-1], MessageComplete)
    assert il.fold(events) == stream.response()
    assert stream.message().content == answer.message.content
    assert reply.model == stream.model == MODELS[dialect]


def test_events_come_one_by_one_as_they_arrive() -> None:
    with (
        serving(served.streamed("anthropic"), pace=0.03) as server,
        client_of(server, "stream-anthropic") as client,
        client.stream(SONNET, "Hello") as stream,
    ):
        times = [time.monotonic() for event in stream if isinstance(event, TextDelta)]
    assert times[-1] - times[0] > 0.1


def test_a_slow_reader_holds_up_the_thread_and_misses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("interlingua.client.sync._MOST_WAITING", 2)
    text = "word " * 500
    exchange = served.streamed("anthropic", served.response(text))
    with (
        serving(exchange, pace=0.0002) as server,
        client_of(server, exchange.id) as client,
        client.stream(SONNET, "Hello") as stream,
    ):
        content, most = [], 0
        for event in stream:
            if isinstance(event, TextDelta):
                content.append(event.text)
                most = max(most, stream._ready.qsize())
                if len(content) % 50 == 0:
                    time.sleep(0.05)
    assert "".join(content) == text
    assert most <= 3


def test_leaving_a_stream_early_keeps_what_came_and_cancels_upstream() -> None:
    with (
        serving(served.streamed("anthropic"), pace=0.02) as server,
        client_of(server, "stream-anthropic") as client,
    ):
        with client.stream(SONNET, "Hello") as stream:
            for event in stream:
                if isinstance(event, TextDelta):
                    break
        left = time.monotonic()
        received = server.received[0]
        assert server.wait_until(lambda: received.left_at is not None, 2.0)
        assert received.left_at is not None
        assert received.left_at - left < 0.5
        message = stream.message()
    assert message.metadata.status is il.MessageStatus.CANCELLED
    assert TEXT.startswith(message.text)


def test_another_thread_can_cancel() -> None:
    with serving(served.whole("anthropic"), served.streamed("anthropic"), pace=0.05) as server:
        with client_of(server, "stream-anthropic") as client:
            stream = client.stream(SONNET, "Hello")
            events: list[Any] = []

            def read() -> None:
                with stream:
                    for event in stream:
                        events.append(event)
                        if len(events) == 3:
                            threading.Timer(0.01, stream.cancel).start()

            with pytest.raises(CallCancelledError):
                read()
            assert isinstance(events[-1], StreamError)
        server.stage(always="silence")
        with client_of(server, "whole-anthropic") as client:
            threading.Timer(0.1, client.cancel).start()
            with pytest.raises(CallCancelledError):
                client.generate(SONNET, "Hello")


def test_ctrl_c_stops_the_stream_and_what_came_is_kept() -> None:
    import signal

    with serving(served.streamed("anthropic"), pace=0.05) as server:
        client = client_of(server, "stream-anthropic")
        stream = client.stream(SONNET, "Hello")
        main = threading.main_thread().ident
        assert main is not None
        timer = threading.Timer(0.4, lambda: signal.pthread_kill(main, signal.SIGINT))
        timer.start()

        def read() -> None:
            with stream:
                for _ in stream:
                    pass

        with pytest.raises(KeyboardInterrupt):
            read()
        received = server.received[0]
        assert server.wait_until(lambda: received.left_at is not None, 2.0)
        assert stream.message().metadata.status is il.MessageStatus.CANCELLED
        client.close()


def test_errors_and_retries_are_the_same() -> None:
    with serving(served.whole("anthropic")) as server:
        server.stage("overloaded", None, always="rate_limited retry_after=90")
        with client_of(server, "whole-anthropic") as client:
            assert client.generate(SONNET, "Hello").text == TEXT
            with pytest.raises(RateLimitError) as caught:
                client.generate(SONNET, "Hello")
    assert caught.value.retry_after == 90


def test_many_threads_share_one_client() -> None:
    with serving(served.whole("anthropic")) as server:
        texts: list[str] = []
        with client_of(server, "whole-anthropic") as client:

            def work() -> None:
                for _ in range(5):
                    texts.append(client.generate(SONNET, "Hello").text)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert texts == [TEXT] * 40


def test_tools_and_structured_output_and_counts_work_as_well() -> None:
    class Pet(msgspec.Struct):
        name: str

    pet = served.whole("anthropic", served.response('{"name": "Rex"}'), "pet")
    calling = served.whole("anthropic", served.response(call=True), "calling")
    tool = il.ToolDefinition("add", "Adds.", {"type": "object"}, il.SideEffects.NONE)
    with serving(pet, calling) as server:
        with client_of(server, "pet") as client:
            assert client.parse(SONNET, "A pet", Pet).value == Pet("Rex")
            assert client.count_tokens(MODELS["ollama"], "Hello there").source == "estimate"
        with client_of(server, "calling") as client:
            inner = client_of(server, "pet")
            run = client.run(
                SONNET, "Add", [tool], {"add": lambda a, b: inner.generate(SONNET, "x").text}
            )
            inner.close()
    assert [step.results[0].is_error for step in run.steps if step.results] == [False]


def test_a_closed_client_says_so_and_leaves_no_thread() -> None:
    def threads() -> int:
        return sum(thread.name == "interlingua-client" for thread in threading.enumerate())

    before = threads()
    with serving(served.whole("anthropic")) as server:
        client = client_of(server, "whole-anthropic")
        assert threads() == before, "no thread before it is needed"
        client.generate(SONNET, "Hello")
        assert threads() == before + 1
        client.close()
        client.close()
    assert threads() == before
    with pytest.raises(il.InterlinguaError, match="closed"):
        client.generate(SONNET, "Hello")


def test_closing_ends_what_is_under_way() -> None:
    with serving(served.whole("anthropic")) as server:
        server.stage(always="silence")
        client = client_of(server, "whole-anthropic", retry=RetryPolicy(0))
        failed: list[Exception] = []

        def work() -> None:
            try:
                client.generate(SONNET, "Hello")
            except (CallCancelledError, NetworkError) as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        assert server.wait_until(lambda: bool(server.received), 2.0)
        client.close()
        thread.join(timeout=3)
        assert not thread.is_alive()
    assert [type(odd) for odd in failed] == [CallCancelledError]


def test_a_client_that_nobody_closed_leaves_no_complaint() -> None:
    program = """if True:
        import sys, interlingua as il
        client = il.Client(keys={"anthropic": "k"}, base_urls={"anthropic": sys.argv[1]})
        print(client.generate(sys.argv[2], "Hello").text)
        client.generate(sys.argv[2], "Hello")
    """
    with serving(served.whole("anthropic")) as server:
        url = bases(server, "whole-anthropic")["anthropic"]
        command = [sys.executable, "-W", "error", "-c", program, url, SONNET]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == TEXT
    assert done.stderr == ""
