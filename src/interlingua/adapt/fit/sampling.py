"""Temperature and its like, stop sequences, penalties, limits, number of answers, verbosity;
the shape of the answer (a schema, a tool call in its place, or instructions) and tool choice."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from interlingua.adapt.fit.fitter import FORM, MAXIMUM, Fitter
from interlingua.adapt.fit.tools import adapted, is_closed, optional_in, unions_in
from interlingua.model.base import JsonObject
from interlingua.model.exchange import ResponseFormat, ToolChoice
from interlingua.model.losses import Severity
from interlingua.model.message import Message, Role
from interlingua.model.reasons import Reason, because
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.fields import Choice, When

# -- the form of the answer -----------------------------------------------------------------------


_WEAKER: dict[Choice, tuple[Choice, ...]] = {
    "some": ("any", "auto"),
    "one": ("any", "auto"),
    "any": ("auto",),
    "none": ("auto",),
    "auto": (),
}
"""Substitutes for a choice that cannot be expressed, the nearest first."""

_CHOICES: dict[Choice, str] = {
    "some": "a required call of one of several tools",
    "one": "a required call of a named tool",
    "any": "a required tool call",
    "none": "tool_choice none",
    "auto": "tool_choice auto",
}
"""The choices as sentences name them."""


def kind_of(choice: ToolChoice) -> Choice:
    if choice.mode != "any":
        return choice.mode
    return "any" if not choice.names else "one" if len(choice.names) == 1 else "some"


def allowed(fitter: Fitter) -> tuple[Collection[Choice] | None, str]:
    """The choices that may be written now, and the profile's field with the rule."""
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
        _fit_choice(fitter, choice)
    switch, parallel = fitter.profile.tools.parallel_switch, fitter.now("parallel_tool_calls")
    if switch == "no" and parallel is not None:
        reason = because("parallel_calls_fixed")
        fitter.drop("parallel_tool_calls", "tools.parallel_switch", reason)


def _without_tools(fitter: Fitter) -> None:
    """Without tools, settings of tool calls are dropped."""
    if fitter.profile.tools.parallel_switch is None:
        return
    for option in ("parallel_tool_calls", "tool_choice"):
        if fitter.now(option) is not None:
            reason = because("only_beside_tools")
            fitter.drop(option, "tools.parallel_switch", reason)


def _fit_choice(fitter: Fitter, choice: ToolChoice) -> None:
    known, field = allowed(fitter)
    kind = kind_of(choice)
    if known is None or kind in known:
        return
    weaker = next((each for each in _WEAKER[kind] if each in known), "auto")
    fitter.change("tool_choice", ToolChoice("any" if weaker == "any" else "auto"))
    when = "" if field == "tools.choice" else " while thinking is on"
    left = "left to the model" if weaker == "auto" else f"set to {weaker}"
    reason = because("tool_choice_weakened", choice=_CHOICES[kind], when=when, left=left)
    fitter.lost("tool_choice", field, reason)


JSON_WORDS = "Answer with one JSON object and nothing else: no other words, no code fence."
SCHEMA_WORDS = "It follows this JSON Schema:"
JSON_TOOL = "json_answer"
JSON_TOOL_WORDS = "Give the answer by calling this tool, once, with all of it."
_INSTRUCTS = (Role.SYSTEM, Role.DEVELOPER)


def fit_output(fitter: Fitter) -> None:
    requested: ResponseFormat | None = fitter.now("response_format")
    if requested is None or requested.kind == "text":
        return
    beside = _beside_tools(fitter)
    if beside:
        _in_words(fitter, requested, "tools.with_json", beside)
    elif requested.kind == "json":
        if fitter.profile.output.json is False:
            _in_words(fitter, requested, "output.json", "supports JSON only with a schema")
    elif requested.schema is not None:
        _schema(fitter, requested, requested.schema)


def _beside_tools(fitter: Fitter) -> str | None:
    """Why JSON cannot be requested here because of tools."""
    rule = fitter.profile.tools.with_json
    if not fitter.tools or rule in (None, "yes"):
        return None
    if rule == "no":
        return "accepts JSON output or tools, not both"
    choice: ToolChoice | None = fitter.now("tool_choice")
    forced = choice is not None and choice.mode == "any"
    return "accepts no JSON output while a tool call is required" if forced else None


def _schema(fitter: Fitter, requested: ResponseFormat, schema: JsonObject) -> None:
    how = fitter.profile.output.schema
    if how == "tool":
        _by_tool(fitter, requested, schema, "output.schema", "accepts no schema for its answer")
    elif how == "json":
        _in_words(
            fitter, requested, "output.schema", "supports JSON only without a schema", json=True
        )
    elif how == "none":
        _in_words(fitter, requested, "output.schema", "accepts no schema for its answer")
    else:
        _native(fitter, requested, schema)


# -- as such --------------------------------------------------------------------------------------


def _native(fitter: Fitter, requested: ResponseFormat, schema: JsonObject) -> None:
    too_much = _too_much(fitter, schema)
    if too_much:
        _by_tool(fitter, requested, schema, "tools.strict_optional", too_much)
        return
    rules = fitter.profile.output
    new = adapted(schema, rules)
    for path in new.worded:
        reason = because("schema_keyword_described")
        fitter.lost(f"response_format.schema{path}", "output.without", reason)
    if new.closed:
        reason = because("schema_closed")
        fitter.lost("response_format.schema", "output.closed", reason)
    adjusted = requested.replace(schema=new.schema) if new.schema != schema else requested
    if adjusted.strict and rules.strict_closed and not is_closed(new.schema):
        reason = because("strict_needs_closed")
        fitter.lost("response_format.strict", "output.strict_closed", reason, "dropped")
        adjusted = adjusted.replace(strict=None)
    if adjusted is not requested:
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
    fitter: Fitter, requested: ResponseFormat, schema: JsonObject, field: str, why: str
) -> None:
    choice = _forced(fitter)
    if choice is None:
        _in_words(fitter, requested, field, why)
        return
    name = requested.name or JSON_TOOL
    while any(tool.name == name for tool in fitter.tools):
        name += "_"
    words = (
        f"{requested.description} {JSON_TOOL_WORDS}" if requested.description else JSON_TOOL_WORDS
    )
    fitter.tools = (*fitter.tools, ToolDefinition(name, words, schema))
    fitter.json_tool = name
    fitter.change("tool_choice", choice if choice.names != (JSON_TOOL,) else _only(name))
    fitter.change("response_format", None)
    fitter.lost("response_format", field, because("format_by_tool", why=why))


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
    fitter: Fitter, requested: ResponseFormat, field: str, why: str, json: bool = False
) -> None:
    """As an instruction, with plain JSON output if the model supports that."""
    words = JSON_WORDS
    if requested.schema is not None:
        words += f" {SCHEMA_WORDS}\n{msgspec.json.encode(requested.schema).decode()}"
    leading = 0
    for message in fitter.messages:
        if message.role not in _INSTRUCTS:
            break
        leading += 1
    instruction = Message.system(words)
    fitter.messages = (*fitter.messages[:leading], instruction, *fitter.messages[leading:])
    fitter.change("response_format", ResponseFormat("json") if json else None)
    fitter.lost("response_format", field, because("format_by_instructions", why=why), "downgraded")


def fit_length(fitter: Fitter) -> None:
    _respell(fitter)
    limits = fitter.profile.limits
    requested: int | None = fitter.now(MAXIMUM)
    if requested is None:
        usual = limits.default_output or limits.output
        field = "limits.default_output" if limits.default_output else "limits.output"
        if usual is not None and fitter.traits.needs_limit and not _had_no_limit(fitter):
            if usual > UNSTREAMED and not fitter.request.options.stream:
                reason = because("max_tokens_capped", limit=UNSTREAMED, most=usual)
                usual = UNSTREAMED
            else:
                reason = because("max_tokens_filled", usual=usual)
            fitter.change(MAXIMUM, usual)
            fitter.lost(MAXIMUM, field, reason)
    elif limits.output is not None and requested > limits.output:
        fitter.change(MAXIMUM, limits.output)
        reason = because("max_tokens_lowered", most=limits.output, wanted=requested)
        fitter.lost(MAXIMUM, "limits.output", reason)
    elif limits.min_output is not None and requested < limits.min_output:
        fitter.change(MAXIMUM, limits.min_output)
        reason = because("max_tokens_raised", least=limits.min_output, wanted=requested)
        fitter.lost(MAXIMUM, "limits.min_output", reason)


def _respell(fitter: Fitter) -> None:
    """A key that the wire remembers, and this model does not take. A spelling is no loss."""
    word, spelling_read = fitter.profile.words.max_tokens, spelling_of_request(fitter)
    named, twice = spelling_read.get("named", {}), spelling_read.get("twice", {})
    spelling = None if MAXIMUM in twice else named.get(USUAL_WORD, USUAL_WORD)
    if word is not None and fitter.now(MAXIMUM) is not None and spelling != word:
        fitter.respelled["named"] = {**named, USUAL_WORD: word, MAX_KEY: word}
        fitter.respelled["twice"] = {key: how for key, how in twice.items() if key != MAXIMUM}
    if fitter.profile.words.user is False and fitter.now("user") is not None:
        fitter.drop("user", "words.user", because("no_end_user"))


def spelling_of_request(fitter: Fitter) -> dict[str, Any]:
    own_raw = (fitter.request.raw or {}).get(fitter.dialect) or {}
    return own_raw.get(FORM) or {}


def _had_no_limit(fitter: Fitter) -> bool:
    """Whether the wire that was read had no limit either: then it gets none."""
    spelling_read = spelling_of_request(fitter)
    return any(MAX_KEY in spelling_read.get(word, ()) for word in ("absent", "spelled"))


UNSTREAMED = 21_333
"""The most tokens of an answer that is not streamed: Anthropic's SDK sends no request that may take
ten minutes, which it expects of more."""
MAX_KEY = "max_tokens"
USUAL_WORD = "max_completion_tokens"
"""The key in Chat if the request was not read from a wire."""


_PLAIN: tuple[tuple[str, str], ...] = (
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("frequency_penalty", "penalties"),
    ("presence_penalty", "penalties"),
    ("repetition_penalty", "repetition_penalty"),
    ("logprobs", "logprobs"),
    ("logit_bias", "logit_bias"),
    ("seed", "seed"),
)
"""Options, and the field of a profile that decides when they are accepted."""
_NEUTRAL: dict[str, Any] = {
    "temperature": 1,
    "top_p": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "repetition_penalty": 1,
    "logit_bias": {},
}
"""Default values: equivalent to leaving the option out."""


def fit_sampling(fitter: Fitter) -> None:
    for option, field in _PLAIN:
        if fitter.now(option) is not None:
            when: When | None = getattr(fitter.profile.sampling, field)
            if when is not None and not _allowed(fitter, when, fitter.now(option)):
                _drop(fitter, option, f"sampling.{field}", _why(when))
    rules = fitter.profile.sampling
    if fitter.thinking:
        _while_thinking(fitter)
    if rules.temperature_range is not None and fitter.now("temperature") is not None:
        _within(fitter, "temperature", rules.temperature_range, "sampling.temperature_range")
    if rules.one_of is not None:
        present = [option for option in rules.one_of if fitter.now(option) is not None]
        for option in present[1:]:
            _drop(fitter, option, "sampling.one_of", because("one_of_options", other=present[0]))
    _count(fitter)
    if fitter.now("stop"):
        _stop(fitter)
    words, requested = fitter.profile.output.verbosity, fitter.now("verbosity")
    if words is not None and requested is not None and requested not in words:
        fitter.drop("verbosity", "output.verbosity", because("no_such_verbosity", wanted=requested))
    if fitter.traits.sampling_by_model:
        _spell(fitter)


def _spell(fitter: Fitter) -> None:
    """The Messages API has them no longer, but for the models that are known to take them."""
    rules = fitter.profile.sampling
    known = [option for option in _RETIRED if getattr(rules, option) not in (None, "never")]
    options = [option for option in known if fitter.now(option) is not None]
    if options:
        fitter.spelling["sampling"] = options


_RETIRED = ("temperature", "top_p", "top_k")


def _allowed(fitter: Fitter, when: When, value: Any) -> bool:
    if when == "always":
        return True
    if when == "never":
        return False
    if value == 1 and type(value) in (int, float):
        return True
    if when == "effort-none":
        return fitter.effort_none
    return when == "no-thinking" and not fitter.thinking


def _why(when: When) -> Reason:
    if when == "effort-none":
        return because("only_without_reasoning")
    if when == "no-thinking":
        return because("only_without_thinking")
    return because("model_rejects")


def _drop(fitter: Fitter, option: str, field: str, why: Reason) -> None:
    says_nothing = option in _NEUTRAL and fitter.now(option) == _NEUTRAL[option]
    severity: Severity | None = "info" if says_nothing else None
    fitter.drop(option, field, why, severity)


def _while_thinking(fitter: Fitter) -> None:
    rules = fitter.profile.sampling
    for option in ("temperature", "top_k"):
        when: When | None = getattr(rules, f"thinking_{option}")
        value = fitter.now(option)
        if when is not None and value is not None and not _allowed(fitter, when, value):
            _drop(fitter, option, f"sampling.thinking_{option}", because("only_without_thinking"))
    value, span = fitter.now("top_p"), rules.thinking_top_p
    if span is not None and value is not None and not span[0] <= value <= span[1]:
        low, high = f"{span[0]:g}", f"{span[1]:g}"
        why = because("range_while_thinking", low=low, high=high)
        _drop(fitter, "top_p", "sampling.thinking_top_p", why)


def _within(fitter: Fitter, option: str, span: tuple[float, float], field: str) -> None:
    value = fitter.now(option)
    near = min(max(value, span[0]), span[1])
    if near != value:
        fitter.change(option, near)
        reason = because(
            "option_clamped",
            option=option,
            low=f"{span[0]:g}",
            high=f"{span[1]:g}",
            value=f"{value:g}",
            near=f"{near:g}",
        )
        fitter.lost(option, field, reason)


def _count(fitter: Fitter) -> None:
    most, requested = fitter.profile.sampling.n, fitter.now("n")
    if most is None or requested is None or requested <= most:
        return
    if most > 1:
        fitter.change("n", most)
        fitter.lost("n", "sampling.n", because("too_many_answers", most=most))
    else:
        fitter.drop("n", "sampling.n", because("one_answer"))


def _stop(fitter: Fitter) -> None:
    limits, words = fitter.profile.limits, fitter.now("stop")
    if limits.stop == 0:
        fitter.drop("stop", "limits.stop", because("no_stop_sequences"))
        return
    first = words if limits.stop is None else words[: limits.stop]
    if len(first) < len(words):
        reason = because("stop_cut", most=limits.stop)
        fitter.change("stop", first)
        fitter.lost("stop", "limits.stop", reason)
    longest = limits.stop_length
    if longest is not None and any(len(word) > longest for word in first):
        short = tuple([word for word in first if len(word) <= longest])
        reason = because("stop_too_long", longest=longest)
        fitter.change("stop", short or None)
        fitter.lost("stop", "limits.stop_length", reason)
