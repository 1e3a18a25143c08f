"""A real MCP server for the tests: run it with `stdio`, or with `http`, and it prints its port."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import sys
from typing import Any, Literal

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("test", instructions="For tests.")
READ_ONLY = types.ToolAnnotations(read_only_hint=True)


class Place(BaseModel):
    city: str
    country: str | None = None


@server.tool(annotations=READ_ONLY, structured_output=False)
def echo(text: str) -> str:
    """Says it again."""
    return text


@server.tool()
def add(a: int, b: int = 2) -> int:
    """Adds."""
    return a + b


@server.tool(annotations=READ_ONLY)
def where(place: Place, unit: Literal["km", "mi"] = "km") -> dict[str, Any]:
    """Finds a place."""
    return {"city": place.city, "unit": unit}


@server.tool(structured_output=False)
def everything() -> list[Any]:
    """One of each kind of content."""
    data = base64.b64encode(b"data").decode()
    text = types.TextResourceContents(uri="file:///a.txt", mime_type="text/plain", text="body")
    blob = types.BlobResourceContents(uri="file:///b.pdf", mime_type="application/pdf", blob=data)
    picture = types.BlobResourceContents(uri="file:///c.png", mime_type="image/png", blob=data)
    return [
        types.TextContent(text="words"),
        types.ImageContent(data=data, mime_type="image/png"),
        types.AudioContent(data=data, mime_type="audio/wav"),
        types.ImageContent(data="no base64!", mime_type="image/png"),
        types.EmbeddedResource(resource=text),
        types.EmbeddedResource(resource=blob),
        types.EmbeddedResource(resource=picture),
        types.ResourceLink(name="more", uri="https://example.com/more", mime_type="text/html"),
    ]


@server.tool(structured_output=False)
def structured() -> types.CallToolResult:
    """Only structured content."""
    return types.CallToolResult(content=[], structured_content={"n": 1})


@server.tool(structured_output=False)
def fails() -> str:
    """Fails."""
    raise ToolError("it did not work")


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)


@server.tool(name="Who-Am.I")
def who() -> int:
    """The id of the server's process."""
    return os.getpid()


@server.tool()
async def wait(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool, and says so in both ways that there are."""

    def grown() -> str:
        """A new tool."""
        return "grown"

    server.add_tool(grown)
    server.remove_tool("add")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "done"


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    import uvicorn

    plug = socket.socket()
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    plug.bind(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0))
    plug.listen()
    print(plug.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="critical", lifespan="on")
    uvicorn.Server(config).run(sockets=[plug])


if __name__ == "__main__":
    main()
