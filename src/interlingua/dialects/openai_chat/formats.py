"""The shape of the answer (`response_format`) and how much thinking goes before it."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.shape import Note, maybe, want
from interlingua.dialects.openai_chat.tables import FORMAT_NAME, Tables
from interlingua.model.exchange import EFFORTS, Options, Reasoning, ResponseFormat

_FIELDS: dict[str, type] = {"description": str, "schema": dict, "strict": bool}


# The shape of the answer


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
    return ResponseFormat("json_schema", None if name == FORMAT_NAME else name, **fields)


def write_format(options: Options, scribe: Scribe, form: Wire) -> Wire:
    wanted = options.response_format or ResponseFormat()
    if wanted.kind != "json_schema":
        for field in ("name", "schema", "strict", "description"):
            if getattr(wanted, field) is not None:
                scribe.lost(options, f"response_format.{field}")
        return {"type": "json_object" if wanted.kind == "json" else "text"}
    inner: Wire = {}
    if wanted.name is not None or not form.get("no_name"):
        inner["name"] = FORMAT_NAME if wanted.name is None else wanted.name
    for key in _FIELDS:
        if getattr(wanted, key) is not None:
            inner[key] = getattr(wanted, key)
    return {"type": "json_schema", "json_schema": inner}


# Reasoning


def read_reasoning(wire: Wire, t: Tables, note: Note, taken: set[str]) -> Reasoning | None:
    """`reasoning_effort`, a `reasoning` object, or thinking switched off."""
    found: Reasoning | None = None
    if type(wire.get("reasoning")) is dict:
        found = _read_object(wire["reasoning"], note)
        taken.add("reasoning")
        if not t.reasoning_object:
            note.form["reasoning"] = "object"
    effort = wire.get("reasoning_effort")
    if effort in EFFORTS:
        if found is None:
            found = Reasoning(effort)
            taken.add("reasoning_effort")
            if t.reasoning_object:
                note.form["reasoning"] = "effort"
        elif found.effort == effort:
            taken.add("reasoning_effort")
            note.form["reasoning"] = "both"
    if found is None and wire.get("thinking") == {"type": "disabled"}:
        found = Reasoning("none")
        taken.add("thinking")
        note.form["reasoning"] = "thinking"
    return found


def _read_object(inner: Wire, note: Note) -> Reasoning:
    """OpenRouter's object: an effort or a budget, and whether the thinking is left out."""
    effort, budget, exclude = (inner.get(key) for key in ("effort", "max_tokens", "exclude"))
    fields: dict[str, Any] = {}
    taken = set()
    if effort in EFFORTS:
        fields["effort"] = effort
        taken.add("effort")
    if type(budget) is int:
        fields["budget_tokens"] = budget
        taken.add("max_tokens")
    if type(exclude) is bool:
        fields["visible"] = not exclude
        taken.add("exclude")
    rest = {key: value for key, value in inner.items() if key not in taken}
    if rest:
        note.rest["reasoning"] = rest
    return Reasoning(**fields)


def write_reasoning(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    asked, spelled = options.reasoning or Reasoning(), form.get("reasoning")
    if spelled in ("object", "both") or (t.reasoning_object and spelled != "effort"):
        wire["reasoning"] = _write_object(asked)
        if spelled == "both" and asked.effort is not None:
            wire["reasoning_effort"] = asked.effort
        return
    if asked.effort is None and asked != Reasoning():
        scribe.lost(options, "reasoning")
        return
    if asked.budget_tokens is not None:
        scribe.lost(options, "reasoning.budget_tokens")
    if asked.visible is not None:
        scribe.lost(options, "reasoning.visible")
    if asked.effort == "none" and spelled == "thinking":
        wire["thinking"] = {"type": "disabled"}
    elif asked.effort is not None:
        wire["reasoning_effort"] = asked.effort


def _write_object(asked: Reasoning) -> Wire:
    inner: Wire = {}
    if asked.effort is not None:
        inner["effort"] = asked.effort
    if asked.budget_tokens is not None:
        inner["max_tokens"] = asked.budget_tokens
    if asked.visible is not None:
        inner["exclude"] = not asked.visible
    return inner
