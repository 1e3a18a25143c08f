"""The tools of tasks: files of the task's folder, and the MCP servers of the configuration. The
same for all tasks of this process; whose folder they work in is said for each run."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from interlingua import config
from interlingua.chat.files import register_files
from interlingua.errors import InterlinguaError
from interlingua.gateway.settings import Settings
from interlingua.tools.mcp import McpServers, read_servers
from interlingua.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)


class Equipment:
    """Servers are started when the first task runs, and stay until the gateway goes."""

    def __init__(self, settings: Settings) -> None:
        self.registry = ToolRegistry()
        register_files(self.registry)
        self._path = servers_path(settings)
        self._servers: McpServers | None = None
        self._started: asyncio.Task[None] | None = None

    async def ready(self) -> None:
        """Every server has answered or failed once. One that cannot be used is no reason not to
        run: the log says so."""
        if self._started is None:
            self._started = asyncio.ensure_future(asyncio.to_thread(self._start))
        await asyncio.shield(self._started)

    def _start(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            servers = McpServers(read_servers(self._path), self.registry)
            servers.start()
        except (InterlinguaError, OSError) as error:
            logger.error("mcp_servers_not_started", extra={"why": str(error)[:500]})
            return
        self._servers = servers

    async def close(self) -> None:
        if self._started is not None:
            await asyncio.wait({self._started})
        if self._servers is not None:
            await asyncio.to_thread(self._servers.close)


def servers_path(settings: Settings) -> Path | None:
    """The file of MCP servers: the one that is named, beside the file that names it; else the
    user's, which `chat` has too."""
    named = settings.tasks.servers
    if named is None:
        return config.config_folder() / "mcp.json"
    beside = Path() if settings.path is None else settings.path.parent
    return beside / Path(named).expanduser() if named else None
