"""What MCP servers offer and answer, in our own words: tools, names and blocks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Any

from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    ResultBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.tools.mcp_schema import adapt_schema
from interlingua.tools.results import json_text, sound

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

MAX_NAME = 64
MAX_DESCRIPTION = 20_000


def fitted_name(name: str) -> str:
    """A tool's name in our grammar: `getWeather` and `get-weather` are `get_weather`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    fitted = re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")
    if not fitted or not fitted[0].isalpha():
        fitted = f"tool_{fitted}".rstrip("_")
    return shortened(fitted, name)


def shortened(name: str, whole: str) -> str:
    """The name, or the start of it with a digest of what it stands for where it is too long."""
    return name if len(name) <= MAX_NAME else marked(name, whole)


def marked(name: str, whole: str) -> str:
    """The name with a digest, for two that would be one otherwise."""
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"


def definition_of(
    tool: Tool, name: str, *, local: bool, trust_hints: bool
) -> tuple[ToolDefinition, list[str]]:
    """The tool under a name of ours, and how its schema was changed. Raises a SchemaError.

    A tool that says it only reads is believed, unless the server's hints are not to be trusted. Any
    other may do anything: a server on this machine can execute, one elsewhere change what is there.
    """
    schema, changes = adapt_schema(name, tool.input_schema)
    reads = trust_hints and tool.annotations is not None and tool.annotations.read_only_hint is True
    others = SideEffects.EXECUTE if local else SideEffects.NETWORK
    description = tool.description or tool.title or tool.name
    definition = ToolDefinition(
        name,
        description[:MAX_DESCRIPTION] if description.strip() else name,
        schema,
        SideEffects.READ if reads else others,
        requires_workspace=False,  # where it works is the server's business
    )
    return definition, changes


def result_block(result: CallToolResult) -> ToolResultBlock:
    """An answer as a result. The dispatcher fills in which call it answers."""
    content = [_block(each) for each in result.content]
    if result.structured_content is not None and not _has_text(content):
        content.append(TextBlock(json_text(result.structured_content)))
    return ToolResultBlock("", tuple(content), bool(result.is_error))


def _has_text(content: list[ResultBlock]) -> bool:
    """Servers say structured content in text as well; then once is enough."""
    return any(isinstance(block, TextBlock) for block in content)


def _block(content: Any) -> ResultBlock:
    match content.type:
        case "text":
            return TextBlock(sound(content.text))
        case "image" | "audio":
            return _media(content.data, content.mime_type, None)
        case "resource" if hasattr(content.resource, "text"):
            return TextBlock(sound(f"{content.resource.uri}:\n{content.resource.text}"))
        case "resource":
            resource = content.resource
            name = str(resource.uri).rstrip("/").rsplit("/", 1)[-1] or None
            return _media(resource.blob, resource.mime_type, name)
        case "resource_link":
            about = f": {content.description}" if content.description else ""
            return TextBlock(sound(f"[{content.title or content.name}]({content.uri}){about}"))
        case other:
            return TextBlock(f"[content of the unknown type {str(other)[:50]!r} left out]")


def _media(data: str, media_type: str | None, name: str | None) -> ResultBlock:
    kind = (media_type or "").split("/")[0]
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return TextBlock(f"[{kind or 'data'} that is no base64 left out]")
    source = Source("base64", data)
    match kind:
        case "image":
            return ImageBlock(source, media_type, name)
        case "audio":
            return AudioBlock(source, media_type, name)
        case "video":
            return VideoBlock(source, media_type, name)
        case _:
            return DocumentBlock(source, media_type, name)
