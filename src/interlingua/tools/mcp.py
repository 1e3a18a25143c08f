"""MCP servers as a source of tools, through the official `mcp` package (extra `mcp`).

    with McpServers([McpServer("files", command="files-server")], registry) as servers:
        ...                                            # `async with` does as well

Each server's tools are in the registry while it is there. Connections live in a thread with an
event loop of its own, so that tools can be called from any loop and from programs without one.
Servers come from the program or from a file on this machine; never take a command from a request.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from interlingua.errors import MissingExtraError, SchemaError
from interlingua.tools.handlers import McpError
from interlingua.tools.mcp_link import END_WAIT, Link, McpServer, State, read_servers
from interlingua.tools.mcp_schema import definition_of, fitted_name, marked, shortened

if TYPE_CHECKING:
    from interlingua.model.blocks import ToolResultBlock
    from interlingua.tools.handlers import Handler
    from interlingua.tools.registry import ToolRegistry


class McpStatus(NamedTuple):
    """The status of a server."""

    name: str
    state: State
    problem: str | None
    tools: dict[str, str]
    """Our names to the server's."""
    refused: dict[str, str]
    """The server's names of tools that could not be registered, and why."""
    adapted: dict[str, list[str]]
    """The changes in the schemas of tools, by our name."""


class Offer:
    """The tools of one server in the registry."""

    def __init__(self, link: Link, call: Callable[[Link, str, Any], Any]) -> None:
        self.link = link
        self._call = call
        self._names: dict[str, str] = {}  # the server's to ours; a name once given stays
        self._originals: dict[str, str] = {}  # and back
        self._there: set[str] = set()
        self._refused: dict[str, str] = {}
        self._adapted: dict[str, list[str]] = {}

    def status(self) -> McpStatus:
        link = self.link
        tools = {ours: theirs for theirs, ours in self._names.items() if ours in self._there}
        return McpStatus(
            link.server.name,
            link.state,
            link.problem,
            tools,
            dict(self._refused),
            {name: list(changes) for name, changes in self._adapted.items() if changes},
        )

    def register(self, registry: ToolRegistry) -> bool:
        """Updates the registry to what the server offers now; returns whether it changed."""
        if self.link.state == "starting":
            return False
        self._refused, changed = {}, False
        offered: set[str] = set()
        for tool in self.link.tools:
            name = self._name(tool.name, registry, offered)
            try:
                changed |= self._put(tool, name, registry)
                offered.add(name)
            except SchemaError as problem:
                self._refused[tool.name] = str(problem)
                facts = {"server": self.link.server.name, "tool": name}
                logger.warning("mcp_tool_refused", extra=facts)
        for name in self._there - offered:
            registry.unregister(name)
            changed = True
        self._there = offered
        return changed

    def withdraw(self, registry: ToolRegistry) -> None:
        for name in self._there:
            registry.unregister(name)
        self._there = set()

    def _put(self, tool: Any, name: str, registry: ToolRegistry) -> bool:
        server = self.link.server
        definition, self._adapted[name] = definition_of(
            tool, name, local=server.command is not None, trust_hints=server.trust_hints
        )
        if name not in self._there:
            registry.register(definition, self._handler(tool.name))
        elif registry.get(name) != definition:
            registry.replace(definition, self._handler(tool.name))
        else:
            return False
        return True

    def _handler(self, name: str) -> Handler:
        async def handler(input: dict[str, Any]) -> ToolResultBlock:
            result: ToolResultBlock = await self._call(self.link, name, input)
            return result

        return handler

    def _name(self, name: str, registry: ToolRegistry, offered: set[str]) -> str:
        known = self._names.get(name)
        if known is not None and known not in offered:
            return known

        def taken(ours: str) -> bool:
            if self._originals.get(ours, name) != name:
                return True
            return ours in registry and ours not in self._there

        server = self.link.server
        plain = fitted_name(name)
        prefixed = shortened(f"{server.name}__{plain}", f"{server.name}__{name}")
        use_prefix = taken(plain) if server.prefix is None else server.prefix
        ours = prefixed if use_prefix else plain
        if taken(ours):
            ours = marked(ours, f"{server.name}__{name}")
        self._names[name], self._originals[ours] = ours, name
        return ours


__all__ = ["McpServer", "McpServers", "McpStatus", "read_servers"]

logger = logging.getLogger(__name__)


class McpServers:
    """Keeps servers connected and their tools registered, from `start` to `close`.

    A server that cannot be reached is no error: `status` shows it, and it is tried again. While one
    is down its tools stay, and calls of them wait a little and then fail. `on_change` is called in
    the servers' thread when tools have come or gone.
    """

    def __init__(
        self,
        servers: Iterable[McpServer],
        registry: ToolRegistry,
        *,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self.servers = tuple(servers)
        self.registry = registry
        self._on_change = on_change
        self._offers: dict[str, Offer] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closing: asyncio.Event | None = None
        self._running = threading.Event()
        self._in_order = False
        names = [server.name for server in self.servers]
        for name in names:
            if names.count(name) > 1:
                raise McpError(name, "duplicate server name")

    def start(self) -> None:
        """Connect, and wait until every server has answered or failed once."""
        try:
            import mcp  # noqa: F401  # slow, and not everybody's
        except ImportError as error:
            raise MissingExtraError("MCP servers", "mcp") from error
        if self._thread is not None:
            raise McpError("all", "already started")
        for name in ("mcp.client.stdio", "mcp.client.streamable_http"):
            logging.getLogger(name).addFilter(_without_content)
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run(ready)), name="interlingua-mcp", daemon=True
        )
        self._thread.start()
        most = max([server.connect_timeout for server in self.servers], default=0)
        ready.wait(most + END_WAIT)

    def close(self) -> None:
        """End all connections and the processes behind them, and take their tools away."""
        if self._thread is None or not self._running.wait(END_WAIT):
            return
        loop, closing = self._loop, self._closing
        if self._thread.is_alive() and loop is not None and closing is not None:
            loop.call_soon_threadsafe(closing.set)
            self._thread.join(2 * END_WAIT)
        for offer in self._offers.values():
            offer.withdraw(self.registry)

    def status(self) -> list[McpStatus]:
        return [offer.status() for offer in list(self._offers.values())]

    async def _run(self, ready: threading.Event) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        for server in self.servers:
            self._offers[server.name] = Offer(Link(server, self._changed), self._call)
        self._running.set()
        links = [offer.link for offer in self._offers.values()]
        keeping = [asyncio.create_task(link.keep()) for link in links]
        try:
            # The first in the list gets the plain name, not the first to answer.
            await self._all_tried(links)
            self._in_order = True
            for link in links:
                self._changed(link)
            ready.set()
            await self._closing.wait()
        finally:
            ready.set()
            for link in links:
                link.close()
            if keeping:
                await asyncio.wait(keeping, timeout=END_WAIT)

    async def _all_tried(self, links: list[Link]) -> None:
        """Waits until each server has answered or failed once, or until they are closed."""
        assert self._closing is not None
        closing = asyncio.create_task(self._closing.wait())
        for link in links:
            tried = asyncio.create_task(link.tried.wait())
            await asyncio.wait({tried, closing}, return_when=asyncio.FIRST_COMPLETED)
            tried.cancel()
        closing.cancel()

    def _changed(self, link: Link) -> None:
        offer = self._offers[link.server.name]
        if self._in_order and offer.register(self.registry) and self._on_change is not None:
            try:
                self._on_change()
            except Exception as problem:  # theirs, and no reason to lose a server
                facts = {"server": link.server.name, "exception": type(problem).__name__}
                logger.warning("mcp_on_change_failed", extra=facts)

    async def _call(self, link: Link, name: str, input: dict[str, Any]) -> ToolResultBlock:
        loop = self._loop
        if loop is None or loop.is_closed() or link.state == "closed":
            raise McpError(link.server.name, "the connection is closed")
        calling = asyncio.run_coroutine_threadsafe(link.call(name, input), loop)
        return await asyncio.wrap_future(calling)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        try:
            await asyncio.to_thread(self.start)
        except asyncio.CancelledError:
            await asyncio.to_thread(self.close)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)


def _without_content(record: logging.LogRecord) -> bool:
    """The package logs lines that it cannot read with what stands in them; we do not."""
    record.exc_info = record.exc_text = None
    return True
