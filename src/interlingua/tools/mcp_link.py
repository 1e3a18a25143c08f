"""The connection to one MCP server: made, watched, made again when it is lost, and ended.

Runs in the event loop of `McpServers`. A task of its own opens and closes each connection, since
what the package opens in a task has to be closed in the same one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from interlingua.errors import ReadError, found
from interlingua.model.blocks import ToolResultBlock
from interlingua.tools.handlers import McpError
from interlingua.tools.mcp_schema import result_block

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool


logger = logging.getLogger(__name__)

State = Literal["starting", "up", "down", "closed"]

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
TRIES = 8
"""Attempts in a row, after which the next one waits for a call."""
STEADY = 60.0
"""Seconds of being up after which earlier failures are forgotten."""
CALL_WAIT = 15.0
"""How long a call waits for the reconnection of a lost server."""
END_WAIT = 15.0
MAX_PAGES = 100

_NAME = re.compile("[a-z][a-z0-9_]{0,63}")
"""Names of servers: a prefix of the names of their tools."""


class Link:
    """`tools` is what the server offered last; `changed` is called when that is something else."""

    def __init__(self, server: McpServer, changed: Callable[[Link], None]) -> None:
        self.server = server
        self.state: State = "starting"
        self.problem: str | None = None
        self.tools: list[Tool] = []
        self.tried = asyncio.Event()
        """Set when the first attempt to connect is over."""
        self._changed = changed
        self._client: Client | None = None
        self._up = asyncio.Event()
        self._closing = asyncio.Event()
        self._reconnect = asyncio.Event()
        self._lost = asyncio.Event()
        self._refresh = asyncio.Event()

    async def call(self, name: str, input: dict[str, Any]) -> ToolResultBlock:
        """Call a tool. A call that was cut off is not made again: it may have had its effect."""
        import mcp_types
        from mcp import MCPError

        client, lost = await self._connected(), self._lost
        try:
            answer = await client.call_tool(
                name, input, read_timeout_seconds=self.server.call_timeout
            )
        except MCPError as error:
            if error.code == mcp_types.CONNECTION_CLOSED or error.message == "Session terminated":
                lost.set()
                text = "the connection was lost; the tool may or may not have run"
                raise McpError(self.server.name, text) from None
            raise McpError(self.server.name, error.message) from None
        return result_block(answer)

    async def _connected(self) -> Client:
        self._reconnect.set()
        if self._client is None and self.state != "closed":
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._up.wait(), CALL_WAIT)
        if self._client is None:
            why = f" ({self.problem})" if self.problem else ""
            raise McpError(self.server.name, f"not connected{why}")
        return self._client

    def close(self) -> None:
        self._closing.set()

    async def keep(self) -> None:
        """Be connected until `close`."""
        failures = 0
        while not self._closing.is_set():
            start = monotonic()
            was_up = await self._connection()
            self.tried.set()
            if self._closing.is_set():
                break
            failures = 1 if was_up and monotonic() - start > STEADY else failures + 1
            self.state = "down"
            self._reconnect.clear()
            facts = {"server": self.server.name, "failures": failures, "problem": self.problem}
            logger.warning("mcp_server_down", extra=facts)
            wait = min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT)
            await _any(self._closing, timeout=wait)
            if failures >= TRIES:
                await _any(self._closing, self._reconnect)
        self.state = "closed"
        self.tried.set()

    async def _connection(self) -> bool:
        """One connection from beginning to end; whether there was one. Never raises."""
        self._lost, self._refresh = asyncio.Event(), asyncio.Event()
        ready = asyncio.Event()
        task = asyncio.create_task(self._live(ready))
        ended = asyncio.Event()
        task.add_done_callback(lambda _: ended.set())
        await _any(ready, ended, self._closing, timeout=self.server.connect_timeout)
        if not ready.is_set() and not ended.is_set():
            late = not self._closing.is_set()
            task.cancel()  # once: a second time would break off the clean-up
            await _any(ended, timeout=END_WAIT)
            self.problem = "it did not answer in time" if late else None
        else:
            await asyncio.wait({task})
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            self.problem = _loggable(error)
        return ready.is_set()

    async def _live(self, ready: asyncio.Event) -> None:
        from mcp import Client

        connect = _http if self.server.command is None else _stdio
        transport = _watched(connect(self.server), self._lost)
        client = Client(
            transport,
            read_timeout_seconds=self.server.connect_timeout,
            message_handler=self._notified,
            cache=None,
        )
        async with client:
            self.tools = await _all_tools(client)
            self._client, self.state, self.problem = client, "up", None
            self._changed(self)
            ready.set()
            self.tried.set()
            self._up.set()
            listening = asyncio.create_task(self._listen(client))
            try:
                await self._watch(client)
            finally:
                self._client = None
                self._up.clear()
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
        if self._lost.is_set():
            self.problem = "the connection was lost"

    async def _watch(self, client: Client) -> None:
        while True:
            await _any(self._closing, self._lost, self._refresh)
            if self._closing.is_set() or self._lost.is_set():
                return
            self._refresh.clear()
            self.tools = await _all_tools(client)
            self._changed(self)

    async def _notified(self, message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self._refresh.set()

    async def _listen(self, client: Client) -> None:
        """Since the revision of 2026-07-28, servers report changes only to clients that listen."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._refresh.set()
                return
            except (ListenNotSupportedError, MCPError, TimeoutError):
                return
            except SubscriptionLost:
                await asyncio.sleep(FIRST_WAIT)
                self._refresh.set()  # of missed changes; and it fails if the server is gone


class _WatchedStream:
    """A server's messages as a stream that notices its end."""

    def __init__(self, stream: Any, lost: asyncio.Event) -> None:
        self._stream = stream
        self._lost = lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def receive(self) -> Any:
        try:
            return await self._stream.receive()
        except Exception:
            self._lost.set()
            raise

    def __aiter__(self) -> _WatchedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except BaseException:
            self._lost.set()
            raise

    async def __aenter__(self) -> _WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


@contextlib.asynccontextmanager
async def _watched(transport: Any, lost: asyncio.Event) -> AsyncIterator[tuple[Any, Any]]:
    async with transport as (read, write):
        yield _WatchedStream(read, lost), write


@contextlib.asynccontextmanager
async def _stdio(server: McpServer) -> AsyncIterator[tuple[Any, Any]]:
    """A server process. Its stderr goes to the server's log file or nowhere: it may contain
    content of conversations."""
    from mcp import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=str(server.command), args=list(server.args), env=dict(server.env), cwd=server.cwd
    )
    with open(server.log or os.devnull, "a", encoding="utf-8") as log:
        async with stdio_client(parameters, errlog=log) as streams:
            yield streams


@contextlib.asynccontextmanager
async def _http(server: McpServer) -> AsyncIterator[tuple[Any, Any]]:
    """Streamable HTTP."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(server.connect_timeout, read=server.call_timeout)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout) as client,
        streamable_http_client(str(server.url), http_client=client) as streams,
    ):
        yield streams


async def _all_tools(client: Client) -> list[Tool]:
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools.extend(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


async def _any(*events: asyncio.Event, timeout: float | None = None) -> None:
    """Wait until one of the events is set."""
    if any(event.is_set() for event in events):
        return
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _loggable(error: BaseException) -> str:
    """The part of an error that may be logged: its class, and the system's own text for it."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if getattr(error, "code", None) == -32000:  # the package's own, for a stream that ended
        return "it ended the connection before it had answered"
    if isinstance(error, OSError) and error.errno:
        return f"{type(error).__name__}: {os.strerror(error.errno)}"
    return type(error).__name__


MAX_FILE = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class McpServer:
    """A server's connection: a `command` that is started here, or a `url`.

    A started server has only the variables of `env` and a few harmless ones of this process (PATH,
    HOME). `prefix` puts `<name>__` before the names of its tools: always, never, or (None) where
    the name is taken. `trust_hints` believes tools that declare themselves read-only, so that no
    approval is needed.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = field(default=(), repr=False)  # people put tokens there
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prefix: bool | None = None
    trust_hints: bool = True
    connect_timeout: float = 30.0
    call_timeout: float = 600.0
    log: str | None = None
    """A file for the stderr of a started server."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or "__" in self.name:
            raise McpError(self.name, "a name has lower-case letters, digits and single _")
        if (self.command is None) == (self.url is None):
            raise McpError(self.name, "it needs a command or a url, and not both")
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise McpError(self.name, "the url begins with http:// or https://")


def read_servers(path: str | PathLike[str]) -> list[McpServer]:
    """The servers of a JSON file `{"mcpServers": {"name": {"command": …} or {"url": …}}}`.

    Keys beside those of McpServer that other programs use (`type`, `disabled`) are understood.
    """
    what = f"MCP servers in {path}"
    data = Path(path).read_bytes()[: MAX_FILE + 1]
    try:
        whole = json.loads(data) if len(data) <= MAX_FILE else None
    except ValueError:
        whole = None
    servers = whole.get("mcpServers") if isinstance(whole, dict) else None
    if not isinstance(servers, dict):
        raise ReadError(what, "$.mcpServers", "an object", found(servers))
    read = [_server(what, name, each) for name, each in servers.items()]
    return [server for server in read if server is not None]


_KEYS: dict[str, type | tuple[type, ...]] = {
    **{"command": str, "args": list, "env": dict, "cwd": str, "url": str, "headers": dict},
    **{"prefix": bool, "trust_hints": bool, "log": str, "type": str, "disabled": bool},
    **{"connect_timeout": (int, float), "call_timeout": (int, float)},
}


def _server(what: str, name: str, entry: Any) -> McpServer | None:
    path = f"$.mcpServers.{name}"
    if not isinstance(entry, dict):
        raise ReadError(what, path, "an object", found(entry))
    for key, value in entry.items():
        if key not in _KEYS:
            raise ReadError(what, f"{path}.{key}", f"one of {', '.join(_KEYS)}", "something else")
        items = value.values() if isinstance(value, dict) else value
        texts = not isinstance(value, (dict, list)) or all(isinstance(i, str) for i in items)
        if not isinstance(value, _KEYS[key]) or not texts:
            raise ReadError(what, f"{path}.{key}", "another kind of value", found(value))
    if entry.get("disabled"):
        return None
    fields = {key: value for key, value in entry.items() if key not in ("type", "disabled")}
    return McpServer(name=name, **{**fields, "args": tuple(fields.get("args", ()))})
