"""The shape of the answer: `response_format`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.shape import Note, maybe, want
from interlingua.dialects.openai_chat.tables import FORMAT_NAME
from interlingua.model.exchange import Options, ResponseFormat

_FIELDS: dict[str, type] = {"description": str, "schema": dict, "strict": bool}


def read_format(wire: Any, note: Note) -> ResponseFormat | None:
    """The format; None for shapes that are not known."""
    kind = want(wire, dict, ".response_format").get("type")
    if kind == "text" and len(wire) == 1:
        return ResponseFormat("text")
    if kind == "json_object" and len(wire) == 1:
        return ResponseFormat("json")
    inner = wire.get("json_schema")
    if kind != "json_schema" or type(inner) is not dict:
        return None
    path, fields = ".response_format.json_schema", {}
    for key, type_ in _FIELDS.items():
        value: Any = maybe(inner, key, type_, path)
        if value is not None:
            fields[key] = value
    name = maybe(inner, "name", str, path)
    if name is None:
        note.form["no_name"] = True
    deep = Note()
    deep.leave_inner(wire, "json_schema", fields.keys() | ({"name"} if name is not None else set()))
    deep.leave(wire, ("type", "json_schema"), ())
    if deep.rest:
        note.rest["response_format"] = deep.rest
    if deep.form:
        note.form.setdefault("empty", {})["response_format"] = deep.form["empty"]
    return ResponseFormat("json_schema", name, **fields)


def write_format(options: Options, scribe: Scribe, form: Wire) -> Wire:
    wanted = options.response_format or ResponseFormat()
    if wanted.kind != "json_schema":
        for field in ("name", "schema", "strict", "description"):
            if getattr(wanted, field) is not None:
                scribe.lost(options, f"response_format.{field}")
        return {"type": "json_object" if wanted.kind == "json" else "text"}
    inner: Wire = {}
    if wanted.name is not None:
        inner["name"] = wanted.name
    elif not form.get("no_name"):
        inner["name"] = FORMAT_NAME
        scribe.filled(options, "response_format.name", FORMAT_NAME)
    for key in _FIELDS:
        if getattr(wanted, key) is not None:
            inner[key] = getattr(wanted, key)
    return {"type": "json_schema", "json_schema": inner}
