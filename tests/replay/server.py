"""The replay server: answers as providers do, from recordings, and stages faults on the way.

Which exchange answers a request is said by its URL (`/@<id>` before the path), by the header
`x-replay-exchange`, or by the request itself: the same dialect, the same body. Which fault is
staged is said by the header `x-replay-fault`, else by the script that `stage` was given.

Every request is kept in `received`, also those that were not answered."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from itertools import count
from types import TracebackType
from typing import Self

from aiohttp import web

from interlingua.dialects.kernel.wire import encode
from tests.replay.answers import Answer, Piece, Step
from tests.replay.exchanges import JSON_TYPE, Exchange, spelling
from tests.replay.faults import Fault, FaultError, fault_from
from tests.replay.routes import Route, route_of
from tests.replay.telling import Received, Told

EXCHANGE_HEADER = "x-replay-exchange"
FAULT_HEADER = "x-replay-fault"
MOST_RECEIVED = 10_000
MOST_BODY = 64 * 2**20
PATIENCE = 30.0
"""Seconds that a silent connection is kept at most."""


class ReplayServer:
    """Runs in a thread of its own from `with` to its end; `url` is where."""

    def __init__(
        self,
        exchanges: Iterable[Exchange] = (),
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        pace: float = 0.0,
        patience: float = PATIENCE,
    ) -> None:
        self.host, self.port = host, port
        self._pace, self._patience = pace, patience
        self._by_id: dict[str, Exchange] = {}
        self._by_request: dict[tuple[str, bool, bytes], deque[Exchange]] = defaultdict(deque)
        self._received: deque[Received] = deque(maxlen=MOST_RECEIVED)
        self._numbers = count()
        self._connections: OrderedDict[object, int] = OrderedDict()
        self._script: deque[Fault | None] = deque()
        self._always: Fault | None = None
        self._problems: deque[str] = deque(maxlen=100)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.add(*exchanges)

    # -- what tests say ---------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def url_of(self, exchange: Exchange | str) -> str:
        """A base URL below which every request is answered with this exchange."""
        return f"{self.url}/@{exchange if isinstance(exchange, str) else exchange.id}"

    def add(self, *exchanges: Exchange) -> None:
        with self._lock:
            for each in exchanges:
                self._by_id[each.id] = each
                if each.request is not None:
                    key = (each.dialect, each.is_stream, spelling(each.request))
                    self._by_request[key].append(each)

    def stage(self, *faults: Fault | str | None, always: Fault | str | None = None) -> None:
        """What happens to the next requests, one after the other; None is no fault. `always` is
        for all after them."""
        with self._lock:
            self._script = deque(_fault(each) for each in faults)
            self._always = _fault(always)

    @property
    def received(self) -> list[Received]:
        """The requests, in the order they came in."""
        with self._lock:
            return list(self._received)

    def wait_until(self, condition: Callable[[], bool], seconds: float = 5.0) -> bool:
        """Whether something becomes true in time."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def clear(self) -> None:
        """Forget requests and faults; exchanges stay."""
        with self._lock:
            self._received.clear()
            self._script.clear()
            self._always = None

    # -- running ----------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        loop = self._loop = asyncio.new_event_loop()
        started = threading.Event()
        failed: list[BaseException] = []

        def run() -> None:
            asyncio.set_event_loop(loop)
            try:
                runner = loop.run_until_complete(self._start())
            except BaseException as error:  # said again in the thread that waits
                failed.append(error)
                started.set()
                return
            started.set()
            loop.run_forever()
            loop.run_until_complete(runner.cleanup())

        self._thread = threading.Thread(target=run, name="replay-server", daemon=True)
        self._thread.start()
        started.wait()
        if failed:
            self._thread.join()
            loop.close()
            raise failed[0]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._thread is not None
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._problems and error is None:
            raise FaultError("; ".join(self._problems))

    async def _start(self) -> web.ServerRunner:
        server = web.Server(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            max_field_size=2**20,
        )
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, self.host, self.port)
        await site.start()
        self.port = runner.addresses[0][1]
        return runner

    # -- answering --------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        received = await self._receive(request)
        id, path = _without_id(received.path)
        route = route_of(path, received.query, received.body)
        exchange = self._choose(id or received.header(EXCHANGE_HEADER), route, received.body)
        received.exchange = exchange.id if exchange else None
        return Told(self._steps(exchange, route, received), received, self._patience)

    async def _receive(self, request: web.BaseRequest) -> Received:
        body = bytearray()
        async for data in request.content.iter_any():
            body += data
            if len(body) > MOST_BODY:
                raise ConnectionError("a request that is too large for a test")
        named = tuple(
            (name.decode("latin-1").lower(), value.decode("latin-1"))
            for name, value in request.raw_headers
        )
        url = request.rel_url
        with self._lock:
            number = self._number(request.protocol)
            received = Received(
                request.method, url.raw_path, url.raw_query_string, named, bytes(body), number
            )
            self._received.append(received)
        return received

    def _number(self, connection: object) -> int:
        if connection not in self._connections:
            self._connections[connection] = next(self._numbers)
            if len(self._connections) > MOST_RECEIVED:
                self._connections.popitem(last=False)
        return self._connections[connection]

    def _choose(self, id: str | None, route: Route | None, body: bytes) -> Exchange | None:
        """Several recorded answers to one request are given in turn, the last one again."""
        with self._lock:
            if id is not None:
                return self._by_id.get(id)
            if route is None:
                return None
            fitting = self._by_request.get((route.dialect, bool(route.is_stream), spelling(body)))
            if not fitting:
                return None
            return fitting.popleft() if len(fitting) > 1 else fitting[0]

    def _steps(
        self, exchange: Exchange | None, route: Route | None, received: Received
    ) -> list[Step]:
        try:
            fault = self._next_fault(received)
            answer = self._answer(exchange, route)
            received.fault = fault.name if fault else None
            return fault.play(answer) if fault else answer.steps()
        except FaultError as error:
            with self._lock:
                self._problems.append(str(error))
            return _plain(500, str(error)).steps()

    def _next_fault(self, received: Received) -> Fault | None:
        asked = received.header(FAULT_HEADER)
        if asked is not None:
            return fault_from(asked)
        with self._lock:
            return self._script.popleft() if self._script else self._always

    def _answer(self, exchange: Exchange | None, route: Route | None) -> Answer:
        if exchange is None:
            what = "no path of any dialect" if route is None else f"nothing recorded fits: {route}"
            return _plain(404, what)
        is_own = route is not None and route.dialect == exchange.dialect
        return exchange.answer(route.framing if route and is_own else None, self._pace)


def _fault(given: Fault | str | None) -> Fault | None:
    return fault_from(given) if isinstance(given, str) else given


def _without_id(path: str) -> tuple[str | None, str]:
    """The exchange that a path asks for, and the path as the provider knows it."""
    if not path.startswith("/@"):
        return None, path
    id, _, rest = path[2:].partition("/")
    return id, f"/{rest}"


def _plain(status: int, message: str) -> Answer:
    body = encode({"error": {"message": f"replay server: {message}"}})
    return Answer("openai-chat", status, (("content-type", JSON_TYPE),), (Piece(body),))
