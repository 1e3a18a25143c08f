"""One process of a gateway: everything in one event loop, on a socket that it was given."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.gateway.config import load
from interlingua.gateway.server import logs
from interlingua.gateway.settings import Settings

if TYPE_CHECKING:
    import uvicorn

    from interlingua.gateway.server.drain import Server
    from interlingua.gateway.service import Service


class Overrides(msgspec.Struct, frozen=True):
    """What the command line says, which comes before what the file says."""

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
    """Serve until a signal comes; gives the exit code. `ready` is called when requests are
    taken."""
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

    def tick(under_way: int) -> None:
        service.count_in_flight(under_way)
        if overrides.is_one_of_several and os.getppid() != parent:
            server.handle_exit(0, None)  # whoever started us is gone

    async def reload() -> None:
        await service.reload(overrides.file(), overrides.over)

    config, listen = _config(service, settings), settings.listen
    server = Server(config, listen, service.going, reload, tick, lambda: service.behind)
    service.in_flight = lambda: server.under_way
    return server


def _config(service: Service, settings: Settings) -> uvicorn.Config:
    import uvicorn

    from interlingua.gateway.server.serve import protocol, websocket_options
    from interlingua.gateway.shared.open_requests import most_connections

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
    """What is there now stays: looking through it again and again for what could be thrown away
    would take a tenth of a busy gateway's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def _loop() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def main() -> None:
    """A worker that `Workers` has started: what it needs to know is its one argument."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT))
    arguments = msgspec.json.decode(sys.argv[1], type=WorkerArguments)
    listening = socket.socket(fileno=arguments.fd)
    try:
        settings = arguments.overrides.settings()
        logs.set_up(settings.telemetry)
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
