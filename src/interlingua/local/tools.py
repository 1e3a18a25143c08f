"""Calls that have to be made, from a model that has never learnt to make them.

llama.cpp can hold an answer to a JSON schema, whatever the model would rather say. So a request
whose tool choice leaves no way out is asked again as a question whose answer is the call: an object
of a name and arguments. The answer is then returned as a call.

A choice that is left to the model (`auto`) is made for it, since it never calls anything by itself,
and chooses at random when it is asked whether to (measured, 2026-11): the tool whose name or
description has most of the user's last words is called, and where none has any, or results have
just come, the model answers in words.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from interlingua.model.arguments import to_text
from interlingua.model.base import JsonObject
from interlingua.model.blocks import TextBlock, ToolUseBlock
from interlingua.model.exchange import Request, Response, ResponseFormat, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.model.tools import ToolDefinition

_ANYTHING: JsonObject = {"type": "object"}
MOST_TOOLS = 8
"""With more than these, as coding agents bring, nothing is chosen: words would fit too many."""
_WORD = re.compile(r"[a-z]{3,}")
_FILLERS = (
    "about all and any are ask can could does for from get gets give gives has have her him his how"
    " into its let like make makes may more not now one our out please set should show some tell"
    " than that the their them then there they this those use uses using want was what when where"
    " which who why will with would you your"
)
_SAY_NOTHING = frozenset(_FILLERS.split())


def choices(request: Request) -> tuple[ToolDefinition, ...]:
    """The tools of which one has to be called; none where nothing is forced, or nothing fits."""
    choice = request.options.tool_choice
    if choice is None or choice.mode != "any":
        return ()
    own = (tool for tool in request.tools if tool.executor == "client")
    return tuple(tool for tool in own if not choice.names or tool.name in choice.names)


def decided(request: Request) -> Request:
    """The request with the tool to call, where that is left open and the user's words name one."""
    choice = request.options.tool_choice
    own = [tool for tool in request.tools if tool.executor == "client"]
    is_open = choice is None or choice.mode == "auto"
    if not own or not is_open or len(own) > MOST_TOOLS or request.options.response_format:
        return request
    last = request.messages[-1] if request.messages else None
    words = _words(last.text) if last is not None and last.role is Role.USER else frozenset()
    best = max(own, key=lambda tool: _score(tool, words))
    if not _score(best, words):
        return request
    options = request.options.replace(tool_choice=ToolChoice("any", (best.name,)))
    return request.replace(options=options)


def _score(tool: ToolDefinition, words: frozenset[str]) -> int:
    """How much of what is asked a tool speaks of; its name counts twice."""
    about, _, _ = (tool.description or "").partition("\n")
    return 2 * len(words & _words(tool.name)) + len(words & _words(about))


def _words(text: str) -> frozenset[str]:
    """Words that say something, without the endings that differ most."""
    found = _WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower().replace("_", " "))
    return frozenset(re.sub(r"(ing|ed|es|s)$", "", word) for word in found) - _SAY_NOTHING


def without_tools(wire: JsonObject) -> JsonObject:
    """A body for an answer in words: tools would only be a long prompt that confuses the model."""
    gone = ("tools", "tool_choice", "parallel_tool_calls")
    return {key: value for key, value in wire.items() if key not in gone}


def as_question(request: Request) -> Request:
    """The same request without tools, with the call as the only answer that is possible."""
    tools = choices(request)
    format = ResponseFormat("json_schema", "call", call_schema(tools), strict=True)
    options = request.options.replace(
        tool_choice=None, parallel_tool_calls=None, response_format=format
    )
    return request.replace(
        messages=_instructed(request.messages, _instructions(tools)), tools=(), options=options
    )


def as_call(response: Response) -> Response:
    """The answer as a call. An answer that was cut off makes no call."""
    message = response.message
    if message.metadata.stop_reason is not StopReason.END_TURN:
        return response.replace(message=message.replace(content=()))
    name, arguments = _call(message.text)
    seed = (message.metadata.response_id or "").rpartition("-")[2]
    block = ToolUseBlock(f"call_{seed}", name, arguments)
    metadata = message.metadata.replace(stop_reason=StopReason.TOOL_USE, raw_stop_reason=None)
    return response.replace(message=message.replace(content=(block,), metadata=metadata))


def call_schema(tools: tuple[ToolDefinition, ...]) -> JsonObject:
    """A schema whose every instance is a call of one of the tools."""
    if len(tools) == 1:
        return _one(tools[0], "#")
    return {"anyOf": [_one(tool, f"#/anyOf/{at}") for at, tool in enumerate(tools)]}


def _one(tool: ToolDefinition, place: str) -> JsonObject:
    schema = tool.input_schema or _ANYTHING
    return {
        "type": "object",
        "properties": {
            "name": {"const": tool.name},
            "arguments": _moved(schema, f"{place}/properties/arguments"),
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _moved(schema: Any, place: str) -> Any:
    """The schema with its inner references made right for its new place."""
    match schema:
        case dict():
            return {
                key: place + value[1:]
                if key == "$ref" and isinstance(value, str) and value.startswith("#")
                else _moved(value, place)
                for key, value in schema.items()
            }
        case list():
            return [_moved(each, place) for each in schema]
        case _:
            return schema


def _call(text: str) -> tuple[str, JsonObject]:
    found = msgspec.json.decode(text)
    return found["name"], found["arguments"]


def _instructions(tools: tuple[ToolDefinition, ...]) -> str:
    lines = [
        to_text({"name": tool.name, "use": tool.description or "", "arguments": _shape(tool)})
        for tool in tools
    ]
    return "\n".join(("Call one of these functions, with arguments that fit:", *lines))


def _shape(tool: ToolDefinition) -> JsonObject:
    """What the model is shown: the properties are enough, the schema is held to anyway."""
    schema = tool.input_schema or {}
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else schema


def _instructed(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """The instructions at the end of those that are there, or before everything."""
    block = TextBlock(text)
    if messages and messages[0].role in (Role.SYSTEM, Role.DEVELOPER):
        first = messages[0]
        parted = TextBlock(f"{first.text}\n\n{text}")
        return (first.replace(content=(parted,)), *messages[1:])
    return (Message(Role.SYSTEM, (block,)), *messages)
