"""The server's life: shared, left, killed, and never without somebody who wants it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import interlingua.local.server as server_module
from interlingua import local
from interlingua.errors import MissingExtraError
from interlingua.local.model import VARIABLE
from tests.local.conftest import send

SOURCE = Path(__file__).parents[2] / "src"
OWNER = """
import sys, time
from pathlib import Path
from interlingua import local
lease = local.start(Path(sys.argv[1]), local.Silent())
print(lease.pid, flush=True)
time.sleep(60)
"""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def comes_true(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def home(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, weights that are here, and an installer that could fetch nothing."""
    monkeypatch.setenv(VARIABLE, str(weights))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    return tmp_path / "local"


def owner(home: Path) -> tuple[subprocess.Popen[str], int]:
    """Another process that uses the server, and the server's process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(home)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout as lines:
        return process, int(lines.readline())


def test_processes_share_one_server_and_the_killed_leave_none_behind(home: Path) -> None:
    first, pid = owner(home)
    second, same = owner(home)
    assert same == pid
    first.send_signal(signal.SIGKILL)
    first.wait()
    time.sleep(0.5)  # it looks ten times a second
    assert is_running(pid), "the second one still needs it"
    lease = local.start(home, local.Silent())
    assert lease.pid == pid
    lease.close()
    second.send_signal(signal.SIGKILL)
    second.wait()
    assert comes_true(lambda: not is_running(pid))
    assert list(home.glob("server-*.json")) == [], "its note is gone too"


def test_a_server_that_is_killed_is_noticed_and_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(home))
    monkeypatch.setattr(server_module, "_shared", None)
    first = local.shared(local.Silent())
    assert local.shared() is first
    os.kill(first.pid, signal.SIGKILL)
    assert comes_true(lambda: not first.is_alive())
    second = local.shared(local.Silent())
    assert second.pid != first.pid
    assert second.is_alive()
    second.close()
    assert not second.is_alive()
    assert comes_true(lambda: not is_running(second.pid))


def test_the_note_is_for_its_owner_only_and_the_key_is_not_shown(
    server: local.LocalServer, folder: Path
) -> None:
    [note] = folder.glob("server-*.json")
    assert note.stat().st_mode & 0o077 == 0
    assert server.key.reveal() in note.read_text()
    assert server.key.reveal() not in repr(server) + str(vars(server))
    command = Path(f"/proc/{server.pid}/cmdline")
    assert not command.exists() or server.key.reveal() not in command.read_text()


def test_without_the_key_nothing_is_answered_and_no_lease_is_given(
    server: local.LocalServer,
) -> None:
    for path in ("/lease", "/v1/models", "/v1/elsewhere"):
        connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=9)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert (answer.status, path) == (401, path)
        answer.read()
        connection.close()


def test_health_and_models_have_paths(server: local.LocalServer) -> None:
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=9)
    try:
        connection.request("GET", "/health")
        assert json.loads(connection.getresponse().read()) == {"status": "ok"}
        key = {"x-api-key": server.key.reveal()}
        connection.request("GET", "/v1/models", headers=key)
        [model] = json.loads(connection.getresponse().read())["data"]
        assert f"local:{model['id']}" == local.MODEL
    finally:
        connection.close()


def test_a_client_that_leaves_ends_the_work(server: local.LocalServer) -> None:
    """A long answer nobody waits for must not keep the next one waiting."""
    address = server.base_url.removeprefix("http://")
    key = {"authorization": f"Bearer {server.key.reveal()}"}
    body = {"messages": [{"role": "user", "content": "Count to a thousand."}], "max_tokens": 1000}
    for stream in (False, True):
        leaver = http.client.HTTPConnection(address, timeout=30)
        leaver.request("POST", "/v1/chat/completions", json.dumps({**body, "stream": stream}), key)
        time.sleep(0.3)
        leaver.close()
    short = {**body, "max_tokens": 2}
    began = time.monotonic()
    stayer = http.client.HTTPConnection(address, timeout=60)
    stayer.request("POST", "/v1/chat/completions", json.dumps(short), key)
    assert stayer.getresponse().read()
    stayer.close()
    assert time.monotonic() - began < 8, "two answers of a thousand tokens take far longer"


def test_a_file_that_is_no_model_is_said_to_be_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "weights").write_bytes(b"no weights")
    monkeypatch.setenv(VARIABLE, str(home / "weights"))
    with pytest.raises(local.StartError, match="local model: ") as problem:
        local.start(home, local.Silent())
    assert problem.value.log == str(home / "server.log")


def test_a_start_that_takes_too_long_is_given_up(home: Path) -> None:
    with pytest.raises(local.StartError, match="timed out"):
        local.start(home, local.Silent(), seconds=0.05)


def test_without_the_extra_the_error_names_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"interlingua\[local\]"):
        local.start(home)


def test_people_see_that_it_loads_and_nobody_what_was_said(home: Path) -> None:
    class Told(local.Silent):
        lines: list[str] = []  # noqa: RUF012  one instance

        def say(self, text: str) -> None:
            self.lines.append(text)

    with local.start(home, Told()) as lease:
        canary = {"role": "user", "content": "canary-in-the-prompt"}
        answer = send(lease, "/v1/messages", {"messages": [canary], "max_tokens": 1})
        assert answer.status == 200
    assert Told.lines == ["SmolLM2-135M-Instruct: loading, about a second"]
    for file in home.iterdir():
        assert b"canary" not in file.read_bytes(), "what was said is in no file"
