"""The shape of the answer (a schema, a tool call in its place, or instructions) and tool choice."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from interlingua.adapt.fit.fitter import Fitter
from interlingua.adapt.fit.schemas import adapted, is_closed, optional_in, unions_in
from interlingua.model.base import JsonObject
from interlingua.model.exchange import ResponseFormat, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.fields import Choice

_WEAKER: dict[Choice, tuple[Choice, ...]] = {
    "some": ("any", "auto"),
    "one": ("any", "auto"),
    "any": ("auto",),
    "none": ("auto",),
    "auto": (),
}
"""What stands for a choice that cannot be said, the nearest first."""


def kind_of(choice: ToolChoice) -> Choice:
    if choice.mode != "any":
        return choice.mode
    return "any" if not choice.names else "one" if len(choice.names) == 1 else "some"


def allowed(fitter: Fitter) -> tuple[Collection[Choice] | None, str]:
    """The choices that may be said now, and the field of the profile that says so."""
    rules = fitter.profile.tools
    if fitter.on_budget and rules.budget_choice is not None:
        return rules.budget_choice, "tools.budget_choice"
    if fitter.thinking and rules.thinking_choice is not None:
        return rules.thinking_choice, "tools.thinking_choice"
    return rules.choice, "tools.choice"


def fit_choice(fitter: Fitter) -> None:
    if not fitter.tools:
        _without_tools(fitter)
        return
    choice: ToolChoice | None = fitter.now("tool_choice")
    if choice is not None:
        _fit(fitter, choice)
    switch, parallel = fitter.profile.tools.parallel_switch, fitter.now("parallel_tool_calls")
    if switch == "no" and parallel is not None:
        reason = "cannot be told how many calls to make at once"
        fitter.drop("parallel_tool_calls", "tools.parallel_switch", reason)


def _without_tools(fitter: Fitter) -> None:
    """Where there is nothing to call, nothing can be said about calls."""
    if fitter.profile.tools.parallel_switch is None:
        return
    for option in ("parallel_tool_calls", "tool_choice"):
        if fitter.now(option) is not None:
            reason = f"takes {option} only beside tools"
            fitter.drop(option, "tools.parallel_switch", reason, "info")


def _fit(fitter: Fitter, choice: ToolChoice) -> None:
    known, field = allowed(fitter)
    kind = kind_of(choice)
    if known is None or kind in known:
        return
    weaker = next((each for each in _WEAKER[kind] if each in known), "auto")
    fitter.change("tool_choice", ToolChoice("any" if weaker == "any" else "auto"))
    when = "" if field == "tools.choice" else " while it thinks"
    left = "left to the model" if weaker == "auto" else f"said as {weaker}"
    reason = f"takes no tool choice of the kind {kind}{when}; {left}"
    fitter.lost("tool_choice", field, reason, severity="error")


JSON_WORDS = "Answer with one JSON object and nothing else: no other words, no code fence."
SCHEMA_WORDS = "It follows this JSON Schema:"
JSON_TOOL = "json_answer"
JSON_TOOL_WORDS = "Give the answer by calling this tool, once, with all of it."
_INSTRUCTS = (Role.SYSTEM, Role.DEVELOPER)


def fit_output(fitter: Fitter) -> None:
    wanted: ResponseFormat | None = fitter.now("response_format")
    if wanted is None or wanted.kind == "text":
        return
    beside = _beside_tools(fitter)
    if beside:
        _in_words(fitter, wanted, "tools.with_json", beside)
    elif wanted.kind == "json":
        if fitter.profile.output.json is False:
            _in_words(fitter, wanted, "output.json", "knows JSON by a schema only")
    elif wanted.schema is not None:
        _schema(fitter, wanted, wanted.schema)


def _beside_tools(fitter: Fitter) -> str | None:
    """Why JSON cannot be asked for here, where tools are in the way."""
    rule = fitter.profile.tools.with_json
    if not fitter.tools or rule in (None, "yes"):
        return None
    if rule == "no":
        return "takes JSON output or tools, not both"
    choice: ToolChoice | None = fitter.now("tool_choice")
    forced = choice is not None and choice.mode == "any"
    return "takes no JSON output while a call is forced" if forced else None


def _schema(fitter: Fitter, wanted: ResponseFormat, schema: JsonObject) -> None:
    how = fitter.profile.output.schema
    if how == "tool":
        _by_tool(fitter, wanted, schema, "output.schema", "takes no schema for its answer")
    elif how == "json":
        _in_words(fitter, wanted, "output.schema", "knows JSON without a schema only", json=True)
    elif how == "none":
        _in_words(fitter, wanted, "output.schema", "takes no schema for its answer")
    else:
        _native(fitter, wanted, schema)


# -- as such --------------------------------------------------------------------------------------


def _native(fitter: Fitter, wanted: ResponseFormat, schema: JsonObject) -> None:
    too_much = _too_much(fitter, schema)
    if too_much:
        _by_tool(fitter, wanted, schema, "tools.strict_optional", too_much)
        return
    rules = fitter.profile.output
    new = adapted(schema, rules)
    for place in new.worded:
        reason = "takes no such keyword; its description tells it"
        fitter.lost(f"response_format.schema{place}", "output.without", reason)
    if new.closed:
        reason = "takes closed objects only; no further properties are said to be allowed"
        fitter.lost("response_format.schema", "output.closed", reason)
    adjusted = wanted.replace(schema=new.schema) if new.schema != schema else wanted
    if adjusted.strict and rules.strict_closed and not is_closed(new.schema):
        reason = "is strict only with closed objects that require all they have"
        fitter.lost("response_format.strict", "output.strict_closed", reason, "dropped")
        adjusted = adjusted.replace(strict=None)
    if adjusted is not wanted:
        fitter.change("response_format", adjusted)


def _too_much(fitter: Fitter, schema: JsonObject) -> str | None:
    """Why a schema is too large to be binding."""
    rules = fitter.profile.tools
    if rules.strict_optional is not None and optional_in(schema) > rules.strict_optional:
        return f"takes schemas with {rules.strict_optional} optional properties at most"
    if rules.strict_unions is not None and unions_in(schema) > rules.strict_unions:
        return f"takes schemas with {rules.strict_unions} unions at most"
    return None


# -- by a tool ------------------------------------------------------------------------------------


def _by_tool(
    fitter: Fitter, wanted: ResponseFormat, schema: JsonObject, field: str, why: str
) -> None:
    choice = _forced(fitter)
    if choice is None:
        _in_words(fitter, wanted, field, why)
        return
    name = wanted.name or JSON_TOOL
    while any(tool.name == name for tool in fitter.tools):
        name += "_"
    words = f"{wanted.description} {JSON_TOOL_WORDS}" if wanted.description else JSON_TOOL_WORDS
    fitter.tools = (*fitter.tools, ToolDefinition(name, words, schema))
    fitter.json_tool = name
    fitter.change("tool_choice", choice if choice.names != (JSON_TOOL,) else _only(name))
    fitter.change("response_format", None)
    fitter.lost("response_format", field, f"{why}; asked for by a call")


def _forced(fitter: Fitter) -> ToolChoice | None:
    """The choice that makes the model call the tool, or one of the others; None where it cannot be
    made to."""
    known, _ = allowed(fitter)
    choice: ToolChoice | None = fitter.now("tool_choice")
    alone = not fitter.tools or (choice is not None and choice.mode == "none")
    if not alone and choice is not None and choice.mode == "any":
        return choice
    if known is not None and ("one" if alone else "any") not in known:
        return ToolChoice("any") if alone and not fitter.tools and "any" in known else None
    return _only(JSON_TOOL) if alone else ToolChoice("any")


def _only(name: str) -> ToolChoice:
    return ToolChoice("any", (name,))


# -- in words -------------------------------------------------------------------------------------


def _in_words(
    fitter: Fitter, wanted: ResponseFormat, field: str, why: str, json: bool = False
) -> None:
    """As an instruction; with plain JSON output beside it where the model has that."""
    words = JSON_WORDS
    if wanted.schema is not None:
        words += f" {SCHEMA_WORDS}\n{msgspec.json.encode(wanted.schema).decode()}"
    leading = 0
    for message in fitter.messages:
        if message.role not in _INSTRUCTS:
            break
        leading += 1
    instruction = Message.system(words)
    fitter.messages = (*fitter.messages[:leading], instruction, *fitter.messages[leading:])
    fitter.change("response_format", ResponseFormat("json") if json else None)
    fitter.lost("response_format", field, f"{why}; said in the instructions", "downgraded")
