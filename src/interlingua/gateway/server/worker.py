"""One process of a gateway: everything in one event loop, on a socket that it was given,
and its logs."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.gateway.config import load
from interlingua.gateway.settings import Settings, Telemetry

if TYPE_CHECKING:
    import uvicorn

    from interlingua.gateway.server.drain import Server
    from interlingua.gateway.service import Service


_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}
_SECRET = re.compile(
    r"\b(gw_[A-Za-z0-9_-]{8,}|sk-[A-Za-z0-9_-]{8,}|AIza[A-Za-z0-9_-]{8,}|gsk_[A-Za-z0-9]{8,}"
    r"|xai-[A-Za-z0-9]{8,}|AKIA[A-Z0-9]{12,})|(?i:bearer\s+)[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=[?&]key=)[^&\s\"']+"
)
HIDDEN = "[hidden]"
_MOST = 2000
"""Characters of one value."""


def without_secrets(text: str) -> str:
    """The text without anything that looks like a key."""
    return _SECRET.sub(HIDDEN, text[:_MOST])


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a record beside its name."""
    return {name: _plain(value) for name, value in vars(record).items() if name not in _USUAL}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return without_secrets(str(value))


class JsonLines(logging.Formatter):
    """One object per line. Tracebacks name places in the code, and no values."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": _time(record.created),
            "level": record.levelname.lower(),
            "event": without_secrets(record.getMessage()),
            "logger": record.name,
            **fields_of(record),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["where"] = _place(record.exc_info[2])
        return msgspec.json.encode(line).decode()


def _time(seconds: float) -> str:
    """A time in UTC, like 2026-11-18T08:30:00.250Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


class Lines(logging.Formatter):
    """Text for people."""

    def format(self, record: logging.LogRecord) -> str:
        at = self.formatTime(record, "%H:%M:%S")
        more = " ".join(f"{name}={value}" for name, value in fields_of(record).items())
        text = without_secrets(record.getMessage()).replace("\n", " ")
        if record.exc_info and record.exc_info[0] is not None:
            place = _place(record.exc_info[2])
            more = f"{more} exception={record.exc_info[0].__name__} where={place}"
        return f"{at} {record.levelname.lower():7} {text} {more}".rstrip()


def _place(trace: Any) -> str:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"


def set_up_logs(telemetry: Telemetry, out: TextIO | None = None) -> logging.Handler:
    """Send the log to standard error, in the configured form."""
    stream = out or sys.stderr
    json = telemetry.log == "json" or (telemetry.log == "auto" and not stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if json else Lines())
    level = telemetry.log_level.upper()
    for name in ("interlingua", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level)
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, getattr(logging, level)))
    logging.getLogger("uvicorn.error").propagate = True
    return handler


class Overrides(msgspec.Struct, frozen=True):
    """The settings of the command line, which override the file."""

    path: str | None = None
    host: str | None = None
    port: int | None = None
    workers: int | None = None
    is_one_of_several: bool = False

    def file(self) -> Path | None:
        return None if self.path is None else Path(self.path)

    def over(self, settings: Settings) -> Settings:
        overrides = {"host": self.host, "port": self.port, "workers": self.workers}
        changes: dict[str, Any] = {k: v for k, v in overrides.items() if v is not None}
        return replace(settings, listen=replace(settings.listen, **changes))

    def settings(self) -> Settings:
        return self.over(load(self.file()))


def work(
    overrides: Overrides, settings: Settings, listening: socket.socket, ready: Callable[[], None]
) -> int:
    """Serves until a signal arrives; returns the exit code. `ready` is called when requests are
    accepted."""
    with asyncio.Runner(loop_factory=_loop()) as runner:
        return runner.run(_serve(overrides, settings, listening, ready))


async def _serve(
    overrides: Overrides, settings: Settings, listening: socket.socket, ready: Callable[[], None]
) -> int:
    try:
        import uvicorn  # noqa: F401  # needed soon; without it nothing is to be opened

        from interlingua.gateway.service import Service
    except ImportError:
        raise MissingExtraError("the gateway", "gateway") from None
    service = await Service.open(settings)
    try:
        await service.require_keys()
        server = _server(service, overrides, settings)
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        if server.started:
            _settle_memory()
            ready()
        await serving
    finally:
        await service.close()
    return 0


def _server(service: Service, overrides: Overrides, settings: Settings) -> Server:
    """uvicorn's server, connected to the service."""
    from interlingua.gateway.server.drain import Server

    parent = os.getppid()

    freed = FreedMemory()

    def tick(under_way: int) -> None:
        service.count_in_flight(under_way)
        freed.tick()
        if overrides.is_one_of_several and os.getppid() != parent:
            server.handle_exit(0, None)  # the parent is gone

    async def reload() -> None:
        await service.reload(overrides.file(), overrides.over)

    config, listen = _config(service, settings), settings.listen
    server = Server(config, listen, service.going, reload, tick, lambda: service.behind)
    service.in_flight = lambda: server.under_way
    return server


def _config(service: Service, settings: Settings) -> uvicorn.Config:
    import uvicorn

    from interlingua.gateway.server.serve import protocol, websocket_options
    from interlingua.gateway.shared.principal import most_connections

    return uvicorn.Config(
        service.app,
        http=protocol(settings.limits),
        **websocket_options(settings.limits),
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        limit_concurrency=most_connections(settings.limits.connections),
        h11_max_incomplete_event_size=settings.limits.headers,
    )


def _settle_memory() -> None:
    """Excludes the objects that exist now from garbage collection: searching them again and
    again would take a tenth of a busy gateway's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


class FreedMemory:
    """Gives freed memory back to the system: the C library keeps much of it after large requests.
    That takes a few milliseconds, and is done less and less often while it gives back little."""

    def __init__(self) -> None:
        self._pause = self._left = SECONDS
        self._lowest = 0
        self._trim: Callable[[int], int] | None = None
        with suppress(OSError, AttributeError, TypeError):  # another system or C library
            self._trim = ctypes.CDLL(None).malloc_trim

    def tick(self) -> None:
        """Called every second."""
        self._left -= 1
        if self._left > 0 or self._trim is None:
            return
        before = after = resident()
        if before > self._lowest + GROWTH:
            self._trim(0)
            after = resident()
            self._lowest = min(after, self._lowest or after)
        is_little = before - after < GROWTH
        self._pause = self._left = min(2 * self._pause, LONGEST) if is_little else SECONDS


SECONDS, LONGEST, GROWTH = 5, 60, 16 << 20
"""Seconds between two looks at the memory, and at most; bytes by which it has to have grown."""


def resident() -> int:
    """Bytes of memory of this process, on Linux."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def _loop() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def main() -> None:
    """A worker that `Workers` has started; its one argument has its settings."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
    arguments = msgspec.json.decode(sys.argv[1], type=WorkerArguments)
    listening = socket.socket(fileno=arguments.fd)
    try:
        settings = arguments.overrides.settings()
        set_up_logs(settings.telemetry)
        code = work(
            arguments.overrides, settings, listening, partial(_tell_ready, arguments.ready_fd)
        )
    except InterlinguaError as error:
        sys.exit(f"interlingua: {error}")
    sys.exit(code)


def _tell_ready(fd: int) -> None:
    """Reports that requests are answered; the parent may have stopped listening."""
    with suppress(OSError):
        os.write(fd, b"1")
        os.close(fd)


class WorkerArguments(msgspec.Struct):
    """The arguments of a worker process."""

    fd: int
    ready_fd: int
    overrides: Overrides


if __name__ == "__main__":
    main()
