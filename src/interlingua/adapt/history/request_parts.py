"""Rewriting of instructions, labels, images and tools for the target.

The Responses API has tools in groups (`namespace`); elsewhere each is a tool of its own under both
names; its raw spelling lets the way back split them again. (`openai` 3.49.0, and what Codex 0.166
sends; read 2026-11.)"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_not
from typing import Any

from interlingua.adapt.fit.tools import narrow, rewrite
from interlingua.adapt.history.tool_mapping import is_foreign
from interlingua.adapt.history.vendor_tools import PROGRAMS
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect, dialects
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, ImageBlock, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- tools ----------------------------------------------------------------------------------------


_ORDER = "propertyOrdering"


def tools_for(
    tools: tuple[ToolDefinition, ...], target: Dialect, recorder: LossRecorder
) -> tuple[ToolDefinition, ...]:
    """The tools that the target accepts, with supported schemas."""
    out = [new for tool in tools if (new := _tool(tool, target, recorder)) is not None]
    if target.traits.code_calls and not any(PROGRAMS.fullmatch(tool.kind) for tool in out):
        out = [_called_directly(tool, recorder) for tool in out]
    same = len(out) == len(tools) and all(a is b for a, b in zip(out, tools, strict=True))
    return tools if same else tuple(out)


def _called_directly(tool: ToolDefinition, recorder: LossRecorder) -> ToolDefinition:
    """A tool that only code could call becomes callable by the model, as there is no code."""
    if "program" not in (tool.callers or ()):
        return tool
    recorder.lost(tool, "callers", because("no_programs"))
    new = tool.replace(callers=None)
    recorder.alias(new, tool)
    return new


def _tool(tool: ToolDefinition, target: Dialect, recorder: LossRecorder) -> ToolDefinition | None:
    if is_foreign(tool, target.name):
        reason = because("vendor_tool_foreign")
        recorder.lost(tool, None, reason)
        return None
    keywords = target.traits.schema_keywords
    if keywords is None or tool.input_schema is None:
        return tool
    schema, dropped = narrow(tool.input_schema, keywords)
    for path in dropped:
        reason = because("schema_keyword_ignored")
        recorder.lost(tool, f"input_schema{path}", reason)
    if not dropped:
        return tool
    new = tool.replace(input_schema=schema)
    recorder.alias(new, tool)
    return new


def without_order(request: Request, recorder: LossRecorder) -> Request:
    """A request of Gemini's without the order of properties in its schemas: it validates nothing,
    and other services may refuse the keyword."""
    changes: dict[str, Any] = {}
    tools = tuple([_unordered(tool, "input_schema", recorder) for tool in request.tools])
    if any(new is not old for new, old in zip(tools, request.tools, strict=True)):
        changes["tools"] = tools
    response_format = request.options.response_format
    if (
        response_format is not None
        and (new := _unordered(response_format, "schema", recorder)) is not response_format
    ):
        changes["options"] = request.options.replace(response_format=new)
        recorder.alias(changes["options"], request.options)
    return request.replace(**changes) if changes else request


def _unordered(value: Any, field: str, recorder: LossRecorder) -> Any:
    is_found = False

    def step(schema: JsonObject, _: str) -> JsonObject:
        nonlocal is_found
        if type(schema.get(_ORDER)) is not list:
            return schema
        is_found = True
        return {word: inner for word, inner in schema.items() if word != _ORDER}

    schema = rewrite(getattr(value, field), step)
    if not is_found:
        return value
    reason = because("schema_order", keyword=_ORDER)
    recorder.lost(value, field, reason, "approximated")
    new = value.replace(**{field: schema})
    recorder.alias(new, value)
    return new


def with_allowed_tools(request: Request, target: Dialect, recorder: LossRecorder) -> Request:
    """The request without the tools that its choice forbids, if the target has no such choice."""
    choice, tools = request.options.tool_choice, request.tools
    if choice is None or not tools or not (choice.names or choice.mode == "none"):
        return request
    kind = "none" if choice.mode == "none" else "one" if _is_forced(choice) else "some"
    allowed = [tool for tool in tools if choice.mode != "none" and tool.name in choice.names]
    if kind in target.traits.choices or not (allowed or kind == "none"):
        return request
    if not allowed and target.traits.defines_called and _has_calls(request):
        return request
    for tool in tools:
        if tool not in allowed:
            reason = because("tool_not_allowed")
            recorder.lost(tool, None, reason)
    position = "tool_choice" if kind == "none" else "tool_choice.names"
    reason = because("tools_left_out")
    recorder.lost(request.options, position, reason, "moved", "info")
    new = None if kind == "none" else ToolChoice(choice.mode)
    options = request.options.replace(tool_choice=new)
    recorder.alias(options, request.options)
    return request.replace(tools=tuple(allowed), options=options)


def _is_forced(choice: ToolChoice) -> bool:
    return choice.mode == "any" and len(choice.names) == 1


def _has_calls(request: Request) -> bool:
    return any(
        type(block) is ToolUseBlock or type(block) is ToolResultBlock
        for message in request.messages
        for block in message.content
    )


_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})


def in_front(request: Request, recorder: LossRecorder) -> Request:
    """The request with later instructions moved behind the first ones. That changes the order of
    the messages, so no prompt cache can be reused."""
    front: list[Message] = []
    rest: list[Message] = []
    for message in request.messages:
        if message.role not in _INSTRUCTS:
            rest.append(message)
            continue
        if rest:
            recorder.lost(message, None, because("instructions_hoisted"), kind="moved")
        front.append(message)
    return request.replace(messages=(*front, *rest))


BILLED = "labels"
"""Names of the tool kinds as they appear on the bill."""
_STORED = "store"
_OPENAI = (None, "openai", "azure")
STORING = frozenset({"openai-responses", "gemini-interactions"})
"""Dialects whose services store an answer unless the request has `store: false`."""


def budget_as_limit(request: Request, recorder: LossRecorder) -> Request:
    """The remaining budget of a task becomes the limit of this answer, if it has no other."""
    options, budget = request.options, request.options.task_budget
    if budget is None or options.max_output_tokens is not None:
        return request
    left = budget.total if budget.remaining is None else budget.remaining
    if left < 1:
        return request
    reason = because("budget_as_limit", value=left)
    recorder.lost(options, "task_budget", reason, "approximated")
    limited = options.replace(task_budget=None, max_output_tokens=left)
    recorder.alias(limited, options)
    return request.replace(options=limited)


def report_labels(
    request: Request,
    source: str | None,
    target: Dialect,
    provider: str | None,
    recorder: LossRecorder,
) -> Request:
    """The request with labels that the target accepts: some services take metadata only with stored
    answers, and labels for a bill do not appear there once they are metadata. Losses on the way
    back are reported by the writer, which knows their grammar."""
    options = request.options
    if options.metadata is None:
        return request
    if target.traits.stored_metadata and provider in _OPENAI:
        stored = _stored(request, target.name)
        if stored is None:
            reason = because("metadata_needs_store")
            recorder.lost(options, "metadata", reason)
            unlabelled = options.replace(metadata=None)
            recorder.alias(unlabelled, options)
            return request.replace(options=unlabelled)
        request = stored
    if source not in dialects() or target.traits.metadata in (None, BILLED):
        return request
    if dialect(source).traits.metadata == BILLED:
        reason = because("metadata_as_labels", field=target.traits.metadata)
        recorder.lost(options, "metadata", reason, "approximated")
    return request


def _stored(request: Request, name: str) -> Request | None:
    """The request with `store: true` for the target, where the source has it; None where it has
    not. Chat and Responses have the same key for it."""
    raw = request.raw or {}
    for source, own_raw in raw.items():
        if type(own_raw) is dict and own_raw.get(_STORED) is True:
            rest = {key: item for key, item in own_raw.items() if key != _STORED}
            target_raw = {**(raw.get(name) or {}), _STORED: True}
            return request.replace(raw={**raw, source: rest, name: target_raw})
    return None


def unstored(request: Request, name: str) -> Request:
    """The request with `store: false` for the target, where the source has it."""
    raw = request.raw or {}
    for source, rest in raw.items():
        if source != name and type(rest) is dict and rest.get(_STORED) is False:
            others = {key: item for key, item in rest.items() if key != _STORED}
            own_raw = {_STORED: False, **(raw.get(name) or {})}
            return request.replace(raw={**raw, source: others, name: own_raw})
    return request


NO_IMAGES = because("model_without_images")
"""Why they are left out."""
NO_IMAGE = "[image left out: this model takes no images]"
"""Replaces a run of images for a model without image input, and in a result:"""
NO_RESULT_IMAGE = "[image of the result left out: this model takes no images]"


def without_images(messages: tuple[Message, ...], recorder: LossRecorder) -> tuple[Message, ...]:
    """Replaces each run of images by one placeholder, so that text about them still refers to
    something."""
    return tuple([_without_images(message, recorder) for message in messages])


def _without_images(message: Message, recorder: LossRecorder) -> Message:
    content: list[Block] = []
    for block in _placeheld(message.content, NO_IMAGE, recorder):
        if type(block) is ToolResultBlock:
            inner = _placeheld(block.content, NO_RESULT_IMAGE, recorder)
            if len(inner) != len(block.content) or any(map(is_not, inner, block.content)):
                new = block.replace(content=tuple(inner))
                recorder.alias(new, block)
                block = new
        content.append(block)
    if len(content) == len(message.content) and not any(map(is_not, content, message.content)):
        return message
    new_message = message.replace(content=tuple(content))
    recorder.alias(new_message, message)
    return new_message


def _placeheld(blocks: Sequence[Any], placeholder: str, recorder: LossRecorder) -> list[Any]:
    out: list[Any] = []
    in_run = False
    for block in blocks:
        is_image = type(block) is ImageBlock
        if is_image:
            recorder.dropped(block, NO_IMAGES)
        if not (is_image and in_run):
            out.append(TextBlock(placeholder) if is_image else block)
        in_run = is_image
    return out


RESPONSES = "openai-responses"
GROUP = "namespace"
_FORM = "$form"
_KNOWN = frozenset({"type", "name", "description", "parameters", "strict"})


def has_groups(tools: tuple[ToolDefinition, ...]) -> bool:
    return any(tool.kind == GROUP for tool in tools)


def called(group: str, name: str) -> str:
    """The name of a grouped tool where there are no groups."""
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
        """The current names of a group's tools."""
        self._calls: dict[str, str] = {}
        """Ids of calls of such tools, and the names that they have now."""

    def tools(self, tool: ToolDefinition) -> list[ToolDefinition]:
        own_raw = (tool.raw or {}).get(RESPONSES) or {}
        inside = own_raw.get("tools")
        if tool.kind != GROUP or not isinstance(inside, list) or not all(map(_is_portable, inside)):
            return [tool]
        new = [self._member(tool, wire) for wire in inside]
        self._members[tool.name] = tuple([each.name for each in new])
        reason = because("tool_ungrouped")
        self._recorder.lost(tool, None, reason, "approximated")
        if tool.description:
            self._recorder.lost(tool, "description", because("no_tool_groups"))
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
        ungrouped = message.replace(content=tuple(content), changes=changes)
        self._recorder.alias(ungrouped, message)
        return ungrouped

    def _changes(self, message: Message) -> Any:
        """Groups that come or go in mid-conversation are their tools now."""
        changes = message.changes
        if (
            changes is None
            or not {*changes.tools_added, *changes.tools_removed} & self._members.keys()
        ):
            return changes
        ungrouped = changes.replace(
            tools_added=self._open(changes.tools_added),
            tools_removed=self._open(changes.tools_removed),
        )
        self._recorder.alias(ungrouped, changes)
        return ungrouped

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
        own_raw = raw.get(RESPONSES) or {}
        group = own_raw.get(GROUP)
        if not isinstance(group, str):
            return block
        self._calls[block.id] = name = called(group, block.name)
        rest = {key: value for key, value in own_raw.items() if key != GROUP}
        return block.replace(name=name, raw={**raw, RESPONSES: rest})


def _is_portable(wire: Any) -> bool:
    """Whether the tool can be expressed for other vendors."""
    return (
        isinstance(wire, dict)
        and wire.get("type") in ("function", "custom")
        and isinstance(wire.get("name"), str)
        and isinstance(wire.get("parameters"), (dict, type(None)))
    )
