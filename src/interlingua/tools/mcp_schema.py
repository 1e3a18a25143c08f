"""Tools and answers of MCP servers in our types, with input schemas that fit our subset.

A schema is only ever made looser, since the server checks the input again: references are written
out, a choice that the subset lacks is described in words, keywords outside it are left out. Every
change of meaning is listed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.errors import MissingExtraError, SchemaError
from interlingua.model.base import JsonObject, same
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
from interlingua.tools.registry import build_validator
from interlingua.tools.results import json_text, sound
from interlingua.tools.schema import MAX_LEVELS, TYPES, json_path, keyword_problem

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool


MAX_PARTS = 5_000
"""Schemas in one schema, once its references are written out."""
MAX_WORDS = 500

_SAY_NOTHING = frozenset(
    {"$schema", "$id", "$comment", "$defs", "$anchor", "definitions", "deprecated", "readOnly"}
    | {"writeOnly", "anyOf", "oneOf", "allOf", "$ref", "nullable"}
)
"""Keywords that restrict nothing, or that are dealt with before the others."""


def adapt_schema(tool: str, schema: Any) -> tuple[JsonObject, list[str]]:
    """The schema in the subset, and the changes. Raises a SchemaError if the subset cannot
    express it."""
    adapter = _Adapter(schema)
    try:
        adapted = adapter.schema(schema, "$", ())
    except (_TooLargeError, RecursionError):
        raise SchemaError(tool, [("$.input_schema", "too large or nested too deep")]) from None
    adapted.setdefault("type", "object")
    return adapted, adapter.changes


class _TooLargeError(Exception):
    pass


class _Adapter:
    def __init__(self, root: Any) -> None:
        self.root = root
        self.changes: list[str] = []
        self.parts = 0

    def schema(self, schema: Any, path: str, inside: tuple[str, ...], level: int = 1) -> JsonObject:
        self.parts += 1
        if self.parts > MAX_PARTS or level > MAX_LEVELS:
            raise _TooLargeError
        if schema is True:
            return {}
        if not isinstance(schema, dict):
            self.changed(path, "no schema; anything is allowed")
            return {}
        out: JsonObject = {}
        if "$ref" in schema:
            out.update(self.reference(schema["$ref"], path, inside, level))
        for part in _list(schema.get("allOf")):
            self.merge(out, self.schema(part, path, inside, level + 1), path)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                choices = _list(schema[keyword])
                parts = [self.schema(each, path, inside, level + 1) for each in choices]
                self.merge(out, self.choice(parts, schema[keyword], path), path)
        own: JsonObject = {}
        for keyword, value in schema.items():
            if keyword not in _SAY_NOTHING:
                self.keyword(own, keyword, value, path, inside, level)
        self.merge(out, own, path)
        if schema.get("nullable") is True:
            out = _or_null(out)
        return out

    def keyword(
        self,
        out: JsonObject,
        keyword: str,
        value: Any,
        path: str,
        inside: tuple[str, ...],
        level: int,
    ) -> None:
        place = json_path(keyword, start=path)
        if keyword == "properties" and isinstance(value, dict):
            out["properties"] = {
                name: self.schema(each, json_path(name, start=place), inside, level + 1)
                for name, each in value.items()
            }
        elif keyword == "items" and isinstance(value, (dict, bool)):
            out["items"] = self.schema(value, place, inside, level + 1)
        elif keyword == "additionalProperties" and isinstance(value, dict):
            out[keyword] = True
            if value:
                self.changed(place, "a schema for other properties; anything is allowed in them")
        elif keyword in ("properties", "items") or (problem := _problem(keyword, value)):
            reason = problem if keyword not in ("properties", "items") else "not of the usual shape"
            self.changed(place, f"left out: {reason}")
        else:
            out[keyword] = value

    def reference(self, ref: Any, path: str, inside: tuple[str, ...], level: int) -> JsonObject:
        target = _resolve(self.root, ref)
        if ref in inside:
            self.changed(path, "a schema inside itself; anything is allowed there")
        elif target is None:
            self.changed(path, "a reference that leads nowhere in the schema; anything is allowed")
        else:
            return self.schema(target, path, (*inside, ref), level + 1)
        return {}

    def choice(self, parts: list[JsonObject], whole: Any, path: str) -> JsonObject:
        """One schema for a choice of several."""
        nothing = [part for part in parts if part.get("type") == "null"]
        others = [part for part in parts if part.get("type") != "null"]
        if len(others) == 1:
            return _or_null(others[0]) if nothing else others[0]
        if parts and all(_words(part) <= {"type"} and "type" in part for part in parts):
            return {"type": _types(*parts)}
        if parts and all({"const", "enum"} & part.keys() for part in parts):
            values = [v for p in parts for v in ([p["const"]] if "const" in p else p["enum"])]
            if all(_words(part) <= {"type", "const", "enum"} for part in parts):
                return {"enum": [v for i, v in enumerate(values) if not _among(v, values[:i])]}
        self.changed(path, "a choice of several shapes; described in words only")
        text = msgspec.json.encode(whole).decode()
        shown = text if len(text) <= MAX_WORDS else text[:MAX_WORDS] + "…"
        return {"description": f"One of: {shown}"}

    def merge(self, out: JsonObject, more: JsonObject, path: str) -> None:
        """Put one schema into another that holds as well."""
        for keyword, value in more.items():
            if keyword == "properties" and keyword in out:
                out[keyword] = {**out[keyword], **value}
            elif keyword == "required" and keyword in out:
                out[keyword] = [*out[keyword], *[n for n in value if n not in out[keyword]]]
            elif keyword == "description" and keyword in out:
                out[keyword] = f"{value} {out[keyword]}"
            else:
                if keyword in out and out[keyword] != value and keyword not in ("title", "default"):
                    self.changed(path, f"two rules for {keyword}; the outer one applies")
                out[keyword] = value

    def changed(self, path: str, text: str) -> None:
        self.changes.append(f"{path}: {text}")


def _problem(keyword: str, value: Any) -> str | None:
    problem = keyword_problem(keyword, value)
    if problem is None and keyword == "pattern":
        try:
            build_validator("pattern", {"type": "string", "pattern": value})
        except SchemaError:
            return "a pattern that is not understood here"
        except MissingExtraError:
            return None
    return problem


def _resolve(root: Any, ref: Any) -> Any:
    """The target of a JSON pointer inside the schema, or None. Nothing is fetched."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    here = root
    for step in ref[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(here, dict) or name not in here:
            return None
        here = here[name]
    return here


def _or_null(schema: JsonObject) -> JsonObject:
    out = dict(schema)
    if "type" in out:
        out["type"] = _types(out, {"type": "null"})
    if "const" in out:
        out["enum"] = [out.pop("const"), None]
    elif "enum" in out and None not in out["enum"]:
        out["enum"] = [*out["enum"], None]
    return out


def _types(*schemas: JsonObject) -> str | list[str]:
    found = [t for s in schemas for t in ([s["type"]] if isinstance(s["type"], str) else s["type"])]
    listed = [name for name in dict.fromkeys(found) if name in TYPES]
    return listed[0] if len(listed) == 1 else listed


def _words(schema: JsonObject) -> set[str]:
    return schema.keys() - {"title", "description"}


def _among(value: Any, values: list[Any]) -> bool:
    return any(same(value, each) for each in values)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


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
    """The name; if it is too long, its start with a digest of the whole."""
    return name if len(name) <= MAX_NAME else marked(name, whole)


def marked(name: str, whole: str) -> str:
    """The name with a digest, for two that would be one otherwise."""
    digest = hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{digest}"


def definition_of(
    tool: Tool, name: str, *, local: bool, trust_hints: bool
) -> tuple[ToolDefinition, list[str]]:
    """The tool under a name of ours, and how its schema was changed. Raises a SchemaError.

    A tool that declares itself read-only is believed, unless the server's hints are not to be
    trusted. Any other may do anything: a server on this machine can execute, one elsewhere change
    what is there.
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
    # Servers repeat structured content as text; one of the two is enough.
    has_text = any(isinstance(block, TextBlock) for block in content)
    if result.structured_content is not None and not has_text:
        content.append(TextBlock(json_text(result.structured_content)))
    return ToolResultBlock("", tuple(content), bool(result.is_error))


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
        return TextBlock(f"[{kind or 'data'} left out: not valid base64]")
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
