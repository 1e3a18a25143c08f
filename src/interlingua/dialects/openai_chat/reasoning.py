"""How much thinking goes before the answer: an effort, OpenRouter's object, or a host's switch."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.shape import Note
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.model.exchange import EFFORTS, Options, Reasoning

# DeepSeek and Z.ai have an object with a type, Alibaba's and SiliconFlow's models a flag.
SWITCHES = ("thinking", "enable_thinking")
_TYPES = {"enabled": "on", "disabled": "off"}
# Groq's Qwen models think by default, and say so in place of an effort (console docs, 2026-11).
DEFAULT = "default"
_SAID_BY_EFFORT = "the effort says how much"


# Reading


def read_reasoning(wire: Wire, t: Tables, note: Note, taken: set[str]) -> Reasoning | None:
    """All that the body says about thinking; None where it says nothing."""
    fields: dict[str, Any] | None = None
    if type(wire.get("reasoning")) is dict:
        fields = _read_object(wire["reasoning"], note)
        taken.add("reasoning")
        if not t.reasoning_object:
            note.form["reasoning"] = "object"
    effort = wire.get("reasoning_effort")
    if effort in EFFORTS:
        if fields is None:
            fields = {"effort": effort}
            taken.add("reasoning_effort")
            if t.reasoning_object:
                note.form["reasoning"] = "effort"
        elif fields.get("effort") == effort:
            taken.add("reasoning_effort")
            note.form["reasoning"] = "both"
    elif effort == DEFAULT and fields is None:
        fields = {"mode": "on"}
        taken.add("reasoning_effort")
        note.form["reasoning"] = DEFAULT
    if "reasoning" not in taken and effort != "none":
        fields = _read_switches(wire, fields, note, taken)
    return None if fields is None else Reasoning(**fields)


def _read_object(inner: Wire, note: Note) -> dict[str, Any]:
    """OpenRouter's object: an effort or a budget, a switch, whether the thinking is left out."""
    effort, budget = inner.get("effort"), inner.get("max_tokens")
    enabled, exclude = inner.get("enabled"), inner.get("exclude")
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
    if type(enabled) is bool and effort != "none":
        fields["mode"] = "on" if enabled else "off"
        taken.add("enabled")
        note.form["enabled"] = True
    rest = {key: value for key, value in inner.items() if key not in taken}
    if rest:
        note.rest["reasoning"] = rest
    if not taken:
        note.form["void"] = True
    return fields


def _read_switches(
    wire: Wire, fields: dict[str, Any] | None, note: Note, taken: set[str]
) -> dict[str, Any] | None:
    for key in SWITCHES:
        given = wire.get(key)
        if type(given) is dict and given.get("type") in _TYPES:
            mode = _TYPES[given["type"]]
            if len(given) > 1:
                note.rest[key] = {name: item for name, item in given.items() if name != "type"}
        elif type(given) is bool:
            mode = "on" if given else "off"
        else:
            continue
        taken.add(key)
        note.form["switch"] = key
        return {**(fields or {}), "mode": mode}
    return fields


# Writing


def write_reasoning(options: Options, t: Tables, scribe: Scribe, form: Wire, wire: Wire) -> None:
    asked, spelled = options.reasoning or Reasoning(), form.get("reasoning")
    if spelled in ("object", "both") or (t.reasoning_object and not (spelled or "switch" in form)):
        wire["reasoning"] = _write_object(asked, form)
        if asked.mode in ("adaptive", "between_tools"):
            scribe.lost(options, "reasoning.mode", "it is on, or off", kind="approximated")
        if spelled == "both" and "effort" in wire["reasoning"]:
            wire["reasoning_effort"] = wire["reasoning"]["effort"]
        return
    if spelled == DEFAULT and asked == Reasoning(mode="on"):
        wire["reasoning_effort"] = DEFAULT
        return
    switch = form.get("switch") or ("thinking" if spelled == "thinking" else t.host.switch)
    if asked.effort is None and asked.mode != "off" and switch is None:
        scribe.lost(options, "reasoning", "thinking is asked for by an effort only")
        return
    for name in ("budget_tokens", "visible"):
        if getattr(asked, name) is not None:
            scribe.lost(options, f"reasoning.{name}")
    if asked.mode == "off":
        _write_off(options, asked, switch, scribe, wire)
        return
    if asked.effort is not None:
        wire["reasoning_effort"] = asked.effort
    if switch is not None and (asked.effort is None or "switch" in form):
        wire[switch] = _switched(switch, True)
    if asked.mode in ("adaptive", "between_tools"):
        reason = "it is on, or off" if asked.effort is None else _SAID_BY_EFFORT
        scribe.lost(options, "reasoning.mode", reason, kind="approximated")


def _write_off(
    options: Options, asked: Reasoning, switch: str | None, scribe: Scribe, wire: Wire
) -> None:
    if switch is None:
        wire["reasoning_effort"] = "none"
        if asked.effort is not None:
            scribe.lost(options, "reasoning.effort", "thinking is off")
        return
    wire[switch] = _switched(switch, False)
    if asked.effort is not None:
        wire["reasoning_effort"] = asked.effort


def _switched(key: str, on: bool) -> Any:
    return {"type": "enabled" if on else "disabled"} if key == "thinking" else on


def _write_object(asked: Reasoning, form: Wire) -> Wire:
    inner: Wire = {}
    if asked.mode == "off":
        if asked.effort is None and not form.get("enabled"):
            inner["effort"] = "none"
        else:
            inner["enabled"] = False
    elif form.get("enabled") or asked.mode is not None or _is_empty(asked, form):
        inner["enabled"] = True
    if asked.effort is not None:
        inner["effort"] = asked.effort
    if asked.budget_tokens is not None:
        inner["max_tokens"] = asked.budget_tokens
    if asked.visible is not None:
        inner["exclude"] = not asked.visible
    return inner


def _is_empty(asked: Reasoning, form: Wire) -> bool:
    return asked == Reasoning() and not form.get("void")
