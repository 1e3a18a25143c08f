"""Tools that OpenAI's Responses have in groups (`namespace`), as tools of their own for others.

A tool of a group is called by both names, and remembers them in the spelling of its definition, so
that the way back can take its calls apart again. (`openai` 3.49.0, and what Codex 0.166 sends; read
2026-11.)"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

RESPONSES = "openai-responses"
GROUP = "namespace"
_FORM = "$form"
_KNOWN = frozenset({"type", "name", "description", "parameters", "strict"})


def has_groups(tools: tuple[ToolDefinition, ...]) -> bool:
    return any(tool.kind == GROUP for tool in tools)


def called(group: str, name: str) -> str:
    """What a tool of a group is called where there are no groups."""
    return f"{group}__{name}"


def group_of(tool: ToolDefinition) -> tuple[str, str] | None:
    """The group that a tool was taken out of, and its name there."""
    form = ((tool.raw or {}).get(RESPONSES) or {}).get(_FORM) or {}
    return (form[GROUP], form["name"]) if GROUP in form else None


def ungrouped(request: Request, recorder: LossRecorder) -> Request:
    """The request with the tools of its groups on their own, in its history too."""
    ungrouping = _Ungrouping(recorder)
    tools = tuple([new for tool in request.tools for new in ungrouping.tools(tool)])
    messages = tuple([ungrouping.message(message) for message in request.messages])
    return request.replace(tools=tools, messages=messages)


class _Ungrouping:
    def __init__(self, recorder: LossRecorder) -> None:
        self._recorder = recorder
        self._members: dict[str, tuple[str, ...]] = {}
        """What the tools of a group are called now."""
        self._calls: dict[str, str] = {}
        """Ids of calls of such tools, and the names that they have now."""

    def tools(self, tool: ToolDefinition) -> list[ToolDefinition]:
        mine = (tool.raw or {}).get(RESPONSES) or {}
        inside = mine.get("tools")
        if tool.kind != GROUP or not isinstance(inside, list) or not all(map(_is_told, inside)):
            return [tool]
        new = [self._member(tool, wire) for wire in inside]
        self._members[tool.name] = tuple([each.name for each in new])
        reason = "there are no groups of tools here; each is said on its own, by both names"
        self._recorder.lost(tool, None, reason, "approximated", "info")
        if tool.description:
            self._recorder.lost(tool, "description", "there are no groups of tools here")
        return new

    def _member(self, group: ToolDefinition, wire: dict[str, Any]) -> ToolDefinition:
        rest = {key: value for key, value in wire.items() if key not in _KNOWN}
        spelled = {GROUP: group.name, "name": wire["name"]}
        tool = ToolDefinition(
            called(group.name, wire["name"]),
            wire.get("description"),
            wire.get("parameters"),
            kind=wire["type"],
            strict=wire.get("strict") or None,
            raw={RESPONSES: {**rest, _FORM: spelled}},
        )
        self._recorder.alias(tool, group)
        return tool

    def message(self, message: Message) -> Message:
        content = [self._block(block) for block in message.content]
        changes = self._changes(message)
        same = all(new is old for new, old in zip(content, message.content, strict=True))
        if same and changes is message.changes:
            return message
        told = message.replace(content=tuple(content), changes=changes)
        self._recorder.alias(told, message)
        return told

    def _changes(self, message: Message) -> Any:
        """Groups that come or go in mid-conversation are their tools now."""
        given = message.changes
        if given is None or not {*given.tools_added, *given.tools_removed} & self._members.keys():
            return given
        told = given.replace(
            tools_added=self._open(given.tools_added),
            tools_removed=self._open(given.tools_removed),
        )
        self._recorder.alias(told, given)
        return told

    def _open(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple([each for name in names for each in self._members.get(name, (name,))])

    def _block(self, block: Any) -> Any:
        new = block
        if type(block) is ToolUseBlock:
            new = self._call(block)
        elif type(block) is ToolResultBlock and block.tool_name:
            name = self._calls.get(block.tool_use_id)
            new = block if name is None else block.replace(tool_name=name)
        if new is not block:
            self._recorder.alias(new, block)
        return new

    def _call(self, block: ToolUseBlock) -> ToolUseBlock:
        raw = block.raw or {}
        mine = raw.get(RESPONSES) or {}
        group = mine.get(GROUP)
        if not isinstance(group, str):
            return block
        self._calls[block.id] = name = called(group, block.name)
        rest = {key: value for key, value in mine.items() if key != GROUP}
        return block.replace(name=name, raw={**raw, RESPONSES: rest})


def _is_told(wire: Any) -> bool:
    """Whether it is a tool that others can be told of."""
    return (
        isinstance(wire, dict)
        and wire.get("type") in ("function", "custom")
        and isinstance(wire.get("name"), str)
        and isinstance(wire.get("parameters"), (dict, type(None)))
    )
