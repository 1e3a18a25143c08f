"""How much to think and in what shape to answer: `thinking` and `output_config`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.body import Reading
from interlingua.dialects.anthropic.tables import DISPLAYS, EFFORTS, MODES
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import ShapeError
from interlingua.model.base import same
from interlingua.model.exchange import Options, Reasoning, ResponseFormat

_EFFORTS = frozenset(EFFORTS.values())


# -- reading --------------------------------------------------------------------------------------


def read_output(wire: Wire, reading: Reading) -> None:
    """The two objects together, since effort and thinking are one option."""
    fields: Wire = {}
    thinking = wire.get("thinking")
    if thinking is not None:
        _read_thinking(thinking, fields, reading)
    elif "thinking" in wire:
        reading.spelled["thinking"] = None
    config = wire.get("output_config")
    if config is not None:
        _read_config(config, fields, reading)
    elif "output_config" in wire:
        reading.spelled["output_config"] = None
    if "output_format" in wire:
        _read_output_format(wire["output_format"], reading)
    if fields:
        reading.fields["reasoning"] = Reasoning(**fields)
        if thinking is None:
            reading.form["effort"] = "alone"  # said without thinking, which is another thing here


def _read_thinking(wire: Any, fields: Wire, reading: Reading) -> None:
    if type(wire) is not dict:
        raise ShapeError(".thinking", "an object", wire)
    kind = wire.get("type")
    if type(kind) is not str:
        raise ShapeError(".thinking.type", "a string", kind)
    mode = MODES.read(kind)
    known = set() if mode is None else {"type"}
    if mode is not None:
        fields["mode"] = mode
    if mode == "on":
        reading.form["thinking"] = kind  # another dialect's `on` has no budget: see `_kind`
        if type(wire.get("budget_tokens")) is int:
            fields["budget_tokens"] = wire["budget_tokens"]
            known.add("budget_tokens")
            del reading.form["thinking"]
    visible = DISPLAYS.read(wire.get("display", "")) if mode != "off" else None
    if visible is not None:
        fields["visible"] = visible
        known.add("display")
    reading.keep("thinking", wire, known)


def _read_config(wire: Any, fields: Wire, reading: Reading) -> None:
    if type(wire) is not dict:
        raise ShapeError(".output_config", "an object", wire)
    known = set()
    effort = wire.get("effort")
    if type(effort) is str and effort in _EFFORTS:
        fields["effort"] = effort
        known.add("effort")
    inner = _read_format(wire.get("format"), reading)
    if inner is None:
        reading.keep("output_config", wire, known)
    elif inner:
        reading.keep("output_config", {**wire, "format": inner}, known, read=True)
    else:
        reading.keep("output_config", wire, known | {"format"})


def _read_format(wire: Any, reading: Reading) -> Wire | None:
    """What a format says beyond the schema; None if it is no format that we know."""
    if type(wire) is not dict or wire.get("type") != "json_schema":
        return None
    schema = wire.get("schema")
    if type(schema) is not dict:
        reading.form["schemaless"] = True
        schema = None
    reading.fields["response_format"] = ResponseFormat("json_schema", schema=schema)
    known = ("type",) if schema is None else ("type", "schema")
    return {key: item for key, item in wire.items() if key not in known}


def _read_output_format(wire: Any, reading: Reading) -> None:
    """The name that `output_config.format` had as a beta."""
    inner = None if "response_format" in reading.fields else _read_format(wire, reading)
    if inner is None:
        (reading.spelled if wire is None else reading.rest)["output_format"] = wire
        return
    reading.form["output_format"] = True
    reading.keep("output_format", inner, (), read=True)


# -- writing --------------------------------------------------------------------------------------


def put_reasoning(reasoning: Reasoning, out: Wire, form: Wire, mine: Wire, scribe: Scribe) -> None:
    effort = reasoning.effort
    if effort is not None:
        word = EFFORTS.get(effort)
        if word is None:
            scribe.lost(reasoning, "effort")
        else:
            out.setdefault("output_config", {})["effort"] = word
            if word != effort:
                scribe.lost(reasoning, "effort", f"said as {word}", kind="approximated")
    kind = _kind(reasoning, form, mine)
    if kind is None:
        return
    out["thinking"] = thinking = {"type": kind}
    if reasoning.mode == "off":
        for name in ("budget_tokens", "visible"):
            if getattr(reasoning, name) is not None:
                scribe.lost(reasoning, name, "thinking is off")
        return
    if reasoning.budget_tokens is not None:
        thinking["budget_tokens"] = reasoning.budget_tokens  # type: ignore[assignment]  # JSON
    if reasoning.visible is not None:
        thinking["display"] = DISPLAYS.write(reasoning.visible) or ""
    if reasoning.mode is not None and MODES.read(kind) != reasoning.mode:
        scribe.lost(reasoning, "mode", f"said as {kind}", kind="approximated")


def _kind(reasoning: Reasoning, form: Wire, mine: Wire) -> str | None:
    """The type of thinking that the fields ask for; None where the effort says all."""
    mode = reasoning.mode
    if mode != "off" and reasoning.budget_tokens is not None:
        return "enabled"  # no other type has a budget
    if mode == "on":
        # Without a budget only hosts that imitate this API take `enabled`.
        return "enabled" if form.get("thinking") == "enabled" else "adaptive"
    if mode is not None:
        return MODES.write(mode)
    kept = mine.get("thinking")
    if type(kept) is dict and type(kept.get("type")) is str:
        return str(kept["type"])
    spelled = form.get("thinking")
    if spelled in ("adaptive", "enabled"):
        return str(spelled)
    return "adaptive" if reasoning.effort is None or reasoning.visible is not None else None


def put_format(
    wanted: ResponseFormat, options: Options, out: Wire, form: Wire, scribe: Scribe
) -> None:
    if same(wanted, ResponseFormat()):
        return  # text is what it gives anyway
    schemaless = wanted.schema is None and not form.get("schemaless")
    if wanted.kind != "json_schema" or schemaless:
        scribe.lost(options, "response_format", "JSON only by a schema")
        return
    wire: Wire = {"type": "json_schema"}
    if wanted.schema is not None:
        wire["schema"] = wanted.schema
    if form.get("output_format"):
        out["output_format"] = wire
    else:
        out.setdefault("output_config", {})["format"] = wire
    for name in ("name", "strict", "description"):
        if getattr(wanted, name) is not None:
            scribe.lost(wanted, name)
