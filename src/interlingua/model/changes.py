"""What a message changes for all that follows it: tools, effort, the form of answers."""

from __future__ import annotations

from typing import Literal

from interlingua.model.base import JsonObject, Value

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class ResponseFormat(Value, frozen=True):
    """The form of an answer: text, JSON, or JSON that fits a schema."""

    kind: Literal["text", "json", "json_schema"] = "text"
    name: str | None = None
    schema: JsonObject | None = None
    strict: bool | None = None
    description: str | None = None


class Changes(Value, frozen=True):
    """What holds from a message on, until another one changes it again.

    Tools are named; the request has their definitions. One that is named in `tools_added` before it
    is named anywhere else is not there from the start."""

    tools_added: tuple[str, ...] = ()
    tools_removed: tuple[str, ...] = ()
    effort: Effort | None = None
    response_format: ResponseFormat | None = None
    clear_at: str | None = None
    """When the message's own words stop being shown: `next_user_message`, or `never`."""
