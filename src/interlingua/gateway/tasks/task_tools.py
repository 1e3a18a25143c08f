"""The tools of tasks: files of the task's folder, and the MCP servers of the configuration. They
are the same for all tasks of this process; each run sets its folder."""

from __future__ import annotations

import asyncio
import logging
import os
from decimal import Decimal
from pathlib import Path

from interlingua import config
from interlingua.agents.chat.chat import DELEGATE
from interlingua.agents.chat.delegate import Delegation
from interlingua.agents.chat.files import register_files
from interlingua.errors import InterlinguaError
from interlingua.gateway.keys.keys import is_loopback
from interlingua.gateway.settings import Settings, Tasks
from interlingua.gateway.shared.bodies import text_of
from interlingua.gateway.shared.callers import ApiError
from interlingua.gateway.shared.state import Principal
from interlingua.tools.mcp import McpServers, read_servers
from interlingua.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)


def delegating(registry: ToolRegistry, tasks: Tasks) -> ToolRegistry:
    """The tools with `delegate` among them, under the limits of the settings."""
    budget = tasks.delegate_budget_usd
    delegation = Delegation(
        models=tasks.delegate_models,
        budget_usd=None if budget is None else Decimal(str(budget)),
        turns=tasks.delegate_turns,
        depth=tasks.delegate_depth,
        workers=tasks.delegate_workers,
    )
    tools = registry.subset()
    tools.unregister(DELEGATE)  # one of a server would be mistaken for ours
    delegation.register(tools)
    return tools


class TaskTools:
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


_EVERYWHERE = (None, "", ".")
"""Workspaces of keys that are for no folder in particular."""


def folder_of(cwd: str | None, principal: Principal, settings: Settings) -> str:
    """The folder of a new task, in the one spelling that it has; the caller's own, or the one the
    gateway was started in, where none is named."""
    own = principal.workspace_path
    home = _real("." if own in _EVERYWHERE else str(own))
    path = home if cwd is None else _real(text_of(cwd, "cwd"), home)
    _require_inside(path, principal, settings)
    if not os.path.isdir(path):
        raise ApiError(400, "invalid_request", "cwd: no such folder on this machine")
    return str(path)


def require_folder(cwd: str, principal: Principal, settings: Settings) -> None:
    """The folder of an existing task is one that the caller may use now.

    It was stored without links in its path; a link that was put in its place leads elsewhere."""
    if _real(cwd) != Path(cwd):
        text = "the task's folder was replaced by a link to another place"
        raise ApiError(403, "workspace_not_allowed", text)
    _require_inside(Path(cwd), principal, settings)


def _require_inside(path: Path, principal: Principal, settings: Settings) -> None:
    roots = _roots(principal, settings)
    if roots and not any(path == root or root in path.parents for root in roots):
        text = "cwd: outside the folders that this caller may use"
        raise ApiError(403, "workspace_not_allowed", text)


def _roots(principal: Principal, settings: Settings) -> list[Path]:
    """The folders that a task may be in or below; none: it may be anywhere.

    A key is for its workspace. One that is for no folder in particular can be used from other
    machines where the gateway listens to them: then the gateway's own folder, or those that its
    settings name, are as far as it goes."""
    named = [_real(folder) for folder in settings.tasks.folders]
    if principal.key_id is None:
        return named
    if principal.workspace_path not in _EVERYWHERE:
        return [_real(str(principal.workspace_path))]
    return named if is_loopback(settings.listen.host) else named or [_real(".")]


def _real(path: str, base: Path | None = None) -> Path:
    """A folder in the one spelling that it has."""
    try:
        return ((base or Path()) / Path(path).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        raise ApiError(400, "invalid_request", "cwd: expected the path of a folder") from None
