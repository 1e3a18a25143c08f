"""Clients of the local model's server: find or start it, lease it, leave it.

All processes of a user share one. A note in the data folder has its address; a lock lets one
process at a time look for it and start it. The server stays as long as there is a lease, which is
an open connection, so it also ends when its users are killed.
"""

from __future__ import annotations

import atexit
import http.client
import json
import logging
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import interlingua
from interlingua.errors import MissingExtraError
from interlingua.local.model import (
    SHA256,
    TITLE,
    Show,
    StartError,
    local_folder,
    locked,
    usual,
    weights_path,
)
from interlingua.providers.provider import Secret

START_SECONDS = 60.0
"""Loading takes about a second; a machine that is very busy gets this long."""
_CONNECT_SECONDS = 5.0

logger = logging.getLogger(__name__)


class LocalServer:
    """A lease on the server, with its address and key. `close` releases it."""

    def __init__(self, port: int, pid: int, key: str, lease: socket.socket) -> None:
        self.base_url = f"http://127.0.0.1:{port}"
        self.pid = pid
        self.key = Secret(key)
        self._lease = lease

    def __repr__(self) -> str:
        return f"LocalServer({self.base_url}, pid={self.pid})"

    def is_alive(self) -> bool:
        """Whether the server still holds its end of the lease."""
        if self._lease.fileno() < 0:
            return False
        ready, _, _ = select.select([self._lease], [], [], 0)
        if not ready:
            return True
        try:
            return bool(self._lease.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def close(self) -> None:
        self._lease.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def start(
    folder: Path | None = None, show: Show | None = None, seconds: float = START_SECONDS
) -> LocalServer:
    """Returns a lease on the server, and starts it if it is not running; missing weights are
    downloaded first. `show` shows progress; by default, on a terminal."""
    if find_spec("xllamacpp") is None:
        raise MissingExtraError("the local model", "local")
    folder = folder or local_folder()
    show = show or usual()
    note = folder / f"server-{_edition()}.json"
    found = _running(note)
    if found is not None:
        return found
    path = weights_path(folder, show)
    try:
        waiting = lambda: show.say(f"{TITLE}: another process is starting it")  # noqa: E731  a line of text
        with locked(folder / "server.lock", seconds, waiting):
            return _running(note) or _start(path, note, folder / "server.log", show, seconds)
    except TimeoutError:
        raise StartError(
            f"another process has been starting it for {seconds:.0f} seconds"
        ) from None
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise StartError(f"cannot be started from {folder}: {reason}") from None
    finally:
        show.finish()


_shared: LocalServer | None = None
_sharing = threading.Lock()


def shared(show: Show | None = None) -> LocalServer:
    """This process's one lease: taken on first use, again if the server has died, and released when
    the process ends."""
    global _shared
    with _sharing:
        if _shared is None or not _shared.is_alive():
            if _shared is not None:
                _shared.close()
            _shared = start(show=show)
            atexit.register(_shared.close)
        return _shared


def _edition() -> str:
    """Processes share a server only if they would have started the same one."""
    version = getattr(interlingua, "__version__", "0")
    return f"{version}-{SHA256[:8]}"


def _running(note: Path) -> LocalServer | None:
    """A lease on the server named in the note, if it runs and accepts the key."""
    try:
        fields = json.loads(note.read_text("utf-8"))
        port, pid, key = int(fields["port"]), int(fields["pid"]), str(fields["key"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    lease = _take_lease(port, key)
    return LocalServer(port, pid, key, lease) if lease is not None else None


def _take_lease(port: int, key: str) -> socket.socket | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_CONNECT_SECONDS)
    try:
        connection.request("GET", "/lease", headers={"authorization": f"Bearer {key}"})
        lease = connection.sock
        answer = http.client.HTTPResponse(lease)
        answer.begin()
        leased = answer.status == 200 and b"leased" in answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return None
    if not leased:
        connection.close()
        return None
    connection.sock = None  # the lease outlives the connection object
    return lease


def _start(path: Path, note: Path, log: Path, show: Show, seconds: float) -> LocalServer:
    show.say(f"{TITLE}: loading, about a second")
    began = time.monotonic()
    key = secrets.token_urlsafe(24)
    started = _spawn(path, note, log, key, seconds)
    lease = _take_lease(started["port"], key)
    if lease is None:
        raise StartError("it started but does not respond", str(log))
    _leave_note(note, {**started, "key": key})
    took = round((time.monotonic() - began) * 1000)
    logger.info("local_model_started", extra={"pid": started["pid"], "milliseconds": took})
    return LocalServer(started["port"], started["pid"], key, lease)


def _spawn(path: Path, note: Path, log: Path, key: str, seconds: float) -> dict[str, int]:
    source = Path(__file__).parents[2]
    search = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
    surroundings = {
        "PYTHONPATH": os.pathsep.join(search),
        "OMP_WAIT_POLICY": "passive",  # threads that wait leave their core to others
    }
    with log.open("wb") as errors:
        os.chmod(log, 0o600)
        process = subprocess.Popen(
            [sys.executable, "-m", "interlingua.local.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **surroundings},
            # Ctrl-C in a terminal is meant for the command there, not for what others share.
            start_new_session=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    settings = {"weights": str(path), "note": str(note), "key": key}
    overdue = threading.Timer(seconds, process.kill)
    overdue.start()
    try:
        with process.stdin as pipe:
            pipe.write(json.dumps(settings).encode() + b"\n")
        with process.stdout as pipe:
            line = pipe.readline()
    except BaseException:
        process.kill()
        raise
    finally:
        overdue.cancel()
        # Its end has to be collected, or it stays in the table of processes.
        threading.Thread(target=process.wait, daemon=True).start()
    return _understood(line, log)


def _understood(line: bytes, log: Path) -> dict[str, int]:
    try:
        fields: dict[str, Any] = json.loads(line)
        if "error" not in fields:
            return {"port": int(fields["port"]), "pid": int(fields["pid"])}
    except (ValueError, KeyError, TypeError):
        raise StartError("its process exited or timed out", str(log)) from None
    raise StartError(str(fields["error"]), str(log))


def _leave_note(note: Path, fields: dict[str, Any]) -> None:
    """At once and for its owner's eyes only: it holds the key."""
    file, name = tempfile.mkstemp(dir=note.parent, prefix="note-")
    with os.fdopen(file, "w", encoding="utf-8") as target:
        json.dump(fields, target)
    os.replace(name, note)
