"""A gateway on loopback in a thread of its own, for clients that know nothing of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from interlingua.client.targets import Targets
from interlingua.gateway.server.serve import bound, place_of, protocol
from interlingua.gateway.service import Service
from interlingua.gateway.settings import Settings


class Standing:
    """`url` is where it is; `service` belongs to its thread."""

    def __init__(self, url: str, service: Service, loop: asyncio.AbstractEventLoop) -> None:
        self.url = url
        self.service = service
        self._loop = loop

    def tasks(self) -> int:
        """How many tasks it has at this moment."""
        return len(asyncio.all_tasks(self._loop))


@contextmanager
def standing(settings: Settings, targets: Targets, **parts: Any) -> Iterator[Standing]:
    """From `with` to its end. `parts` are parts of the gateway in place of the usual ones."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    here: list[Standing] = []
    failed: list[BaseException] = []
    ending = asyncio.Event()

    async def serve() -> None:
        service = await Service.open(settings, targets=targets, **parts)
        listening = bound("127.0.0.1", 0)
        config = uvicorn.Config(
            service.app,
            http=protocol(settings.limits),
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
        )
        server = uvicorn.Server(config)
        server.capture_signals = _no_signals  # type: ignore[method-assign]  # not the main thread
        task = asyncio.ensure_future(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        here.append(Standing(place_of(listening), service, loop))
        started.set()
        await ending.wait()
        server.should_exit = server.force_exit = True
        await task
        await service.close()

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(serve())
        except BaseException as odd:  # said again in the thread that waits
            failed.append(odd)
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=run, name="gateway", daemon=True)
    thread.start()
    started.wait(30)
    if not here:
        thread.join(5)
        raise failed[0] if failed else RuntimeError("the gateway did not start")
    try:
        yield here[0]
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(30)
    if failed:
        raise failed[0]


@contextmanager
def _no_signals() -> Iterator[None]:
    yield
