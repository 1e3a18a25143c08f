"""Stands in for every provider, on loopback: samples ask it with the names and keys of real ones.

It answers in the dialect that it is asked in. Of tools that it is given it calls the first, once,
with arguments that it finds in the question; an answer that is to fit a schema fits it; anything
else is answered with a sentence that says who speaks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import interlingua as il
from tests.gateway.sdks.provider import Upstream

PLACES = {
    "ANTHROPIC_BASE_URL": "api.anthropic.com",
    "OPENAI_BASE_URL": "api.openai.com/v1",
    "GOOGLE_GEMINI_BASE_URL": "generativelanguage.googleapis.com/v1beta",
    "OPENROUTER_BASE_URL": "openrouter.ai/api/v1",
    "MISTRAL_BASE_URL": "api.mistral.ai/v1",
    "INTERLINGUA_LOCAL_URL": "local/v1",
}
"""Variables that the docs name, and the places of which their values are a part here."""
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY")


class StandIn(Upstream):
    """A provider of any name. `variables` lead to it; `as_shown` takes it out of an output."""

    def variables(self, is_local_here: bool) -> dict[str, str]:
        """With `is_local_here` the bundled local model answers for itself."""
        names = [n for n in PLACES if not (is_local_here and n == "INTERLINGUA_LOCAL_URL")]
        return {name: f"{self.url}/{PLACES[name]}" for name in names}

    def as_shown(self, output: str) -> str:
        return output.replace(f"{self.url}/", "https://")

    def _content(self, dialect: str, request: il.Request, number: int) -> Iterator[il.Block]:
        wanted = request.options.response_format
        results = [m for m in request.messages[-1:] if m.role is il.Role.TOOL]
        question = _question(request)
        if results:
            block = results[0].content[0]
            assert isinstance(block, il.ToolResultBlock)
            text = "".join(getattr(part, "text", "") for part in block.content)
            yield il.TextBlock(f"The stand-in's tool said: {text}")
        elif request.tools and request.options.tool_choice != il.ToolChoice("none"):
            tool = request.tools[0]
            value = _fitting(tool.input_schema or {}, question)
            if tool.name == "delegate":
                value = {"task": question}
            yield il.ToolUseBlock(f"call_{number}", tool.name, value)
        elif wanted is not None and wanted.schema is not None:
            yield il.TextBlock(json.dumps(_fitting(wanted.schema, question)))
        else:
            yield il.TextBlock(f"A stand-in for {request.model} heard: {question}")

    def _missing(self, dialect: str, request: il.Request) -> str | None:
        return None


def _question(request: il.Request) -> str:
    users = [m.text for m in request.messages if m.role is il.Role.USER and m.text]
    return users[-1] if users else ""


def _fitting(schema: Mapping[str, Any], words: str) -> Any:
    """A value that fits the schema, made of names and numbers in some words."""
    names = re.findall(r"\b[A-Z][a-zé]+\b", words)[1:] or ["nothing"]
    numbers = [int(each) for each in re.findall(r"\d+", words)]
    return _value(schema, schema, names, numbers)


def _value(
    schema: Mapping[str, Any], whole: Mapping[str, Any], names: list[str], numbers: list[int]
) -> Any:
    if "$ref" in schema:
        inner = whole["$defs"][schema["$ref"].rpartition("/")[2]]
        return _value(inner, whole, names, numbers)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            inside = schema.get("properties", {})
            return {key: _value(each, whole, names, numbers) for key, each in inside.items()}
        case "array":
            return [_value(schema.get("items", {}), whole, names, numbers)]
        case "integer" | "number":
            return numbers.pop(0) if numbers else 0
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return names.pop(0) if len(names) > 1 else names[0]
