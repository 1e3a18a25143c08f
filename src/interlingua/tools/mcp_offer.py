"""The tools of one MCP server in a registry."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from interlingua.errors import SchemaError
from interlingua.tools.mcp_content import definition_of, fitted_name, marked, shortened
from interlingua.tools.mcp_link import Link, State

if TYPE_CHECKING:
    from interlingua.model.blocks import ToolResultBlock
    from interlingua.tools.handlers import Handler
    from interlingua.tools.registry import ToolRegistry

logger = logging.getLogger(__name__)


class McpStatus(NamedTuple):
    """What there is to know about a server."""

    name: str
    state: State
    problem: str | None
    tools: dict[str, str]
    """Our names to the server's."""
    refused: dict[str, str]
    """The server's names of tools that could not be registered, and why."""
    adapted: dict[str, list[str]]
    """What was changed in the schemas of tools, by our name."""


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
        """Make the registry have what the server offers now; whether that was a change."""
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
