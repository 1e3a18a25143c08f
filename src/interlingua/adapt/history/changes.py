"""Changes that messages make in mid-conversation, for a target that cannot express them there.

A tool that was added is there from the start, one that was removed is not there at all, the last
effort and form are those of the request: what the next answer is made with is the same. Words that
had an end, and have reached it, are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.record import Dialect, Traits
from interlingua.model.exchange import Options, Reasoning, Request
from interlingua.model.message import Changes, Message, Role
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})
_ASKING = frozenset({Role.USER, Role.TOOL})
_SETTINGS = ("effort", "response_format")


def settle(request: Request, target: Dialect, recorder: LossRecorder) -> Request:
    """Leaves changes in place where the target can express them, and makes the others for the whole
    request."""
    return _Settling(request, recorder, target.name, target.traits).settled()


def settle_all(request: Request, recorder: LossRecorder) -> Request:
    """Makes all changes for the whole request: the model accepts none in mid-conversation."""
    return _Settling(request, recorder, None, Traits()).settled()


class _Settling:
    """The changes of one request; `name` is the dialect whose own changes stay in place."""

    def __init__(
        self, request: Request, recorder: LossRecorder, name: str | None, traits: Traits
    ) -> None:
        self.request = request
        self.name = name
        self.traits = traits
        self.recorder = recorder
        self.moved: dict[str, Any] = {}
        """The last of the settings that are applied to the whole request."""
        self.added: set[str] = set()
        """Tools that are not there from the start."""
        self.early: set[str] = set()
        """Those of them that are now available from the start."""
        self.removed: set[str] = set()
        """Tools that are gone at the end, if their removal cannot be expressed in place."""
        self.seen: set[str] = set()

    def settled(self) -> Request:
        messages = tuple(self.messages(self.request.messages))
        return self.request.replace(messages=messages, tools=self.tools(), options=self.options())

    def messages(self, messages: tuple[Message, ...]) -> Iterator[Message]:
        asking = [index for index, each in enumerate(messages) if each.role in _ASKING]
        last = asking[-1] if asking else -1
        leading = True
        waiting: list[Message] = []
        for index, message in enumerate(messages):
            if waiting and message.role is not Role.TOOL:
                yield from waiting
                waiting = []
            leading = leading and message.role in _INSTRUCTS
            if message.changes is None:
                yield message
            elif self.is_own(message):
                self.note(message.changes, stays=True)
                yield message
            else:
                new, more = self.message(message, leading, expired=index < last)
                if new is not None:
                    yield new
                if more is not None:
                    waiting.append(more)
        yield from waiting

    def is_own(self, message: Message) -> bool:
        """Whether the message was read from the target's own wire."""
        raw = message.metadata.provider_raw
        return raw is not None and self.name in raw

    def message(
        self, message: Message, leading: bool, expired: bool
    ) -> tuple[Message | None, Message | None]:
        """The message as the target accepts it, and a second one for its changes after it."""
        changes = message.changes
        assert changes is not None
        can = frozenset() if leading else self.traits.changes
        left = self.divided(message, changes, can)
        content = message.content
        if changes.clear_at is not None and "clear_at" not in can:
            content = self.cleared(message, changes.clear_at, expired)
        inside = message.role in _INSTRUCTS or self.traits.changes_inside
        if not content and (left is None or not inside) and message.role in _INSTRUCTS:
            return None, None
        new = message.replace(content=content, changes=left if inside else None)
        self.recorder.alias(new, message)
        if inside or left is None:
            return new, None
        behind = Message(Role.SYSTEM, changes=left)
        self.recorder.alias(behind, message)
        return new, behind

    def divided(self, message: Message, changes: Changes, can: frozenset[str]) -> Changes | None:
        """The changes that can be expressed in place; the others are moved."""
        left: dict[str, Any] = {}
        for name in changes.__struct_fields__:
            item = getattr(changes, name)
            if not item or (name == "clear_at" and name not in can):
                continue
            if name in can:
                left[name] = item
                continue
            reason = because("changes_from_start")
            self.recorder.lost(message, f"changes.{name}", reason, kind="moved")
            if name in _SETTINGS:
                self.moved[name] = item
        self.note(changes, stays="tools_removed" in can)
        late = set(changes.tools_added) - self.seen
        if "tools_added" in can:
            self.added |= late
        else:
            self.early |= late
        self.seen |= {*changes.tools_added, *changes.tools_removed}
        return Changes(**left) if left else None

    def note(self, changes: Changes, stays: bool) -> None:
        self.removed -= set(changes.tools_added)
        if not stays:
            self.removed |= set(changes.tools_removed)

    def cleared(self, message: Message, until: str, expired: bool) -> Any:
        """The text of a message, unless it has expired."""
        if until == "never":
            return message.content
        reason = because("instructions_expire")
        self.recorder.lost(message, "changes.clear_at", reason)
        if not expired or message.role not in _INSTRUCTS:
            return message.content
        for block in message.content:
            self.recorder.dropped(block, because("instructions_expired"))
        return ()

    # -- the rest of the request ------------------------------------------------------------------

    def tools(self) -> tuple[ToolDefinition, ...]:
        tools = self.request.tools
        if not (self.removed or self.added or self.early):
            return tools
        changed = [self.tool(tool) for tool in tools]
        return tuple([tool for tool in changed if tool is not None])

    def tool(self, tool: ToolDefinition) -> ToolDefinition | None:
        if tool.name in self.removed:
            self.recorder.lost(tool, None, because("tool_removed"))
            return None
        defers = self.traits.defers_added and tool.name in self.added
        if tool.name not in self.added | self.early or bool(tool.deferred) is defers:
            return tool
        reason = because("tool_not_yet_added") if defers else because("tool_added")
        self.recorder.lost(tool, "deferred", reason, kind="approximated")
        new = tool.replace(deferred=True if defers else None)
        self.recorder.alias(new, tool)
        return new

    def options(self) -> Options:
        options = self.request.options
        fields: dict[str, Any] = {}
        effort = self.moved.get("effort")
        if effort is not None:
            fields["reasoning"] = _with_effort(options.reasoning, effort)
        if "response_format" in self.moved:
            fields["response_format"] = self.moved["response_format"]
        changed = {name: item for name, item in fields.items() if item != getattr(options, name)}
        if not changed:
            return options
        for name in changed:
            reason = because("option_changed")
            self.recorder.lost(options, name, reason, kind="approximated")
        new = options.replace(**changed)
        self.recorder.alias(new, options)
        return new


def _with_effort(reasoning: Reasoning | None, effort: Any) -> Reasoning:
    """The same thinking with another effort, which may be none."""
    if reasoning is None or effort == "none":
        return Reasoning(effort, visible=reasoning.visible if reasoning is not None else None)
    mode = None if reasoning.mode == "off" else reasoning.mode
    return reasoning.replace(effort=effort, budget_tokens=None, mode=mode)
