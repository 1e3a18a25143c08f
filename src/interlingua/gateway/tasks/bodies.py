"""What clients send about tasks: messages in the chat-completion shapes, bare or as `message`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from starlette.requests import Request

from interlingua.errors import ReadError
from interlingua.gateway.settings import Limits
from interlingua.gateway.shared.bodies import json_of
from interlingua.gateway.shared.callers import ApiError
from interlingua.model.message import Message, Role
from interlingua.model.rules import validate
from interlingua.views.openai_ui import message_from_param

MOST_BYTES = 4 * 1024 * 1024
"""Of a message: every reader of the task gets it."""
MEMBERS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
"""Of a message that is a body by itself."""


class NewTask(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /task`; a body with a `role` is the message alone."""

    message: dict[str, Any] | None = None
    cwd: str | None = None
    name: str | None = None
    model: str | None = None
    web_search: bool = False


class NewMessage(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /task/{id}/message`; a body with a `role` is the message alone."""

    message: dict[str, Any]
    web_search: bool | None = None


class NewAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """`POST /task/{id}/confirmations`: whether the call of this id may run."""

    id: str
    approved: bool


async def new_task(request: Request, limits: Limits) -> tuple[NewTask, Message | None]:
    said, place = await _said(request, limits)
    if place == "$":
        return NewTask(), message_of(said, place)
    task = _converted(said, NewTask)
    return task, None if task.message is None else message_of(task.message, place)


async def new_message(request: Request, limits: Limits) -> Message:
    said, place = await _said(request, limits)
    if place == "$":
        return message_of(said, place)
    return message_of(_converted(said, NewMessage).message, place)


async def new_answer(request: Request, limits: Limits) -> NewAnswer:
    said: NewAnswer = _converted(await json_of(request, limits), NewAnswer)
    return said


async def _said(request: Request, limits: Limits) -> tuple[Any, str]:
    """The body, and where the message is in it."""
    said = await json_of(request, replace(limits, body=min(limits.body, MOST_BYTES)))
    if not isinstance(said, dict) or "role" not in said or "message" in said:
        return said, "$.message"
    for name in said.keys() - MEMBERS:
        text = f"{name[:80]}: unknown member of a message; other members go beside `message`"
        raise ApiError(400, "invalid_message", f"$.{text}")
    return said, "$"


def _converted(said: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(said, kind)
    except msgspec.ValidationError as error:
        raise ApiError(400, "invalid_request", f"the body: {error}"[:500]) from None


def message_of(plain: Any, place: str) -> Message:
    """A message of the client's; what is wrong with it is said with its place."""
    try:
        message = message_from_param(plain, place)
    except ReadError as error:
        raise ApiError(400, "invalid_message", str(error)[:500]) from None
    if message.role in (Role.USER, Role.SYSTEM) and not message.text.strip():
        raise ApiError(400, "invalid_message", f"{place}.content: expected some content")
    broken = validate(message)
    if broken:
        raise ApiError(400, "invalid_message", f"{place}: {broken[0]}"[:500])
    return message
