"""Tools as a model takes them: whether at all, how many, beside which others, with what schemas
(those of answers too); and the dialect for requests with tools, where it is not the usual one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from interlingua.adapt.facts import CALLS, ISSUED
from interlingua.adapt.fit.fitter import Fitter
from interlingua.adapt.history.vendor_tools import asks_beside
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.model.spelled_numbers import spelled
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.fields import Grammar, OutputRules
from interlingua.profiles.profile import Profile

# -- the dialect ----------------------------------------------------------------------------------


def dialect_for_request(profile: Profile, request: Request, speaks: Collection[str]) -> str | None:
    """The dialect for a request with tools, if its provider requires a special one: newer models
    of OpenAI take functions in Responses only, and all models have their provider's own tools
    there, including searches that are requested beside the tools."""
    rules = profile.speaks
    if rules.tools_dialect is None and rules.server_dialect is None:
        return None
    runs = {tool.executor for tool in request.tools}
    if asks_beside(request):
        runs.add("provider")
    chosen = rules.tools_dialect if "client" in runs else None
    if chosen is None and "provider" in runs:
        chosen = rules.server_dialect
    return chosen if chosen != profile.dialect and chosen in speaks else None


# -- schemas --------------------------------------------------------------------------------------


_OF_SCHEMAS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
"""Keywords whose value maps names to schemas: the names are no keywords."""
_OF_SCHEMA = ("items", "additionalProperties", "not", "if", "then", "else", "contains")
_OF_LIST = ("anyOf", "oneOf", "allOf", "prefixItems")


def narrow(schema: JsonObject, keywords: frozenset[str]) -> tuple[JsonObject, list[str]]:
    """The schema with these keywords only, and the paths of those removed.

    A property that is called like a keyword is a property."""
    dropped: list[str] = []
    return _narrow(schema, keywords, "", dropped), dropped


def _narrow(schema: Any, keywords: frozenset[str], path: str, dropped: list[str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    out: JsonObject = {}
    for word, value in schema.items():
        inner_path = f"{path}.{word}"
        if word not in keywords:
            dropped.append(inner_path)
        elif word in _OF_SCHEMAS and isinstance(value, dict):
            out[word] = {
                name: _narrow(inner, keywords, f"{inner_path}.{name}", dropped)
                for name, inner in value.items()
            }
        elif word in _OF_SCHEMA:
            out[word] = _narrow(value, keywords, inner_path, dropped)
        elif word in _OF_LIST and isinstance(value, list):
            out[word] = [
                _narrow(inner, keywords, f"{inner_path}[{index}]", dropped)
                for index, inner in enumerate(value)
            ]
        else:
            out[word] = value
    return out


def rewrite(schema: Any, step: Callable[[JsonObject, str], JsonObject], path: str = "") -> Any:
    """Every schema inside a schema, innermost first, mapped by `step(schema, path)`; the input is
    not changed."""
    if not isinstance(schema, dict):
        return schema
    out: JsonObject = {}
    for word, value in schema.items():
        inner_path = f"{path}.{word}"
        if word in _OF_SCHEMAS and isinstance(value, dict):
            out[word] = {
                name: rewrite(inner, step, f"{inner_path}.{name}") for name, inner in value.items()
            }
        elif word in _OF_SCHEMA:
            out[word] = rewrite(value, step, inner_path)
        elif word in _OF_LIST and isinstance(value, list):
            out[word] = [
                rewrite(inner, step, f"{inner_path}[{index}]") for index, inner in enumerate(value)
            ]
        else:
            out[word] = value
    return step(out, path)


def inside(schema: Any) -> Iterator[JsonObject]:
    """A schema and all that are inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for word, value in schema.items():
        if word in _OF_SCHEMAS and isinstance(value, dict):
            for inner in value.values():
                yield from inside(inner)
        elif word in _OF_SCHEMA:
            yield from inside(value)
        elif word in _OF_LIST and isinstance(value, list):
            for inner in value:
                yield from inside(inner)


def is_object(schema: JsonObject) -> bool:
    """Whether this is the schema of an object."""
    kind = schema.get("type")
    return kind == "object" or "properties" in schema or (type(kind) is list and "object" in kind)


def optional_in(schema: JsonObject) -> int:
    """The number of optional properties."""
    return sum(
        len(set(each.get("properties") or ()) - set(each.get("required") or ()))
        for each in inside(schema)
    )


def unions_in(schema: JsonObject) -> int:
    """The number of values with several types."""
    return sum(
        "anyOf" in each or "oneOf" in each or type(each.get("type")) is list
        for each in inside(schema)
    )


def is_closed(schema: JsonObject, optional: bool = False) -> bool:
    """Whether every object in it takes its own properties alone, and needs them all, unless some
    may be `optional`."""
    return all(
        each.get("additionalProperties") is False
        and (optional or set(each.get("properties") or ()) == set(each.get("required") or ()))
        for each in inside(schema)
        if is_object(each)
    )


class AdaptedSchema(NamedTuple):
    """A schema, and its changes: places of keywords that its descriptions state now, and of
    objects that were closed."""

    schema: JsonObject
    worded: list[str]
    closed: list[str]


def adapted(schema: JsonObject, rules: OutputRules) -> AdaptedSchema:
    """The schema without refused keywords and formats, which its descriptions state instead, and
    with its objects closed where that is required."""
    without, formats = rules.without or (), rules.formats
    worded: list[str] = []
    closed: list[str] = []

    def step(each: JsonObject, path: str) -> JsonObject:
        if "oneOf" in without and "oneOf" in each and "anyOf" not in each:
            each = {("anyOf" if word == "oneOf" else word): each[word] for word in each}
        gone = {word: each[word] for word in each if word in without}
        if formats is not None and each.get("format", formats[0]) not in formats:
            gone["format"] = each["format"]
        if gone:
            worded.extend(f"{path}.{word}" for word in gone)
            each = {word: value for word, value in each.items() if word not in gone}
            each["description"] = _described(each.get("description"), gone)
        if rules.const_as_enum and "const" in each and "enum" not in each:
            each = {("enum" if w == "const" else w): each[w] for w in each}
            each["enum"] = [each["enum"]]
        if rules.closed and is_object(each) and each.get("additionalProperties") is not False:
            closed.append(path)
            each = {**each, "additionalProperties": False}
        return each

    return AdaptedSchema(rewrite(schema, step), worded, closed)


def _described(text: Any, gone: JsonObject) -> str:
    rules = ", ".join(f"{word}: {_json(value)}" for word, value in gone.items())
    return f"{text} ({rules})" if isinstance(text, str) and text else rules


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=spelled).decode()


def rooted(schema: JsonObject) -> JsonObject:
    """The schema with an object at its root. A choice between objects becomes one object with
    the properties of all; any other schema holds the value under `input`."""
    if schema.get("type") == "object":
        return {word: value for word, value in schema.items() if word not in _CHOICES}
    choices = [each for word in _CHOICES for each in schema.get(word) or () if type(each) is dict]
    rest = {word: value for word, value in schema.items() if word not in (*_CHOICES, "type")}
    if is_object(schema) or (not schema.get("type") and not choices):
        return {"type": "object", **rest}
    if choices and all(map(is_object, choices)):
        properties: JsonObject = {}
        for each in choices:
            properties.update(each.get("properties") or {})
        return {"type": "object", **rest, "properties": properties}
    return {"type": "object", "properties": {"input": schema}, "required": ["input"]}


_CHOICES = ("anyOf", "oneOf", "allOf")


def is_rooted(schema: JsonObject) -> bool:
    return schema.get("type") == "object" and not any(word in schema for word in _CHOICES)


_HASH = 8
"""Digits that keep apart names which become alike."""
_OWN_KINDS = frozenset({"function", "custom"})


@lru_cache(64)
def _pattern(grammar: Grammar) -> re.Pattern[str]:
    first = grammar.first or grammar.letters
    return re.compile(f"(?=.{{{grammar.least},{grammar.most}}}\\Z){first}{grammar.letters}*")


@lru_cache(4096)
def legal(name: str, grammar: Grammar) -> bool:
    return _pattern(grammar).fullmatch(name) is not None


def renamed(name: str, grammar: Grammar) -> str:
    """A legal name that resembles this one: illegal characters become `_`, and a hash is
    appended."""
    letter = re.compile(grammar.letters)
    marks = [mark if letter.fullmatch(mark) else "_" for mark in name]
    if grammar.first and not (marks and re.fullmatch(grammar.first, marks[0])):
        marks.insert(0, "_" if re.fullmatch(grammar.first, "_") else "t")
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    start = "".join(marks)[: grammar.most - _HASH - 1].rstrip("_") or "tool"
    return f"{start}_{digest}"


def fit_names(fitter: Fitter) -> None:
    grammar = fitter.profile.tools.names
    if grammar is None:
        return
    new = {name: renamed(name, grammar) for name in _names(fitter) if not legal(name, grammar)}
    if not new:
        return
    fitter.names = {renamed_to: name for name, renamed_to in new.items()}
    if fitter.json_tool in new:
        fitter.json_tool = new[fitter.json_tool]
    fitter.tools = tuple([_tool(fitter, tool, new) for tool in fitter.tools])
    fitter.messages = tuple([_message(fitter, message, new) for message in fitter.messages])
    choice: ToolChoice | None = fitter.now("tool_choice")
    if choice is not None and not new.keys().isdisjoint(choice.names):
        names = tuple([new.get(name, name) for name in choice.names])
        fitter.change("tool_choice", choice.replace(names=names))


def _names(fitter: Fitter) -> set[str]:
    names = {tool.name for tool in fitter.tools if tool.kind in _OWN_KINDS}
    facts = fitter.facts
    if facts is not None and not facts.content & CALLS:
        return names
    if facts is not None and facts.calls is not None and not facts.content & ISSUED:
        return names.union([name for name in facts.calls.names if name])
    for message in fitter.messages:
        for block in message.content:
            if type(block) is ToolUseBlock and block.executor == "client":
                names.add(block.name)
            elif type(block) is ToolResultBlock and block.tool_name:
                names.add(block.tool_name)
    return names


def _tool(fitter: Fitter, tool: ToolDefinition, new: dict[str, str]) -> ToolDefinition:
    if tool.name not in new or tool.kind not in _OWN_KINDS:
        return tool
    reason = because("tool_name_changed", name=new[tool.name])
    fitter.lost_at(tool, "name", "tools.names", reason)
    return fitter.stands_for(tool.replace(name=new[tool.name]), tool)  # type: ignore[no-any-return]  # a tool


def _message(fitter: Fitter, message: Message, new: dict[str, str]) -> Message:
    content = [_block(fitter, block, new) for block in message.content]
    if all(one is other for one, other in zip(content, message.content, strict=True)):
        return message
    return fitter.stands_for(message.replace(content=tuple(content)), message)  # type: ignore[no-any-return]  # a message


def _block(fitter: Fitter, block: Any, new: dict[str, str]) -> Any:
    if type(block) is ToolUseBlock and block.executor == "client" and block.name in new:
        return fitter.stands_for(block.replace(name=new[block.name]), block)
    if type(block) is ToolResultBlock and block.tool_name in new:
        return fitter.stands_for(block.replace(tool_name=new[block.tool_name]), block)
    return block


KNOWN = "known-models"
"""The rule that is made of the list of capabilities."""


def fit_tools(fitter: Fitter) -> None:
    if refuses_tools(fitter.profile):
        _without_tools(fitter)
        return
    if not fitter.tools:
        return
    if fitter.profile.tools.with_server == "no":
        _without_server_tools(fitter)
    most = fitter.profile.limits.tools
    if most is not None and len(fitter.tools) > most:
        for tool in fitter.tools[most:]:
            reason = because("too_many_tools", most=most)
            fitter.lost_at(tool, None, "limits.tools", reason, "dropped")
        fitter.tools = fitter.tools[:most]
    left = _StrictAllowance(fitter)
    fitted = [_fit(fitter, tool, left) for tool in fitter.tools]
    if any(new is not old for new, old in zip(fitted, fitter.tools, strict=True)):
        fitter.tools = tuple(fitted)


def refuses_tools(profile: Profile) -> bool:
    """Whether a rule refuses tools. An entry in a list that calls a model poor at them does not:
    it may still accept them, as the bundled local model does."""
    rule = profile.rule("tools.calls")
    return profile.tools.calls is False and rule is not None and rule.id != KNOWN


def _without_server_tools(fitter: Fitter) -> None:
    own = [tool for tool in fitter.tools if tool.executor == "provider"]
    if not own or len(own) == len(fitter.tools):
        return
    for tool in own:
        reason = because("tools_exclusive")
        fitter.lost_at(tool, None, "tools.with_server", reason, "dropped")
    fitter.tools = tuple([tool for tool in fitter.tools if tool.executor != "provider"])


# -- schemas --------------------------------------------------------------------------------------


class _StrictAllowance:
    """The rest of the model's limits for strict schemas."""

    def __init__(self, fitter: Fitter) -> None:
        rules = fitter.profile.tools
        self.tools, self.optional, self.unions = (
            2**31 if most is None else most
            for most in (rules.strict_tools, rules.strict_optional, rules.strict_unions)
        )

    def take(self, schema: JsonObject) -> str | None:
        """The field of the profile that does not let this schema be strict too."""
        optional, unions = optional_in(schema), unions_in(schema)
        if self.tools < 1:
            return "tools.strict_tools"
        if optional > self.optional:
            return "tools.strict_optional"
        if unions > self.unions:
            return "tools.strict_unions"
        self.tools, self.optional = self.tools - 1, self.optional - optional
        self.unions -= unions
        return None


def _fit(fitter: Fitter, tool: ToolDefinition, left: _StrictAllowance) -> ToolDefinition:
    schema, rules = tool.input_schema, fitter.profile.tools
    if schema is None or tool.kind != "function":
        return tool
    new = tool
    if rules.root_object and not is_rooted(schema):
        schema = rooted(schema)
        new = tool.replace(input_schema=schema)
        reason = because("schema_wrapped")
        fitter.lost_at(tool, "input_schema", "tools.root_object", reason)
    if rules.schema_without:
        plain = adapted(schema, OutputRules(without=rules.schema_without))
        for path in plain.worded:
            reason = because("schema_keyword_described")
            fitter.lost_at(tool, f"input_schema{path}", "tools.schema_without", reason)
        if plain.worded:
            schema = plain.schema
            new = new.replace(input_schema=schema)
    if new.strict:
        field = _not_strict(fitter, schema) or left.take(schema)
        if field is not None:
            reason = because("schema_not_strict")
            fitter.lost_at(tool, "strict", field, reason, "dropped")
            new = new.replace(strict=None)
    return new if new is tool else fitter.stands_for(new, tool)


def _not_strict(fitter: Fitter, schema: JsonObject) -> str | None:
    rules = fitter.profile.tools
    if rules.strict_closed and not is_closed(schema, rules.strict_optional is not None):
        return "tools.strict_closed"
    without = rules.strict_without or ()
    if without and any(word in each for each in inside(schema) for word in without):
        return "tools.strict_without"
    return None


# -- a model that calls nothing -------------------------------------------------------------------


def _without_tools(fitter: Fitter) -> None:
    why = because("model_without_tools", dialect=fitter.dialect)
    for tool in fitter.tools:
        fitter.lost_at(tool, None, "tools.calls", why, "dropped")
    fitter.tools = ()
    for option in ("tool_choice", "parallel_tool_calls"):
        if fitter.now(option) is not None:
            fitter.drop(option, "tools.calls", why)
    messages = [_in_words(fitter, message) for message in fitter.messages]
    if any(new is not old for new, old in zip(messages, fitter.messages, strict=True)):
        fitter.messages = tuple(messages)


def _in_words(fitter: Fitter, message: Message) -> Message:
    """Past calls and results as text."""
    content: list[Block] = []
    for block in message.content:
        if type(block) is ToolUseBlock and block.executor == "client":
            arguments = msgspec.json.encode(block.input).decode()
            content.append(TextBlock(f"[call of {block.name}: {arguments}]"))
        elif type(block) is ToolResultBlock and message.role is Role.TOOL:
            name = f" of {block.tool_name}" if block.tool_name else ""
            content += [TextBlock(f"[result{name}]"), *block.content]
        else:
            content.append(block)
            continue
        reason = because("calls_as_plain_text", dialect=fitter.dialect)
        fitter.lost_at(block, None, "tools.calls", reason, "downgraded")
    if len(content) == len(message.content) and all(
        new is old for new, old in zip(content, message.content, strict=True)
    ):
        return message
    role = Role.USER if message.role is Role.TOOL else message.role
    return fitter.stands_for(message.replace(role=role, content=tuple(content)), message)  # type: ignore[no-any-return]  # a message
