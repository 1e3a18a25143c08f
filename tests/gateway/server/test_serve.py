"""`interlingua serve` as a real process: how it starts, reloads and goes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.events.event import NO_SESSION
from tests.gateway.forks import Fork
from tests.gateway.serving import ANTHROPIC, Upstream, asked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def whole_process(words: list[str], environ: dict[str, str]) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, "-m", *words], subprocess.PIPE
    return subprocess.Popen(command, env=environ, stdout=pipe, stderr=pipe, text=True)


class Process:
    """A gateway; `lines` are those of its log. `whole` loads the package, as users do."""

    def __init__(self, home: Path, *arguments: str, whole: bool = False) -> None:
        environ = {**os.environ, "INTERLINGUA_HOME": str(home), "PYTHONUNBUFFERED": "1"}
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "INTERLINGUA_STORE"):
            environ.pop(name, None)
        words = ["interlingua", "serve", "--port", "0", *arguments]
        self.home = home
        self.process: subprocess.Popen[str] | Fork = (
            whole_process(words, environ)
            if whole
            else Fork(words, env=environ, stderr=subprocess.PIPE)
        )
        self.lines: list[dict[str, Any]] = []
        self.text = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        if not first:
            self.process.wait(20)
            self._reader.join(5)
            self.stop()
            raise AssertionError(f"did not start: {self.text}")
        self.port = int(first.split("http://", 1)[1].split()[0].rpartition(":")[2])

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.text += line
            with suppress(ValueError):
                self.lines.append(json.loads(line))

    def log(self, event: str, seconds: float = 10) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.lines:
                if line.get("event") == event:
                    return line
            time.sleep(0.02)
        raise AssertionError(f"no {event} in {self.text}")

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        with self.open(method, path, body) as (_, reply):
            data = reply.read()
            with suppress(ValueError):
                return reply.status, json.loads(data)
            return reply.status, data.decode()

    @contextmanager
    def open(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> Iterator[tuple[HTTPConnection, HTTPResponse]]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            data = None if body is None else json.dumps(body)
            if body is not None:
                headers["content-type"] = "application/json"
            connection.request(method, path, data, headers)
            yield connection, connection.getresponse()
        finally:
            connection.close()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = 20) -> int:
        return self.process.wait(seconds)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            self._reader.join(5)
            pipe.close()


SLOW = asked("slow", stream=True, max_tokens=50)
FILE = """
default_model = "{model}"
[listen]
notice_seconds = {notice}
drain_seconds = {drain}
[limits]
header_seconds = {header}
headers = 8192
"""


@contextmanager
def running(
    home: Path,
    *arguments: str,
    notice: float = 0.3,
    drain: float = 5.0,
    pace: float = 0.01,
    header: float = 10.0,
) -> Iterator[tuple[Process, Upstream]]:
    with Upstream(pace) as provider:
        provider.configure(home)
        file = home / "gateway.toml"
        file.write_text(FILE.format(model=ANTHROPIC, notice=notice, drain=drain, header=header))
        process = Process(home, "--config", str(file), *arguments)
        try:
            yield process, provider
        finally:
            process.stop()


def test_it_says_where_it_is_and_serves_with_nothing_configured(tmp_path: Path) -> None:
    process = Process(tmp_path, whole=True)
    try:
        assert process.ask("GET", "/health/ready")[0] == 200
        status, listed = process.ask("GET", "/v1/models")
        assert status == 200
        assert "local:smollm2-135m-instruct" in [each["id"] for each in listed["data"]]
        assert (tmp_path / "interlingua.db").exists()
        process.send(signal.SIGINT)
        assert process.wait() == 0
    finally:
        process.stop()


def test_a_stream_under_way_ends_by_itself_after_the_first_signal(tmp_path: Path) -> None:
    with running(tmp_path, notice=2.0, drain=60.0) as (process, _):
        with process.open("POST", "/v1/chat/completions", SLOW) as (_, reply):
            assert reply.status == 200
            first = reply.read(64)
            process.send(signal.SIGTERM)
            status, collected, end = 0, {}, time.monotonic() + 2
            while status != 503 and time.monotonic() < end:  # the signal may take a moment
                status, collected = process.ask("GET", "/health/ready")
            assert (status, collected["status"]) == (503, "draining"), "it is said first"
            assert process.ask("GET", "/health/live")[0] == 200
            whole = first + reply.read()
        assert whole.rstrip().endswith(b"data: [DONE]")
        assert b"w399" in whole
        with pytest.raises(OSError, match="refused"):
            process.ask("GET", "/health/live")
        assert process.wait() == 0
    with il.open_store(str(tmp_path / "interlingua.db")) as store:
        (event,) = store.events(NO_SESSION)
    assert event.type == "llm.call_completed", "what was told is in the trace"


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/chat/completions", SLOW, b"shutting down"),
        ("/v1/messages", {**SLOW, "max_tokens": 99}, b"event: error"),
        ("/v1/responses", {**SLOW, "input": "slow"}, b"shutting down"),
    ],
)
def test_a_stream_that_takes_too_long_is_told_so_in_its_own_dialect(
    tmp_path: Path, path: str, body: dict[str, Any], says: bytes
) -> None:
    if path == "/v1/responses":
        body = {key: value for key, value in body.items() if key != "messages"}
    with running(tmp_path, notice=0.0, drain=0.5, pace=0.2) as (process, provider):
        with process.open("POST", path, body) as (_, reply):
            assert reply.status == 200, reply.read()
            first = reply.read(32)
            began = time.monotonic()
            process.send(signal.SIGTERM)
            whole = first + reply.read()
            took = time.monotonic() - began
        assert says in whole, whole[-500:]
        assert b"[DONE]" not in whole or b"error" in whole
        assert 0.4 < took < 10
        assert process.wait() == 0
        assert provider.left.wait(10), "and upstream is let go"


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with running(tmp_path, notice=20.0, drain=60.0, pace=0.2) as (process, _):
        with process.open("POST", "/v1/chat/completions", SLOW) as (_, reply):
            first = reply.read(32)
            process.send(signal.SIGTERM)
            time.sleep(0.4)
            assert process.process.poll() is None
            began = time.monotonic()
            process.send(signal.SIGTERM)
            whole = first + reply.read()
        assert b"shutting down" in whole
        assert process.wait() == 0
        assert time.monotonic() - began < 15


def test_a_request_that_waits_for_its_answer_is_told_to_come_back(tmp_path: Path) -> None:
    with running(tmp_path, notice=0.0, drain=0.3) as (process, _):
        deaf = socket.create_server(("127.0.0.1", 0))  # takes the connection, and says nothing
        text = f'[providers.anthropic]\nbase_url = "http://127.0.0.1:{deaf.getsockname()[1]}"\n'
        (tmp_path / "providers.toml").write_text(text + 'key = "k-0123456789"\n')
        process.send(signal.SIGHUP)
        process.log("reloaded")
        timer = threading.Timer(0.5, process.send, (signal.SIGTERM,))
        timer.start()
        status, reply = process.ask("POST", "/v1/chat/completions", asked("hello"))
        timer.join()
        deaf.close()
        assert status == 503
        assert "shutting down" in reply["error"]["message"]
        assert process.wait() == 0


def test_a_file_is_read_again_without_dropping_a_stream(tmp_path: Path) -> None:
    with running(tmp_path) as (process, _):
        file = tmp_path / "gateway.toml"
        before = file.read_text()
        body = asked("hello", model="team:mine")
        assert process.ask("POST", "/v1/chat/completions", body)[0] == 404
        with process.open("POST", "/v1/chat/completions", SLOW) as (_, reply):
            first = reply.read(64)
            file.write_text(before + f'[routes."team:mine"]\nmodel = "{ANTHROPIC}"\n')
            process.send(signal.SIGHUP)
            process.log("reloaded")
            status, response = process.ask("POST", "/v1/chat/completions", body)
            assert (status, response["model"]) == (200, "team:mine")
            file.write_text(before + "[routes.mine]\nmodel = 3\nnonsense = true\n")
            process.send(signal.SIGHUP)
            assert "routes.mine" in process.log("reload_refused")["why"]
            assert process.ask("POST", "/v1/chat/completions", body)[0] == 200, "as it was"
            whole = first + reply.read()
        assert b"w399" in whole
        assert whole.rstrip().endswith(b"data: [DONE]")


def test_a_route_that_leads_nowhere_is_refused_at_reload_too(tmp_path: Path) -> None:
    with running(tmp_path) as (process, _):
        file = tmp_path / "gateway.toml"
        file.write_text(file.read_text() + '[routes.mine]\nmodel = "nobody:x"\n')
        process.send(signal.SIGHUP)
        assert "nobody" in process.log("reload_refused")["why"]
        assert process.ask("POST", "/v1/chat/completions", asked("hello"))[0] == 200


def test_several_workers_share_a_port_and_their_numbers(tmp_path: Path) -> None:
    with running(tmp_path, "--workers", "2") as (process, _):
        end = time.monotonic() + 20
        seen: set[str] = set()
        while time.monotonic() < end:
            with suppress(OSError):
                if process.ask("GET", "/health/ready")[0] == 200:
                    break
            time.sleep(0.1)
        with process.open("GET", "/requests", accept="text/event-stream") as (_, stream):
            assert stream.readline() == b": watching\n"
            for n in range(24):
                body = asked(f"number {n}", max_tokens=9)
                assert process.ask("POST", "/v1/chat/completions", body)[0] == 200
            ids: list[int] = []
            while len(ids) < 24:  # whichever worker answered
                name, _, value = stream.readline().partition(b": ")
                ids += [int(value)] if name == b"id" else []
            assert ids == list(range(1, 25))
        end, found, collected = time.monotonic() + 20, 0.0, 0
        while collected < 8 and time.monotonic() < end:  # numbers are put together a little later
            _, text = process.ask("GET", "/metrics")
            seen.add(text)
            lines = [x for x in text.splitlines() if x.startswith("interlingua_requests_total{")]
            found = sum(float(line.rpartition(" ")[2]) for line in lines)
            assert found <= 24
            assert found == 24 or not collected, "once all are counted, every worker says so"
            collected += found == 24
        assert collected == 8
        process.send(signal.SIGHUP)
        process.log("reloaded")
        process.send(signal.SIGTERM)
        assert process.wait() == 0
    with il.open_store(str(tmp_path / "interlingua.db")) as store:
        assert len(store.events(NO_SESSION)) == 24
        assert len(store.requests(limit=100)) == 24


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path, "--workers", "2") as (process, _):
        children = Path(f"/proc/{process.process.pid}/task/{process.process.pid}/children")
        if not children.exists():
            pytest.skip("this system does not say which processes a process has")
        pids = [int(pid) for pid in children.read_text().split()]
        assert len(pids) == 2
        time.sleep(2)
        os.kill(pids[0], signal.SIGKILL)
        process.log("worker_died")
        end, now = time.monotonic() + 20, set[int]()
        while len(now) < 2 and time.monotonic() < end:  # it is told before the next one is started
            now = {int(pid) for pid in children.read_text().split()}
            time.sleep(0.05)
        assert pids[0] not in now
        assert len(now) == 2
        for _ in range(6):
            assert process.ask("GET", "/health/live")[0] == 200


def test_another_address_is_refused_without_keys(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no keys are defined"):
        Process(tmp_path, "--host", "0.0.0.0")
    with il.open_store(str(tmp_path / "interlingua.db")) as store:
        from interlingua.gateway.keys.key_admin import issue

        issue(store, "one", ".")
    process = Process(tmp_path, "--host", "0.0.0.0")
    try:
        assert process.ask("GET", "/v1/models")[0] == 401
    finally:
        process.stop()


def test_a_port_that_is_taken_is_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(AssertionError, match=f"cannot listen on 127.0.0.1:{port}") as odd:
            Process(tmp_path, "--port", port)
    assert "Traceback" not in str(odd.value)


def _until_closed(port: int, *pieces: bytes, pause: float = 0.1) -> tuple[bytes, float]:
    """What comes back, and how long the connection stayed open."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        with suppress(OSError):
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
        data = b""
        with suppress(OSError):
            while more := connection.recv(65536):
                data += more
    return data, time.monotonic() - began


def test_headers_that_trickle_or_never_end_are_cut_off(tmp_path: Path) -> None:
    with running(tmp_path, header=0.7) as (process, _):
        nothing, took = _until_closed(process.port)
        assert (nothing, took < 10) == (b"", True), "a connection that says nothing"
        slow = [b"GET /health/live HTTP/1.1\r\n", *[b"X-A: b\r\n"] * 30]
        data, took = _until_closed(process.port, *slow)
        assert data == b""
        assert took < 12
        good = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
        data, took = _until_closed(process.port, good, *slow)
        assert data.count(b"HTTP/1.1 200") == 1, "also after a request that was served"
        assert took < 12
        long = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 20_000
        for tail in (b"", b"\r\n\r\n"):
            data, took = _until_closed(process.port, long + tail)
            assert data.startswith(b"HTTP/1.1 431")
            assert data.count(b"HTTP/1.1") == 1
        many = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 2000
        data, _ = _until_closed(process.port, many + b"\r\n")
        assert data.startswith(b"HTTP/1.1 431")
        assert process.ask("GET", "/health/live")[0] == 200


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One for all tests that leave it as it was."""
    with running(tmp_path_factory.mktemp("process")) as (process, _):
        yield process


SMUGGLED = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
        b"Content-Length: 44\r\n\r\n",
        b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n"
        b"0\r\n\r\n",
        b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nX: a\r\n Content-Length: 44\r\n"
        b"Transfer-Encoding: xchunked\r\n\r\n",
        b"POST /sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_a_second_request_cannot_be_hidden_in_a_first_one(process: Process, head: bytes) -> None:
    data, _ = _until_closed(process.port, head + SMUGGLED)
    assert b"interlingua_requests" not in data, "the hidden one was not served"
    assert data.startswith(b"HTTP/1.1 400"), data[:200]
    assert data.count(b"HTTP/1.1 ") == 1
    assert process.ask("GET", "/health/live")[0] == 200
