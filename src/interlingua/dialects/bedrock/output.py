"""What shape the answer shall have, and how much thought: `outputConfig`, and what the model alone
is told in `additionalModelRequestFields`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.efforts import NOVA, OBJECTS, PLAIN, read_effort, written
from interlingua.dialects.bedrock.shape import put_section, section
from interlingua.dialects.bedrock.tables import DISPLAYS, EFFORTS, MODES, THINKING_KEYS
from interlingua.dialects.shape import Kept, want
from interlingua.model.base import same
from interlingua.model.exchange import EFFORTS as ALL_EFFORTS
from interlingua.model.exchange import Options, Reasoning, ResponseFormat

ADDITIONAL = "additionalModelRequestFields"

# -- reading --------------------------------------------------------------------------------------


def read_output(wire: Wire, fields: Wire, kept: Kept) -> None:
    reasoning: Wire = {}
    if "outputConfig" in wire:
        _read_config(wire, fields, reasoning, kept)
    if ADDITIONAL in wire:
        _read_additional(wire, fields, reasoning, kept)
    if reasoning:
        fields["reasoning"] = Reasoning(**reasoning)


def _read_config(wire: Wire, fields: Wire, reasoning: Wire, kept: Kept) -> None:
    config = section(wire, "outputConfig", kept.spelled)
    if config is None:
        return
    known = set()
    effort = config.get("effort")
    if type(effort) is str and EFFORTS.get(effort) == effort:
        known.add("effort")
        reasoning["effort"] = effort
    given = _read_format(config.get("textFormat"), kept.form)
    if given is not None:
        known.add("textFormat")
        fields["response_format"] = given
    keep_left(config, known, "outputConfig", kept)


def keep_left(config: Wire, known: Collection[str], key: str, kept: Kept) -> None:
    """What no field holds of a section."""
    left = {name: item for name, item in config.items() if name not in known}
    if left:
        kept.rest[key] = left


def _read_format(wire: Any, form: Wire) -> ResponseFormat | None:
    """The schema is JSON in a text; a format that says more than we know stays as it is."""
    if type(wire) is not dict or wire.keys() != {"type", "structure"}:
        return None
    structure = wire["structure"]
    if wire["type"] != "json_schema" or type(structure) is not dict or len(structure) != 1:
        return None
    named = structure.get("jsonSchema")
    if type(named) is not dict or not named.keys() <= {"schema", "name", "description"}:
        return None
    text = named.get("schema")
    schema = _parse(text) if type(text) is str else None
    if schema is None or not all(type(item) is str for item in named.values()):
        return None
    if _spell(schema) != text:
        form["schema"] = text
    name, description = named.get("name"), named.get("description")
    return ResponseFormat("json_schema", name, schema, description=description)


def _parse(text: str) -> Wire | None:
    try:
        schema = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return schema if type(schema) is dict else None


def _spell(schema: Wire) -> str:
    return msgspec.json.encode(schema).decode()


def _read_additional(wire: Wire, fields: Wire, reasoning: Wire, kept: Kept) -> None:
    """Of the model's own fields, what Claude's own API calls `thinking` and `top_k`."""
    given = wire[ADDITIONAL]
    if type(given) is not dict or not given:
        (kept.rest if given else kept.spelled)[ADDITIONAL] = given
        return
    known = set()
    if type(given.get("top_k")) in (int, float):
        known.add("top_k")
        fields["top_k"] = want(given["top_k"], float, f".{ADDITIONAL}.top_k")
    for name in THINKING_KEYS:
        if name in given and _read_thinking(given[name], reasoning):
            known.add(name)
            if name != THINKING_KEYS[0]:
                kept.form["thinking"] = name
            if reasoning.get("mode") == "on":
                kept.form["on"] = True
            break
    key = read_effort(given, reasoning)
    if key is not None:
        known.add(key)
        kept.form["effort"] = key
    keep_left(given, known, ADDITIONAL, kept)


def _read_thinking(given: Any, reasoning: Wire) -> bool:
    """Whether this is one of the shapes that fields can hold."""
    if type(given) is not dict:
        return False
    more = {key: item for key, item in given.items() if key not in ("type", "display")}
    visible = DISPLAYS.read(given["display"]) if "display" in given else None
    if "display" in given and visible is None:
        return False
    mode, budget = MODES.read(given.get("type", "")), given.get("budget_tokens")
    if mode == "on" and more.keys() == {"budget_tokens"} and type(budget) is int:
        reasoning["budget_tokens"] = budget
    elif mode is None or more or (mode == "off" and visible is not None):
        return False
    elif mode == "on" and "effort" in reasoning:
        return False  # beside an effort, `on` would not be seen any more
    else:
        reasoning["mode"] = mode
    if visible is not None:
        reasoning["visible"] = visible
    return True


# -- writing --------------------------------------------------------------------------------------


def write_output(out: Wire, options: Options, mine: Wire, form: Wire, scribe: Scribe) -> None:
    output: Wire = {}
    additional: Wire = {}
    if options.response_format is not None:
        _put_format(output, options, options.response_format, form, scribe)
    if options.reasoning is not None:
        _put_reasoning(output, additional, options, options.reasoning, form, scribe)
    if options.top_k is not None:
        additional["top_k"] = options.top_k
    put_section(out, "outputConfig", output, mine, form)
    put_section(out, ADDITIONAL, additional, mine, form)


def _put_format(
    output: Wire, options: Options, given: ResponseFormat, form: Wire, scribe: Scribe
) -> None:
    if given.kind == "text":
        scribe.unsaid(given, frozenset({"kind"}))
        return
    if given.kind != "json_schema" or given.schema is None:
        scribe.lost(options, "response_format", "an answer follows a schema, or no rule")
        return
    text = form.get("schema")
    if type(text) is not str or not same(_parse(text), given.schema):
        text = _spell(given.schema)
    named: Wire = {"schema": text}
    if given.name is not None:
        named["name"] = given.name
    if given.description is not None:
        named["description"] = given.description
    output["textFormat"] = {"type": "json_schema", "structure": {"jsonSchema": named}}
    if given.strict is not None:
        scribe.lost(options, "response_format.strict", "a schema always binds", severity="info")


def _put_reasoning(
    output: Wire, additional: Wire, options: Options, given: Reasoning, form: Wire, scribe: Scribe
) -> None:
    key = form.get("thinking") or THINKING_KEYS[0]
    place = form.get("effort")
    if place == NOVA:
        _put_nova(additional, options, given, scribe)
        return
    if given.mode == "off":
        for name in ("budget_tokens", "visible"):
            if getattr(given, name) is not None:
                scribe.lost(options, f"reasoning.{name}", "thinking is switched off")
        if given.effort is None and place in (PLAIN, "reasoning"):
            additional[place] = written(place, given)
        else:
            additional[key] = {"type": MODES.write("off")}
    elif place in (PLAIN, "reasoning") and given.mode is None and given.budget_tokens is None:
        if given.visible is not None:
            scribe.lost(options, "reasoning.visible")
    elif (thinking := _thinking(given, form)) is not None:
        additional[key] = thinking
        if given.mode is not None and MODES.read(thinking["type"]) != given.mode:
            reason = f"said as {thinking['type']}"
            scribe.lost(options, "reasoning.mode", reason, kind="approximated")
    if given.effort is not None:
        _put_effort(output, additional, options, given.effort, form, scribe)


def _put_nova(additional: Wire, options: Options, given: Reasoning, scribe: Scribe) -> None:
    additional[NOVA] = written(NOVA, given)
    for name in ("budget_tokens", "visible"):
        if getattr(given, name) is not None:
            scribe.lost(options, f"reasoning.{name}")
    if given.mode in ("adaptive", "between_tools"):
        scribe.lost(options, "reasoning.mode", "it is on, or off", kind="approximated")


def _thinking(given: Reasoning, form: Wire) -> Wire | None:
    """Claude's object; None where the effort says all."""
    if given.budget_tokens is not None:
        thinking: Wire = {"type": "enabled", "budget_tokens": given.budget_tokens}
    elif given.mode == "on":
        # Without a budget Claude takes `adaptive` only.
        thinking = {"type": "enabled" if form.get("on") else "adaptive"}
    elif given.mode is not None:
        thinking = {"type": MODES.write(given.mode)}
    elif given.effort is None or given.visible is not None:
        thinking = {"type": "adaptive"}
    else:
        return None
    if given.visible is not None:
        thinking["display"] = DISPLAYS.write(given.visible)
    return thinking


def _put_effort(
    output: Wire, additional: Wire, options: Options, effort: str, form: Wire, scribe: Scribe
) -> None:
    place = form.get("effort")
    if place in (PLAIN, *OBJECTS) and effort in ALL_EFFORTS:
        additional[place] = written(place, Reasoning(effort))
        return
    word = EFFORTS.get(effort)
    if word is None:
        scribe.lost(options, "reasoning.effort")
        return
    if word != effort:
        scribe.lost(options, "reasoning.effort", f"said as {word}", kind="approximated")
    output["effort"] = word
