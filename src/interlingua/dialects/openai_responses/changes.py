"""Items that change something for all that follows: tools that are brought, and settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire, unsaid_changes
from interlingua.dialects.openai_responses.tables import FORMAT_NAME, FORMATS, TRAITS
from interlingua.dialects.openai_responses.tools import added, write_tool
from interlingua.model.base import same
from interlingua.model.changes import EFFORTS, Changes, ResponseFormat
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

UPDATE = "configuration_update"
_SETTINGS = frozenset({"reasoning", "text"})
_FORMAT = ("name", "schema", "strict", "description")


def merged(before: Changes | None, more: Changes) -> Changes | None:
    """Both; None where one message cannot hold both."""
    if before is None:
        return more
    for name in ("effort", "response_format"):
        if getattr(before, name) is not None and getattr(more, name) is not None:
            return None
    return before.replace(
        tools_added=before.tools_added + more.tools_added,
        effort=before.effort or more.effort,
        response_format=before.response_format or more.response_format,
    )


def read_update(item: Wire) -> tuple[Changes, Wire] | None:
    """The settings of an item, and its other keys; None where it says more than there are fields
    for."""
    reasoning, text = item.get("reasoning"), item.get("text")
    effort = reasoning.get("effort") if type(reasoning) is dict else None
    wanted = _read_format(text.get("format")) if type(text) is dict else None
    changes = Changes(effort=effort if effort in EFFORTS else None, response_format=wanted)
    keys = {key: value for key, value in item.items() if key not in _SETTINGS and key != "type"}
    said = _settings(changes)
    if not said or not same({"type": UPDATE, **keys, **said}, item):
        return None
    return changes, keys


def _read_format(wire: Any) -> ResponseFormat | None:
    if type(wire) is not dict or wire.get("type") not in ("text", "json_schema"):
        return None
    fields = {name: wire[name] for name in _FORMAT if name in wire}
    return ResponseFormat(wire["type"], **fields)


def _settings(changes: Changes) -> Wire:
    said: Wire = {}
    if changes.effort is not None:
        said["reasoning"] = {"effort": changes.effort}
    wanted = changes.response_format
    if wanted is not None and wanted.kind in ("text", "json_schema"):
        form: Wire = {"type": FORMATS.write(wanted.kind)}
        if wanted.kind == "json_schema":
            form |= {"name": FORMAT_NAME, "schema": {}}
        given = {name: getattr(wanted, name) for name in _FORMAT}
        form |= {name: value for name, value in given.items() if value is not None}
        said["text"] = {"format": form}
    return said


class Pending:
    """The changes of one message that are still to be said."""

    def __init__(self, message: Message, tools: Sequence[ToolDefinition], scribe: Scribe) -> None:
        changes = message.changes
        assert changes is not None
        self.message, self.tools, self.scribe = message, tools, scribe
        self.names = list(changes.tools_added)
        self.settings = _settings(changes)
        unsaid_changes(message, scribe, TRAITS.changes)
        wanted = changes.response_format
        if wanted is not None and "text" not in self.settings:
            scribe.lost(message, "changes.response_format")

    def take_tools(self, number: int) -> list[ToolDefinition]:
        """The tools that the item of this number brought, as far as they are still named."""
        found = [t for t in self.tools if added(t) == number and t.name in self.names]
        for tool in found:
            self.names.remove(tool.name)
        return found

    def take_settings(self) -> Wire:
        said, self.settings = self.settings, {}
        return said

    def rest(self, brought: set[int]) -> list[Wire]:
        """Items for what no item of the wire has said."""
        items: list[Wire] = []
        tools: list[Wire] = []
        for name in self.names:
            found = [t for t in self.tools if t.name == name and id(t) not in brought]
            if not found:
                self.scribe.lost(self.message, "changes.tools_added", f"no tool is called {name}")
                continue
            brought.add(id(found[0]))
            written = write_tool(found[0], self.scribe)
            if written is not None:
                tools.append(written)
        if tools:
            items.append({"type": "additional_tools", "role": "developer", "tools": tools})
        if self.settings:
            items.append({"type": UPDATE, **self.settings})
        return items
