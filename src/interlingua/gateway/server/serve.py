"""`interlingua serve`: one process, or several that share a socket, a store and their metrics; and
the terminal's output at the start."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, ClassVar, Literal, NamedTuple
from urllib.parse import quote

import msgspec

from interlingua import config
from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.gateway.config import ConfigError, check
from interlingua.gateway.keys.keys import NoKeysError, is_loopback
from interlingua.gateway.server.worker import Overrides, WorkerArguments, work
from interlingua.gateway.settings import Limits, Settings
from interlingua.store.open import open_store

ANY = "any"
"""The key to show for a gateway without keys."""
KEY = "$INTERLINGUA_KEY"
"""The key to show for a gateway with keys: the reader's own."""
WORDS = "Say hello."


class Try(NamedTuple):
    """One request that can be sent unchanged."""

    front: str
    url: str
    body: dict[str, Any]
    streams: bool = False

    def command(self, keyed: bool) -> str:
        """The request as a line for a shell."""
        parts = ["curl", *(["-N"] if self.streams else []), shlex.quote(self.url)]
        if keyed:  # not quoted as a whole, so that the shell puts the key in
            parts += ["-H", f'"authorization: Bearer {KEY}"']
        body = shlex.quote(json.dumps(self.body, ensure_ascii=False))
        return " ".join([*parts, "-H", "'content-type: application/json'", "-d", body])


class Welcome:
    """`keyed`: whether this gateway requires keys; if not, `keys_elsewhere` is another known store
    that has keys."""

    def __init__(
        self,
        place: str,
        settings: Settings,
        keyed: bool,
        store: str,
        keys_elsewhere: str | None = None,
    ) -> None:
        self.place = place
        self.model = settings.default_model or "local"
        self.keyed = keyed
        self.store = store
        self.keys_elsewhere = keys_elsewhere
        self.file = settings.path

    def tries(self) -> list[Try]:
        """One request for each front, and one stream."""
        place, model = self.place, self.model
        body = {"model": model, "messages": [{"role": "user", "content": WORDS}]}
        path = f"/v1beta/models/{quote(model, safe=':/@')}:generateContent"
        return [
            Try("openai-chat", f"{place}/v1/chat/completions", body),
            Try("openai-responses", f"{place}/v1/responses", {"model": model, "input": WORDS}),
            Try("anthropic", f"{place}/v1/messages", {**body, "max_tokens": 100}),
            Try("gemini", place + path, {"contents": [{"parts": [{"text": WORDS}]}]}),
            Try("ollama", f"{place}/api/chat", {**body, "stream": False}),
            Try(
                "bedrock",
                f"{place}/model/{quote(model, safe=':/@')}/converse",
                {"messages": [{"role": "user", "content": [{"text": WORDS}]}]},
            ),
            Try("cohere", f"{place}/v2/chat", body),
            Try("openai-chat", f"{place}/v1/chat/completions", {**body, "stream": True}, True),
        ]

    def sdks(self) -> dict[str, dict[str, str]]:
        """The environment variables of each official SDK."""
        key = KEY if self.keyed else ANY
        environment = {
            "openai": {"OPENAI_BASE_URL": f"{self.place}/v1", "OPENAI_API_KEY": key},
            "anthropic": {"ANTHROPIC_BASE_URL": self.place, "ANTHROPIC_API_KEY": key},
            "google-genai": {"GOOGLE_GEMINI_BASE_URL": self.place, "GEMINI_API_KEY": key},
            "ollama": {"OLLAMA_HOST": self.place},
            "boto3": {
                "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.place,
                "AWS_ACCESS_KEY_ID": key,
                "AWS_SECRET_ACCESS_KEY": ANY,
                "AWS_REGION": "us-east-1",
            },
            "cohere": {"CO_API_URL": self.place, "CO_API_KEY": key},
        }
        if self.keyed:
            environment["ollama"]["OLLAMA_API_KEY"] = key
        return environment

    def agents(self) -> dict[str, dict[str, str]]:
        """The same for coding agents that need no file."""
        key, model = KEY if self.keyed else ANY, self.model
        return {
            "claude": {
                "ANTHROPIC_BASE_URL": self.place,
                "ANTHROPIC_AUTH_TOKEN": key,
                "ANTHROPIC_MODEL": model,
            },
            "copilot": {
                "COPILOT_PROVIDER_BASE_URL": f"{self.place}/v1",
                "COPILOT_PROVIDER_API_KEY": key,
                "COPILOT_MODEL": model,
                "COPILOT_OFFLINE": "true",
            },
            "qwen --auth-type openai": {
                "OPENAI_BASE_URL": f"{self.place}/v1",
                "OPENAI_API_KEY": key,
                "OPENAI_MODEL": model,
            },
            f"aider --model openai/{model}": {
                "OPENAI_API_BASE": f"{self.place}/v1",
                "OPENAI_API_KEY": key,
            },
        }

    def paths(self) -> dict[str, str]:
        names = {
            "page": "/",
            "models": "/v1/models",
            "health": "/health/ready",
            "metrics": "/metrics",
            "api": "/openapi.json",
        }
        return {name: self.place + path for name, path in names.items()}

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "url": self.place,
            "pid": os.getpid(),
            "model": self.model,
            "needs_key": self.keyed,
            "store": self.store,
            "keys_elsewhere": self.keys_elsewhere,
            "config": None if self.file is None else str(self.file),
            "try": [each._asdict() for each in self.tries()],
            "sdks": self.sdks(),
            "agents": self.agents(),
            "paths": self.paths(),
        }

    def text(self) -> str:
        """For people."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"interlingua gateway on {self.place}  (stop with Ctrl-C)"
        yield f"  default model: {self.model}; store:"
        yield f"  {self.store}"
        if self.keys_elsewhere:
            yield ""
            yield "Warning: this store has no keys, so every program on this machine may use the"
            yield f"  gateway; {self.keys_elsewhere} has keys. Name that store in gateway.toml"
            yield "  (store = …), or issue keys here: interlingua keys issue NAME"
        yield ""
        yield "Try, in another terminal:"
        if self.keyed:
            yield "  # requests need a key: run interlingua keys issue NAME, then"
            yield "  export INTERLINGUA_KEY=gw_…"
        elif self.model == "local":
            yield "  # the first answer takes longer: the model is fetched once (98 MB) and loaded"
        for each in self.tries():
            yield f"  # {each.front}{', as a stream' if each.streams else ''}"
            yield f"  {each.command(self.keyed)}"
        yield ""
        yield "SDKs, unchanged:"
        for name, variables in self.sdks().items():
            yield f"  {name:<13} {_assigned(variables)}"
        yield ""
        yield "Coding agents (they need a larger model than local; see docs/gateway.md):"
        for command, variables in self.agents().items():
            yield f"  {_assigned(variables)} {command}"
        yield ""
        for name, url in self.paths().items():
            yield f"{name.upper() if name == 'api' else name.capitalize():<8} {url}"
        yield f"Stop     Ctrl-C here, or kill {os.getpid()}"
        yield ""


def _assigned(variables: dict[str, str]) -> str:
    """Variables before a command; a key of the reader's own is left to the shell."""
    return " ".join(
        f'{name}="{value}"' if value == KEY else f"{name}={shlex.quote(value)}"
        for name, value in variables.items()
    )


try:
    from interlingua.gateway.server.client_connection import (
        ClientConnection,
        WebSocketConnection,
        missing_parts,
    )
except ImportError:  # pragma: no cover  # the extra is there where the tests run
    raise MissingExtraError("the gateway", "gateway") from None

UNSENT = 64 * 1024
"""Bytes that the system holds for a client that does not take them. It would hold megabytes, and
upstream be read for as long. Connections have this from the socket that listens."""


def protocol(limits: Limits) -> type[asyncio.Protocol] | Literal["h11"]:
    """The class of connections with these limits. Where uvicorn lacks the parts it builds on,
    uvicorn's public class, which is slower and has limits for headers and the number of requests
    only."""
    configured = limits
    if missing := missing_parts():
        logger.warning("uvicorn_unknown", extra={"missing": ", ".join(missing)})
        return "h11"

    class Connection(ClientConnection):
        limits = configured
        idle: ClassVar[OrderedDict[ClientConnection, None]] = OrderedDict()
        stalled = configured.stalled
        leftover_seconds = min(5.0, configured.body_seconds)

    return Connection


def websocket_options(limits: Limits) -> dict[str, Any]:
    """The part of uvicorn's configuration that is about WebSockets. Messages have the limit of
    bodies; they are not compressed, which would cost each connection its own buffers."""
    configured = limits
    options: dict[str, Any] = {"ws_max_size": limits.body, "ws_per_message_deflate": False}
    if missing_parts():
        return {"ws": "auto", **options}

    class Connection(WebSocketConnection):
        stalled = configured.stalled

    return {"ws": Connection, **options}


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; workers share it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's delay on: 40 ms for every answer.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
        made.bind((host.strip("[]"), port))
        made.listen(2048)
        made.set_inheritable(True)
    except BaseException:
        made.close()
        raise
    return made


def place_of(listening: socket.socket) -> str:
    """Its address as a client writes it."""
    host, port = listening.getsockname()[:2]
    shown: Any = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


logger = logging.getLogger(__name__)

RESTARTS = 5
"""Workers that may die within a minute before the gateway gives up."""
PATIENCE = 10.0
"""Seconds that workers get to end after they should have, before they are killed."""


class ListenError(InterlinguaError):
    """The address cannot be had."""


def serve(overrides: Overrides, settings: Settings, tell: Callable[[Welcome], None]) -> int:
    """Serves until a signal arrives; returns the exit code. `tell` is called with the welcome when
    it is ready."""
    problems = check(settings)
    if problems:
        raise ConfigError(str(settings.path or "settings"), problems)
    listen = settings.listen
    if listen.workers > 1 and sys.platform == "win32":
        raise ListenError(
            "several workers are not supported on Windows: use"
            " --workers 1, or run the container image"
        )
    try:
        listening = bound(listen.host, listen.port)
    except OSError as error:
        raise taken(listen.host, listen.port, error) from None

    with listening:
        keyed, where = asks_for_keys(settings)
        elsewhere = None if keyed else store_with_keys(where)

        def ready() -> None:
            tell(Welcome(place_of(listening), settings, keyed, where, elsewhere))

        if listen.workers == 1:
            return work(overrides, settings, listening, ready)
        return Workers(overrides, settings, listening).run(ready)


def asks_for_keys(settings: Settings) -> tuple[bool, str]:
    """Whether the store has keys, and where it is. Looked at before anything is started: without
    keys, a gateway is for this machine alone."""
    with open_store(settings.store) as store:
        keyed = bool(store.keys(limit=1))
        where = store.where
    if not keyed and not is_loopback(settings.listen.host):
        raise NoKeysError(settings.listen.host)
    return keyed, where


def store_with_keys(where: str) -> str | None:
    """Another store of this machine's configuration that has keys: perhaps the one that was meant.
    `where` is the gateway's own."""
    path = config.store_path()
    with suppress(InterlinguaError):
        named = (config.gateway_store(config.gateway_path()), str(path) if path.exists() else None)
        for address in filter(None, named):
            with suppress(InterlinguaError), open_store(address) as store:
                if store.where != where and store.keys(limit=1):
                    return store.where
    return None


def taken(host: str, port: int, error: OSError) -> ListenError:
    """The error for an address that is in use, with the remedy."""
    text = f"cannot listen on {host}:{port}: {error.strerror or error}"
    if error.errno == errno.EADDRINUSE:
        text += (
            "; perhaps another gateway is already running: stop it, or choose another port"
            f" (--port {port + 1 if port < 65535 else 0}, or --port 0 for any that is free)"
        )
    elif error.errno == errno.EACCES:
        text += "; ports below 1024 need administrator rights: choose another one with --port"
    return ListenError(text)


class Workers:
    """Starts processes, starts them again when they die, and hands signals on."""

    def __init__(self, overrides: Overrides, settings: Settings, listening: socket.socket) -> None:
        self._overrides = msgspec.structs.replace(overrides, is_one_of_several=True)
        self._settings = settings
        self._listening = listening
        self._workers: list[subprocess.Popen[bytes]] = []
        self._signals = 0
        self._ready, self._ready_fd = os.pipe()
        """A worker writes to it once it answers requests."""
        os.set_blocking(self._ready, False)
        self._deaths: deque[float] = deque(maxlen=RESTARTS + 1)

    def run(self, ready: Callable[[], None]) -> int:
        with tempfile.TemporaryDirectory(prefix="interlingua-metrics-") as folder:
            environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder}
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, self._end)
            if hasattr(signal, "SIGHUP"):
                signal.signal(signal.SIGHUP, self._reload)
            try:
                for _ in range(self._settings.listen.workers):
                    self._start(environ)
                return self._watch(environ, folder, ready)
            finally:
                self._kill()
                os.close(self._ready)
                os.close(self._ready_fd)

    def _is_ready(self) -> bool:
        """Whether a worker has reported that it answers requests."""
        try:
            return bool(os.read(self._ready, 1))
        except BlockingIOError:
            return False

    def _start(self, environ: dict[str, str]) -> None:
        arguments = WorkerArguments(self._listening.fileno(), self._ready_fd, self._overrides)
        command = [sys.executable, "-m", "interlingua.gateway.server.worker"]
        command.append(msgspec.json.encode(arguments).decode())
        # A session of its own: Ctrl-C in a terminal comes to us, and we hand it on, once.
        with _signals_held():
            made = subprocess.Popen(
                command,
                env=environ,
                pass_fds=(arguments.fd, arguments.ready_fd),
                start_new_session=True,
            )
            self._workers.append(made)
        if self._signals:  # which another thread may have taken meanwhile
            made.send_signal(signal.SIGTERM)

    def _watch(self, environ: dict[str, str], folder: str, ready: Callable[[], None]) -> int:
        ended, is_ready = 0.0, False
        while self._workers:
            time.sleep(0.05)
            if not is_ready and self._is_ready():
                is_ready = True
                ready()
            for worker in [each for each in self._workers if each.poll() is not None]:
                self._workers.remove(worker)
                forget(worker.pid, folder)
                if self._signals:
                    continue
                if not self._may_restart():
                    logger.error("workers_keep_dying", extra={"code": worker.returncode})
                    self._end(signal.SIGTERM, None)
                    return 1
                logger.warning("worker_died", extra={"code": worker.returncode})
                self._start(environ)
            if self._signals:
                ended = ended or time.monotonic()
                listen = self._settings.listen
                longest = listen.notice_seconds + listen.drain_seconds + PATIENCE
                if time.monotonic() - ended > longest:
                    return 1
        return 0

    def _may_restart(self) -> bool:
        now = time.monotonic()
        self._deaths.append(now)
        return len(self._deaths) <= RESTARTS or now - self._deaths[0] > 60

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        self._hand_on(signal.SIGTERM)

    def _reload(self, number: int, frame: FrameType | None) -> None:
        self._hand_on(signal.SIGHUP)

    def _hand_on(self, number: int) -> None:
        for worker in self._workers:
            if worker.poll() is None:
                worker.send_signal(number)

    def _kill(self) -> None:
        for worker in self._workers:
            if worker.poll() is None:
                try:
                    worker.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    worker.kill()
                    worker.wait()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Delays signals until the new worker is in the list of their recipients. The worker starts
    with them delayed as well, because a reload would end it early."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    )
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def forget(pid: int, folder: str) -> None:
    """A worker is gone: its requests no longer count as under way."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
