"""Which MCP servers there are: made by a program, or read from a file on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from interlingua.errors import ReadError, found
from interlingua.tools.errors import McpError
from interlingua.tools.registry import NAME

MAX_FILE = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class McpServer:
    """How to reach a server: a `command` that is started here, or a `url`.

    A started server has only the variables of `env` and a few harmless ones of ours (PATH, HOME).
    `prefix` puts `<name>__` before the names of its tools: always, never, or (None) where the name
    is taken. `trust_hints` believes tools that say they only read, so that nobody is asked.
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
    """A file for what a started server writes to stderr."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or "__" in self.name:
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


def _server(what: str, name: str, given: Any) -> McpServer | None:
    path = f"$.mcpServers.{name}"
    if not isinstance(given, dict):
        raise ReadError(what, path, "an object", found(given))
    for key, value in given.items():
        if key not in _KEYS:
            raise ReadError(what, f"{path}.{key}", f"one of {', '.join(_KEYS)}", "something else")
        items = value.values() if isinstance(value, dict) else value
        texts = not isinstance(value, (dict, list)) or all(isinstance(i, str) for i in items)
        if not isinstance(value, _KEYS[key]) or not texts:
            raise ReadError(what, f"{path}.{key}", "another kind of value", found(value))
    if given.get("disabled"):
        return None
    fields = {key: value for key, value in given.items() if key not in ("type", "disabled")}
    return McpServer(name=name, **{**fields, "args": tuple(fields.get("args", ()))})
