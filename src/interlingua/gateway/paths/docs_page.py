"""The OpenAPI document as a page for people, at `/docs`: made here as plain HTML, without scripts
and without a request to anywhere."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

from interlingua.gateway.page import HEADERS
from interlingua.gateway.paths.openapi import document

__all__ = ["HEADERS", "html"]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API of the gateway</title>
<link rel="stylesheet" href="/page/docs.css">
</head>
<body>
<h1>{title} <small>{version}</small></h1>
<p>The gateway's own paths, as <a href="/openapi.json">openapi.json</a> has them. The paths of the
providers' APIs are described by the providers.</p>
{sections}
</body>
</html>
"""


@cache
def html() -> bytes:
    """The whole page."""
    about = document()
    sections: dict[str, list[str]] = {}
    for path, methods in about["paths"].items():
        first, *rest = path.strip("/").split("/")
        place = f"{first}/{rest[0]}" if rest and first.startswith(("v1", "il", "admin")) else first
        rows = sections.setdefault(place or "/", [])
        rows += [_operation(method, path, each) for method, each in methods.items()]
    text = "\n".join(
        f"<h2>{escape(name)}</h2>\n{''.join(rows)}" for name, rows in sorted(sections.items())
    )
    info = about["info"]
    page = _PAGE.format(title=escape(info["title"]), version=escape(info["version"]), sections=text)
    return page.encode()


def _operation(method: str, path: str, about: dict[str, Any]) -> str:
    key = "" if about["security"] else " <em>no key needed</em>"
    parts = [_parameters(about), _body(about), _responses(about)]
    return (
        f"<details><summary><code>{escape(method.upper())} {escape(path)}</code>"
        f" {escape(about['summary'])}{key}</summary>{''.join(parts)}</details>\n"
    )


def _parameters(about: dict[str, Any]) -> str:
    rows = [
        f"<li><code>{escape(each['name'])}</code> ({escape(each['in'])})"
        f" {escape(_kind(each['schema']))}</li>"
        for each in about.get("parameters", ())
    ]
    return f"<h3>Parameters</h3><ul>{''.join(rows)}</ul>" if rows else ""


def _body(about: dict[str, Any]) -> str:
    if "requestBody" not in about:
        return ""
    schema = about["requestBody"]["content"]["application/json"]["schema"]
    return f"<h3>Body</h3>{_fields(schema)}"


def _responses(about: dict[str, Any]) -> str:
    statuses = ", ".join(map(escape, about["responses"]))
    good = next(iter(about["responses"].values()))
    kinds = ", ".join(map(escape, good["content"]))
    schema = next(iter(good["content"].values())).get("schema", {})
    return f"<h3>Answer</h3><p>{statuses}; {kinds}</p>{_fields(schema)}"


def _fields(schema: dict[str, Any]) -> str:
    """The fields of an object, one level of them."""
    schema = _resolved(schema)
    required = schema.get("required", ())
    rows = [
        f"<li><code>{escape(name)}</code> {escape(_kind(each))}"
        f"{' (required)' if name in required else ''}</li>"
        for name, each in schema.get("properties", {}).items()
    ]
    return f"<ul>{''.join(rows)}</ul>" if rows else ""


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = document()["components"]["schemas"][name] if name else schema
    return found


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join([_kind(each) for each in schema["anyOf"]])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return " | ".join(kind) if isinstance(kind, list) else str(kind)
