"""`/mcp`: the tools of the configured MCP servers as one server, and the caller's own sessions to
search and read, over streamable HTTP.

Every request stands alone: the key is looked up for each, and its present permissions decide the
tools that it lists and calls. A key gets tools of servers only by name (`keys issue --tool`);
everyone gets them on a gateway without keys, which listens on loopback. Only the machine's own user
reads the sessions of coding agents."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from interlingua import __version__
from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.gateway.sessions import transcripts
from interlingua.gateway.sessions.api import messages_with, own_sessions, session_row
from interlingua.gateway.sessions.live import plain
from interlingua.gateway.shared.bodies import text_of
from interlingua.gateway.shared.callers import UNKNOWN_ROUTE, ApiError, log_refused
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import Principal
from interlingua.model.blocks import ImageBlock, TextBlock, ToolResultBlock
from interlingua.model.codec import dumps
from interlingua.tools.registry import RegisteredTool

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from interlingua.gateway.service import Service

logger = logging.getLogger(__name__)

FOUND, MESSAGES, MOST = 20, 50, 200
SEARCH, READ = "search_sessions", "read_session"
_caller: ContextVar[Principal] = ContextVar("caller")
Own = Callable[["Service", Principal, dict[str, Any]], Awaitable[Any]]


class McpDoor:
    """The MCP server of a gateway. It starts with the first request."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._over = asyncio.Event()

    async def manager(self) -> StreamableHTTPSessionManager:
        """The server, running; `ApiError` with 501 where its package is missing."""
        if self._manager is None:
            self._manager = _new_manager(self._service)
            self._running = asyncio.ensure_future(self._run(self._manager))
        await self._ready.wait()
        return self._manager

    async def _run(self, manager: StreamableHTTPSessionManager) -> None:
        async with manager.run():
            self._ready.set()
            await self._over.wait()

    async def close(self) -> None:
        self._over.set()
        if self._running is not None:
            with suppress(asyncio.CancelledError):
                await self._running


class _McpResponse(Response):
    """The answer of the MCP server to one request of one caller."""

    def __init__(self, manager: StreamableHTTPSessionManager, principal: Principal) -> None:
        super().__init__()
        self._manager = manager
        self._principal = principal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_logged(message: Any) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                log_refused(scope["method"], "/mcp", message["status"], "mcp", self._principal)
            await send(message)

        token = _caller.set(self._principal)
        try:
            await self._manager.handle_request(scope, receive, send_logged)
        finally:
            _caller.reset(token)


async def handle(service: Service, request: Request, principal: Principal) -> Response:
    principal = await service.gateway.keys.current(principal, looked_up=True)
    return _McpResponse(await service.mcp.manager(), principal)


def _new_manager(service: Service) -> StreamableHTTPSessionManager:
    try:
        import mcp_types as types
        from mcp.server.lowlevel.server import Server
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    except ImportError:
        text = str(MissingExtraError("the MCP server of the gateway", "mcp"))
        raise ApiError(501, "not_installed", text) from None
    logging.getLogger("mcp.server").setLevel(logging.CRITICAL)  # it logs what clients send

    async def list_tools(context: Any, params: Any) -> Any:
        tools = [types.Tool.model_validate(each) for each in OWN_TOOLS]
        for each in await _offered(service, _caller.get()):
            tools.append(
                types.Tool(
                    name=each.tool.name,
                    description=each.tool.description,
                    input_schema=each.tool.input_schema or {"type": "object"},
                )
            )
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: Any) -> Any:
        content, failed = await _called(service, _caller.get(), params.name, params.arguments or {})
        return types.CallToolResult.model_validate({"content": content, "isError": failed})

    server: Any = Server(
        "interlingua", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )
    size = service.limits.body
    return StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=size
    )


# The tools of the servers


async def _offered(service: Service, principal: Principal) -> list[RegisteredTool]:
    """The tools of servers that a caller may use."""
    tools = service.tasks.task_tools
    if isinstance(principal, KeyPrincipal) and not principal.allowed_tools:
        return []
    await tools.ready()
    found = [each for each in tools.registry.found() if each.tool.name not in tools.own]
    if not isinstance(principal, KeyPrincipal):
        return found
    patterns, only = principal.allowed_tools or (), tools.only_server
    return [
        each
        for each in found
        if any(
            fnmatchcase(each.tool.name, pattern)
            or (only is not None and fnmatchcase(f"{only}__{each.tool.name}", pattern))
            for pattern in patterns
        )
    ]


async def _called(
    service: Service, principal: Principal, name: str, input: dict[str, Any]
) -> tuple[list[dict[str, Any]], bool]:
    """The content of a result, and whether it is an error."""
    try:
        if name in _OWN:
            _log(name, principal)
            return [_text(msgspec.json.encode(await _OWN[name](service, principal, input)))], False
        offered = {each.tool.name: each for each in await _offered(service, principal)}
        tool = offered.get(name)
        _log(UNKNOWN_ROUTE if tool is None else name, principal)
        if tool is None or tool.handler is None:
            return [_text(f"there is no tool {name[:200]!r}")], True
        tool.validate(input)
        result = await tool.handler(input)
    except (ApiError, InterlinguaError) as error:
        return [_text(str(error)[:2000])], True
    if not isinstance(result, ToolResultBlock):
        return [_text(str(result))], False
    return [_content(block) for block in result.content], bool(result.is_error)


def _log(tool: str, principal: Principal) -> None:
    """A name that no tool has may be anything, and is not in the log."""
    logger.info("mcp_call", extra={"tool": tool, "key": principal.key_id})


def _text(text: str | bytes) -> dict[str, Any]:
    return {"type": "text", "text": text.decode() if isinstance(text, bytes) else text}


def _content(block: Any) -> dict[str, Any]:
    """A block of a result as MCP content; a block without an MCP type becomes JSON text."""
    if isinstance(block, TextBlock):
        return _text(block.text)
    source = getattr(block, "source", None)
    if isinstance(block, ImageBlock) and source is not None and source.kind == "base64":
        kind = block.media_type or "image/png"
        return {"type": "image", "data": source.data, "mimeType": kind}
    return _text(dumps(block))


# Sessions


async def _search(service: Service, principal: Principal, input: dict[str, Any]) -> Any:
    words = text_of(str(input.get("query", "")), "query")
    limit = _number(input, "limit", FOUND)
    own = own_sessions(service, principal)
    found: dict[str, Any] = {"messages": await messages_with(service.store, own, words, limit)}
    if transcripts.may_read(service, principal):
        found |= await transcripts.matching(words, limit)
    return found


async def _read(service: Service, principal: Principal, input: dict[str, Any]) -> Any:
    id = text_of(str(input.get("id", "")), "id")
    if (agent := input.get("agent")) is not None:
        found = await transcripts.transcript(service, str(agent), id, principal)
        shown, count = found["messages"], found["row"]["message_count"]
        start, limit = _page(input, count)
        first = max(0, start - (count - len(shown)))
        return _part(found["row"], count, start, shown[first : first + limit])
    row = await session_row(service, id, principal)
    start, limit = _page(input, row.message_count)
    part = [plain(message) for message in await service.store.messages(row.id, start, limit)]
    return _part({"id": row.id, "name": row.name}, row.message_count, start, part)


def _part(row: dict[str, Any], count: int, start: int, messages: list[Any]) -> dict[str, Any]:
    named = {"id": row["id"], "name": row["name"], "message_count": count}
    return {**named, "from": start, "messages": messages}


def _page(input: dict[str, Any], count: int) -> tuple[int, int]:
    """The start and size of a page of messages: without `after`, the last ones."""
    limit, start = _number(input, "limit", MESSAGES), input.get("after")
    if start is None:
        start = max(0, count - limit)
    elif type(start) is not int or not 0 <= start < 2**53:
        raise ApiError(400, "invalid_request", "after: expected a number of messages")
    return start, limit


def _number(input: dict[str, Any], name: str, usual: int) -> int:
    value = input.get(name, usual)
    if type(value) is not int or not 1 <= value <= MOST:
        raise ApiError(400, "invalid_request", f"{name}: expected a number from 1 to {MOST}")
    return value


_OWN: dict[str, Own] = {SEARCH: _search, READ: _read}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MOST}
OWN_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": SEARCH,
        "description": "Search your sessions on this gateway; finds messages with all words, and on"
        " your own machine sessions of coding agents with this text, with its surroundings.",
        "inputSchema": {
            "type": "object",
            "properties": {"query": {"type": "string"}, "limit": _LIMIT},
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": READ,
        "description": "Read messages of one of your sessions: the last ones, or those after a"
        " number of messages. With `agent`, a session of a coding agent on this machine.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "after": {"type": "integer", "minimum": 0},
                "limit": _LIMIT,
                "agent": {"type": "string"},
            },
            "required": ["id"],
        },
        "annotations": {"readOnlyHint": True},
    },
)
