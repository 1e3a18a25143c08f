"""Requests for the tests of fitting, and what became of them, in few words."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.adapt.fit.fit import Fitted, fit
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.profile import Profile, profile_of

USER = Message.user("hi")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
}


def tool(name: str = "look", **fields: Any) -> ToolDefinition:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    return ToolDefinition(name, "looks", schema, **fields)


def profile(model: str, dialect: str | None = None) -> Profile:
    """The profile of `<provider>:<name>`."""
    provider, _, name = model.partition(":")
    usual = {"openai": "openai-chat", "deepseek": "openai-chat", "mistral": "openai-chat"}
    usual |= {"groq": "openai-chat", "xai": "openai-chat"}
    return profile_of(name, provider, dialect or usual.get(provider, provider))


def request(*messages: Message, tools: tuple[ToolDefinition, ...] = (), **options: Any) -> Request:
    return Request(messages or (USER,), "m", tools, Options(**options))


def fitted(model: str, asked: Request, dialect: str | None = None) -> Fitted:
    return fit(asked, profile(model, dialect))


def options(
    model: str, dialect: str | None = None, tools: tuple[ToolDefinition, ...] = (), **given: Any
) -> Options:
    return fitted(model, request(tools=tools, **given), dialect).value.options


def losses(done: Fitted) -> list[tuple[str, str, str | None]]:
    """Kind, path and rule of each."""
    return [(loss.kind, loss.path, loss.rule) for loss in done.report.entries]


def wire(done: Fitted) -> Any:
    return il.dialect(done.recorder.dialect).write_request(done.value, done.recorder).wire
