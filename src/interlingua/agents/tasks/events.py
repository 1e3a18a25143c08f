"""The events of a task, in the chat-completion shapes of `views/openai_ui.py`. Ids, numbers and
times come from the store.

The events of a message are a function of the message alone, so each is written once, by whichever
program: the task remembers the last message it has written events for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlingua.errors import InterlinguaError
from interlingua.model.arguments import recover
from interlingua.model.base import JsonObject
from interlingua.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.message import Message, Role, is_from_elsewhere
from interlingua.model.metadata import MessageStatus
from interlingua.views.base import FORM
from interlingua.views.openai_ui import (
    tool_call_to_openai,
    write_message_added,
    write_request_completed,
)

Calls = Mapping[str, ToolUseBlock]

PRE_CONVERSATION = b'{"msg":"PreConversation"}'
POST_CONVERSATION = b'{"msg":"PostConversation"}'
CANCELLED = b'{"msg":"Cancelled"}'
_TASK, _QUEUED = "task", "queued_id"
"""Metadata keys with a message's id in the queue; never sent to a provider."""


def marked(message: Message, message_id: str) -> Message:
    """The message with a note which of the queue it is."""
    raw = {**(message.metadata.provider_raw or {}), _TASK: {FORM: {_QUEUED: message_id}}}
    return message.replace(metadata=message.metadata.replace(provider_raw=raw))


def mark_of(message: Message) -> str | None:
    form = (message.metadata.provider_raw or {}).get(_TASK, {}).get(FORM, {})
    mark = form.get(_QUEUED)
    return mark if isinstance(mark, str) else None


def of_message(message: Message, calls: Calls) -> list[bytes]:
    """The events of a message that joined the conversation; `calls` has the calls before it."""
    events: list[JsonObject] = [_added(message)]
    whole = message.metadata.status is MessageStatus.COMPLETE
    answered = message.metadata.model is not None and not is_from_elsewhere(message)
    if message.role is Role.ASSISTANT and whole and answered:
        events = [_completed(message), *events]
    if message.role is Role.ASSISTANT and whole:
        events += [_pre(call) for call in message.tool_calls if call.executor == "client"]
    if message.role is Role.TOOL:
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        events = [
            *[_post(block, message, calls.get(block.tool_use_id)) for block in results],
            *events,
        ]
    return [dumps(event) for event in events]


def _added(message: Message) -> JsonObject:
    event: JsonObject = {**write_message_added(message).wire, "message_id": message.id}
    status, mark = message.metadata.status, mark_of(message)
    if mark is not None:
        event["queued_id"] = mark
    return event if status is MessageStatus.COMPLETE else {**event, "status": status.value}


def _completed(message: Message) -> JsonObject:
    wire = write_request_completed(message).wire
    event = {**wire, "message_id": message.id, "model": message.metadata.model}
    return {**event, "thinking": message.reasoning} if message.reasoning else event


def _pre(call: ToolUseBlock) -> JsonObject:
    wire = tool_call_to_openai(call)
    return {"msg": "PreToolCall", "tool_call": wire, "name": call.name, **_args(call, wire)}


def _args(call: ToolUseBlock, wire: JsonObject) -> JsonObject:
    """The arguments, parsed; unchanged, with an error, if they are no JSON; none if the call has
    none."""
    text = wire["function"]["arguments"]
    if not text:
        return {}
    if call.raw_arguments is not None and recover(text).mode != "strict":
        return {"args": text, "error": "the arguments are not a valid JSON object"}
    return {"args": call.input}


def _post(result: ToolResultBlock, message: Message, call: ToolUseBlock | None) -> JsonObject:
    call = call or ToolUseBlock(result.tool_use_id, result.tool_name or "", {})
    text = text_of(result)
    event: JsonObject = {"msg": "PostToolCall", "tool_call": tool_call_to_openai(call)}
    event |= {"name": call.name, "text": text, "error" if result.is_error else "result": text}
    return {**event, "message_id": message.id}


def text_of(result: ToolResultBlock) -> str:
    """A result as text for people and models; other content is named."""
    parts = [
        block.text if isinstance(block, TextBlock) else f"[{block.__struct_config__.tag}]"
        for block in result.content
    ]
    return "\n".join(parts)


def queued(id: str) -> bytes:
    return dumps({"msg": "MessageQueued", "message": {"id": id}})


def taken(id: str) -> bytes:
    """It is the conversation's now."""
    return _unqueued(id, "taken")


def removed(id: str) -> bytes:
    """The event of a queued message that its sender withdrew."""
    return _unqueued(id, "removed")


def dropped(id: str) -> bytes:
    """The event for a queued message that a stopped run discarded."""
    return _unqueued(id, "cancelled")


def refused(id: str) -> bytes:
    """The event for a message that the conversation cannot hold, such as a result without a
    call."""
    return _unqueued(id, "refused")


def _unqueued(id: str, reason: str) -> bytes:
    return dumps({"msg": "MessageUnqueued", "message": {"id": id}, "reason": reason})


def failed(code: str, message: str, *, interrupted: bool = False) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    return dumps({"msg": "Failed", "error": error, "interrupted": interrupted})


INTERRUPTED = failed("interrupted", "the process that ran the task has ended", interrupted=True)


class TaskError(InterlinguaError):
    """A task cannot carry out an operation."""


class TaskBusyError(TaskError):
    """Another process or thread runs this task."""

    def __init__(self, id: str) -> None:
        super().__init__(f"task {id} is run by another program")


class NothingToDoError(TaskError):
    """There is nothing to go on with."""

    def __init__(self, id: str) -> None:
        super().__init__(f"task {id} has nothing to resume")
