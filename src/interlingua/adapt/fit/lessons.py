"""Learns a rule for one parameter from a provider's refusal, and applies such rules to bodies.

A text is used only if it states that something is not accepted, and names exactly one option that
was sent. The text itself is not stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from interlingua.model.exchange import EFFORTS, Options

_RANGED = frozenset(
    {"temperature", "top_p", "p", "top_k", "k", "min_p", "typical_p"}
    | {"frequency_penalty", "presence_penalty", "repetition_penalty", "repeat_penalty"}
)
"""Numbers that cost nothing: they may be moved into the range that the provider allows."""
_ANSWERS = frozenset({"n", "candidate_count"})
_LOWERED = _ANSWERS | {
    *("max_tokens", "max_output_tokens", "max_completion_tokens", "num_predict"),
    *("thinking_budget", "top_logprobs", "logprobs"),
}
"""Whole numbers that may only become smaller."""
_LEVELS: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("reasoning_effort", "effort", "thinking_level"), (EFFORTS, "high")),
    "verbosity": (("low", "medium", "high"), "medium"),
}
"""Levels, lowest first, which may only become lower; and the highest one that a provider has as its
default (Anthropic's effort, Gemini 3's thinking level, OpenAI's verbosity; documentation, 2026-11).
Leaving out that one or a higher one asks for no more."""
_LEFT_OUT = _RANGED | {
    *("seed", "random_seed", "logit_bias", "logprobs", "top_logprobs", "response_logprobs")
}
"""Options that may be left out, with any value."""

Replacement: TypeAlias = Any | UnsetType | None
"""The new value; UNSET leaves the parameter out, None changes nothing."""


def replacement(name: str, value: Any, allowed: AllowedValues) -> Replacement:
    """The value that replaces a refused one; `name` is in snake case."""
    if not allowed:
        return UNSET if _may_leave_out(name, value) else None
    if name in _LEVELS:
        return _lower_level(_LEVELS[name][0], value, allowed.words)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if name in _LOWERED:
        # A smaller number, but at least 1: 0 and -1 mean "no limit" to some providers
        return int(allowed.most) if allowed.most is not None and 1 <= allowed.most < value else None
    return _in_range(value, allowed) if name in _RANGED else None


def worth_remembering(name: str, allowed: AllowedValues) -> AllowedValues:
    """The part of the allowed values that is stored: our own levels and bounds, no other text."""
    if name in _LEVELS:
        return AllowedValues(tuple(each for each in _LEVELS[name][0] if each in allowed.words))
    if name in _LOWERED:
        return AllowedValues((), None, allowed.most)
    return AllowedValues((), allowed.least, allowed.most) if name in _RANGED else NOTHING


def _may_leave_out(name: str, value: Any) -> bool:
    if name in _LEVELS:
        levels, default = _LEVELS[name]
        level = value.lower() if isinstance(value, str) else None
        return level in levels[levels.index(default) :]
    if name in _ANSWERS:  # the default is one
        return isinstance(value, int) and value >= 1
    if name == "parallel_tool_calls":  # the default is true
        return value is True
    return name in _LEFT_OUT


def _lower_level(levels: tuple[str, ...], value: Any, allowed: tuple[str, ...]) -> str | None:
    """The next lower level that is allowed, in the case of the old one."""
    level = value.lower() if isinstance(value, str) else None
    if level not in levels or level in allowed:
        return None
    lower = [each for each in levels[: levels.index(level)] if each in allowed]
    if not lower:
        return None
    return lower[-1].upper() if value.isupper() else lower[-1]


def _in_range(value: float, allowed: AllowedValues) -> float | None:
    near = value
    if allowed.most is not None:
        near = min(near, allowed.most)
    if allowed.least is not None:
        near = max(near, allowed.least)
    if near == value:
        return None
    return int(near) if isinstance(value, int) and near == int(near) else near


_NUMBER = r"(-?\d[\d,_]*(?:\.\d+)?)"
_LIST = re.compile(
    r"(?i)(?<![a-z])(?:must be one of|should be one of|expected one of"
    r"|(?:supported|allowed|valid|accepted) (?:values?|levels?|options?)(?: are| is)?"
    r"|(?:input )?should be|must be(?: either)?)\s*:?\s*"
    r"(?P<words>[\[({]?\s*['\"`]?[a-z][\w.-]*['\"`]?"
    r"(?:\s*(?:,\s*(?:and|or)?|and|or|\|)\s*['\"`]?[a-z][\w.-]*['\"`]?)*)"
)
"""Names of levels: 'low', 'medium' or 'high'."""
_SPLIT = re.compile(r"\s*(?:,\s*(?:and |or )?|\band\b|\bor\b|\|)\s*")
_RANGES = (
    re.compile(rf"(?i)between {_NUMBER} and {_NUMBER}"),
    re.compile(
        rf"(?i)range:? (?:is |of |from )*{_NUMBER}(?: \(inclusive\))? ?(?:to|\.\.|-) ?{_NUMBER}"
    ),
    re.compile(rf"(?i)in (?:the range )?\[{_NUMBER}, ?{_NUMBER}\]"),
)
_EXCLUSIVE = re.compile(r"(?i)\(exclusive\)")
_MOST = re.compile(
    r"(?i)(?:maximum(?: allowed)?(?: value)?(?: for \S+| of \S+)?(?: is| of)?|at most|up to"
    r"|less than or equal to|no more than|not exceed|<=|≤)"
    rf"\s*:?\s*{_NUMBER}"
)
_OVER = re.compile(rf"{_NUMBER} > {_NUMBER}")
_LEAST = re.compile(
    r"(?i)(?:minimum(?: allowed)?(?: value)?(?: for \S+| of \S+)?(?: is| of)?|at least"
    rf"|greater than or equal to|no less than|>=|≥)\s*:?\s*{_NUMBER}"
)
_LONGEST = 2000
"""Characters of a text that are looked at."""


class AllowedValues(msgspec.Struct, frozen=True, omit_defaults=True):
    """Either names of levels, or the bounds of a number."""

    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def __bool__(self) -> bool:
        return bool(self.words) or self.least is not None or self.most is not None


NOTHING = AllowedValues()


def allowed_in(text: str) -> AllowedValues:
    """The allowed values that a text names, in lower case; empty if it names none."""
    text = text[:_LONGEST]
    found = _LIST.search(text)
    if found is not None:
        words = [each.strip("[]({})'\"` .").lower() for each in _SPLIT.split(found["words"])]
        distinct = tuple(dict.fromkeys(each for each in words if each))
        if len(distinct) > 1 or _is_quoted(found["words"]):
            return AllowedValues(distinct)
    least, most = _bounds(text)
    return AllowedValues((), least, most)


def _is_quoted(words: str) -> bool:
    return words.lstrip("[({ ")[:1] in "'\"`"


def _bounds(text: str) -> tuple[float | None, float | None]:
    for pattern in _RANGES:
        if found := pattern.search(text):
            most = _number(found[2])
            return _number(found[1]), _below(most) if _EXCLUSIVE.search(text) else most
    if found := _OVER.search(text):
        return None, _number(found[2])
    most_of, least_of = _MOST.search(text), _LEAST.search(text)
    least = _number(least_of[1]) if least_of else None
    return least, _number(most_of[1]) if most_of else None


def _below(most: float | None) -> float | None:
    """The last number in front of one that is not allowed itself."""
    if most is None:
        return None
    return most - 1 if most == int(most) and most > 100 else float(int(most))


def _number(text: str) -> float | None:
    number = float(text.replace(",", "").replace("_", ""))
    return number if math.isfinite(number) else None


RULE = "learned"
_REFUSES = re.compile(
    r"(?i)unsupported|(?:does|do|is|are)(?:n[o']t| not) (?:support|allow|permit|accept)|deprecated"
    r"|unrecogni[sz]ed|unknown (?:parameter|name|field|argument)|not permitted|extra_forbidden"
    r"|extra inputs|unexpected (?:field|key|property)|no longer (?:support|accept)"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_ESSENTIAL = frozenset(
    {"model", "messages", "input", "contents", "system", "instructions", "systemInstruction"}
    | {"tools", "toolConfig", "stream", "anthropic_version"}
    | {"previous_response_id", "conversation", "prompt"}
)
"""Keys that are no options. Refusals mention them in passing: "this model", "your input"."""
_SECTIONS = frozenset(
    {"generationConfig", "generation_config", "inferenceConfig", "options", "output_config"}
    | {"reasoning", "text", "additionalModelRequestFields", "outputConfig", "thinkingConfig"}
)
"""Objects that hold options of their own."""
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_PIECE = re.compile(r"[a-z_][\w]*|\d[\d,_.]*|\S")
_QUIET = frozenset("'\"`.,:;!()[]{}")
"""Punctuation between words."""
_REFUSING = """a an and api are argument at by cannot deprecated does error extra extra_forbidden
field find for forbidden in inputs invalid is it json longer model name no not parameter payload
permitted property received supplied support supported that the this unexpected unknown unrecognised
unrecognized unsupported with"""
_BOUNDING = """above allowed be because below between but completion either equal exceed exceeds
exclusive expected from got greater has inclusive instead integer large less level levels limit max
maximum min minimum more most must number of one only or output range should small supports than to
token tokens too unable up validation value values which > < = - |"""
_GENERAL = frozenset(_REFUSING.split())
"""The words of a sentence about every request with the parameter, beside the parameter's and the
model's name."""
_GENERAL_VALUES = _GENERAL.union(_BOUNDING.split(), EFFORTS)
"""The same for a sentence about the values that are allowed."""
_SET_PHRASES = re.compile(r"request (?=argument)|submit request ")
"""Phrases in which "request" does not mean the one that was sent."""
_DEEPEST = 3
"""Keys in the path of an option."""

Path = tuple[str, ...]
Members = dict[str, Raw]
"""A JSON object whose values have not been looked at."""


class Lesson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter that a model refused, by its place in the body."""

    provider: str
    model: str
    dialect: str
    path: Path
    allowed: AllowedValues = NOTHING
    """The values that it accepts there; nothing: it does not accept the parameter."""

    @property
    def name(self) -> str:
        return _snake(self.path[-1])


class Refused(NamedTuple):
    """The parameter that a refusal is about."""

    path: Path
    allowed: AllowedValues
    is_general: bool
    """Whether every request to the model would be refused alike, not only those with this value or
    beside some other parameter."""


def members_of(body: bytes | Raw) -> Members | None:
    """The members of a JSON object, unparsed; None for anything else."""
    try:
        return msgspec.json.decode(body, type=Members)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def refused_in(text: str, body: Members, model: str, param: str | None = None) -> Refused | None:
    """The one parameter that a refusal names, where it may be changed."""
    options = dict(_options(body))
    path = _named(text, options, param)
    if path is None:
        return None
    name, value = _snake(path[-1]), _value(options[path])
    for allowed in (allowed_in(text), NOTHING):
        if not allowed and not _REFUSES.search(text):
            continue
        if replacement(name, value, allowed) is not None:
            return Refused(
                path, worth_remembering(name, allowed), _is_general(text, path, model, allowed)
            )
    return None


def _named(text: str, paths: Iterable[Path], param: str | None) -> Path | None:
    for names in ([param] if param is not None else [], _WORD.findall(text)):
        dotted = {_dotted(name.split(".")) for name in names}
        found = [path for path in paths if _is_called(path, dotted)]
        deepest = max(map(len, found), default=0)  # the longer name is the more exact one
        found = [path for path in found if len(path) == deepest]
        if len(found) == 1:
            return found[0]
    return None


def _options(body: Members, before: Path = ()) -> Iterator[tuple[Path, Raw]]:
    """Everything that was sent beside the conversation."""
    for key, value in body.items():
        if not before and key in _ESSENTIAL:
            continue
        yield (*before, key), value
        is_section = key in _SECTIONS and len(before) + 1 < _DEEPEST
        if is_section and (inner := members_of(value)) is not None:
            yield from _options(inner, (*before, key))


def _is_general(text: str, path: Path, model: str, allowed: AllowedValues) -> bool:
    """Whether a text states only that the parameter, or its value, is not accepted. A list of
    known words decides: any other word may be a condition."""
    known = _GENERAL_VALUES if allowed else _GENERAL
    text = re.sub(rf"(?<!\w){re.escape(model)}(?!\w)", "model", text) if model else text
    text = _SET_PHRASES.sub("", text.lower())
    names = {part.lower().replace("_", "") for part in path}
    for piece in _PIECE.findall(text):
        is_number = bool(allowed) and piece[0].isdigit()
        if not (piece in known or piece.replace("_", "") in names or piece in _QUIET or is_number):
            return False
    return True


def repaired(body: Members, lessons: Iterable[Lesson]) -> tuple[Members, list[Lesson]]:
    """The body changed by all lessons, and those that had something to change."""
    used = []
    for lesson in lessons:
        new = _changed(body, lesson.path, lesson)
        if new is not None:
            body = new
            used.append(lesson)
    return body, used


def _changed(body: Members, path: Path, lesson: Lesson) -> Members | None:
    """The body with one parameter replaced; objects that become empty go as well."""
    key, *rest = path
    if key not in body:
        return None
    new: Replacement
    if rest:
        inner = members_of(body[key])
        new = None if inner is None else _changed(inner, tuple(rest), lesson)
        new = UNSET if new == {} else new
    else:
        new = replacement(lesson.name, _value(body[key]), lesson.allowed)
    if new is None:
        return None
    if new is UNSET:
        return {name: value for name, value in body.items() if name != key}
    return {**body, key: Raw(msgspec.json.encode(new))}


def _value(raw: Raw) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _is_called(path: Path, names: Container[str]) -> bool:
    return any(_dotted(path[start:]) in names for start in range(len(path)))


def _dotted(path: Iterable[str]) -> str:
    return ".".join(map(_snake, path))


def _snake(word: str) -> str:
    return _CAMEL.sub(lambda found: f"_{found[1]}", word).lower()


def place_of(lesson: Lesson) -> str:
    """Its path in the canonical request, for loss reports."""
    name = _FIELDS.get(lesson.name, lesson.name)
    if name in Options.__struct_fields__:
        return f"$.options.{name}"
    return f"$.raw.{lesson.dialect}.{'.'.join(lesson.path)}"


_FIELDS: Mapping[str, str] = {
    "reasoning_effort": "reasoning",
    "effort": "reasoning",
    "thinking_level": "reasoning",
    "thinking_budget": "reasoning",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "num_predict": "max_output_tokens",
    "candidate_count": "n",
    "random_seed": "seed",
    "top_logprobs": "logprobs",
    "response_logprobs": "logprobs",
    "repeat_penalty": "repetition_penalty",
    "p": "top_p",
    "k": "top_k",
}
_RULES: Mapping[str, tuple[str, Any]] = {
    **{
        name: (f"sampling.{name}", "never")
        for name in ("temperature", "top_p", "top_k", "min_p", "seed", "logit_bias", "logprobs")
    },
    "frequency_penalty": ("sampling.penalties", "never"),
    "presence_penalty": ("sampling.penalties", "never"),
    "repetition_penalty": ("sampling.repetition_penalty", "never"),
    "n": ("sampling.n", 1),
    "reasoning": ("reasoning.carrier", "none"),
    "verbosity": ("output.verbosity", []),
    "parallel_tool_calls": ("tools.parallel_switch", "no"),
}
"""The field of a profile for a model that refuses an option, and its value."""


def _rule(lesson: Lesson, name: str) -> tuple[str, Any] | None:
    allowed = lesson.allowed
    if not allowed:
        return _RULES.get(name)
    if name == "reasoning" and allowed.words:
        return "reasoning.efforts", list(allowed.words)
    if name == "verbosity":
        return "output.verbosity", list(allowed.words)
    if name == "temperature" and allowed.most is not None:
        return "sampling.temperature_range", [allowed.least or 0.0, allowed.most]
    if name == "max_output_tokens" and allowed.most is not None:
        return "limits.output", int(allowed.most)
    return None


def rule_of(lesson: Lesson) -> str:
    """The lesson as a rule in TOML, ready for the user's `profiles.toml`."""
    name = _FIELDS.get(lesson.name, lesson.name)
    rule = _rule(lesson, name)
    lines = [
        "[[rule]]",
        f"id = {_quoted(f'learned-{lesson.model}-{name}')}",
        f"models = [{_quoted(lesson.model)}]",
        f"at = [{_quoted(lesson.provider)}]",
        f"in = [{_quoted(lesson.dialect)}]",
        'sources = ["refused by the provider, seen by the gateway"]',
        'sure = "observed"',
    ]
    if rule is None:
        lines.append(f"# no field describes {'.'.join(lesson.path)}")
    else:
        lines.append(f"{rule[0]} = {_quoted(rule[1])}")
    return "\n".join(lines)


def _quoted(value: Any) -> str:
    return msgspec.json.encode(value).decode()
