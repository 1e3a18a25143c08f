"""What a provider's refusal teaches: the one parameter that it names, and the rule made of it.

A text is believed only where it says that something is not taken, and names exactly one thing that
was sent. Where it says what is taken instead, that is said; else the parameter is left out. What
was asked, and what the answer is made of, is never left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from interlingua.fitting.allowed_values import AllowedValues, allowed_in
from interlingua.model.exchange import EFFORTS, Options

RULE = "learned"
_REFUSES = re.compile(
    r"(?i)unsupported|(?:does|do|is|are)(?:n[o']t| not) (?:support|allow|permit|accept)|deprecated"
    r"|unrecogni[sz]ed|unknown (?:parameter|name|field|argument)|not permitted|extra_forbidden"
    r"|extra inputs|unexpected (?:field|key|property)|no longer (?:support|accept)"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_ESSENTIAL = frozenset(
    {"model", "messages", "input", "contents", "system", "instructions", "systemInstruction"}
    | {"tools", "toolConfig", "stream", "max_tokens", "max_output_tokens", "anthropic_version"}
    | {"previous_response_id", "conversation", "prompt"}
)
"""Keys that are not left out: without them it would be another request."""
_CLAMPED = frozenset({"max_tokens", "max_output_tokens"})
"""Those of them that may be another number."""
_SECTIONS = frozenset(
    {"generationConfig", "inferenceConfig", "options", "output_config", "reasoning", "text"}
    | {"additionalModelRequestFields", "outputConfig", "thinkingConfig"}
)
"""Objects that hold options of their own."""
_CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")

Path = tuple[str, ...]


class Lesson(msgspec.Struct, frozen=True):
    """One parameter that a model refused, by its place in the body."""

    provider: str
    model: str
    dialect: str
    path: Path
    said: str
    """What the provider said about it."""
    allowed: AllowedValues = AllowedValues()
    """What it takes there; nothing: it takes no such parameter."""


def taught_by(
    text: str, wire: dict[str, Any], param: str | None = None
) -> tuple[Path, AllowedValues] | None:
    """The place of the one parameter that a refusal names, and what is allowed there."""
    allowed = allowed_in(text)
    if allowed:
        path = _named(text, [*_options(wire), *_limits(wire)], param)
        if path is not None and allowed.instead(_at(wire, path)) is not None:
            return path, allowed
    path = named_in(text, wire, param)
    return None if path is None else (path, AllowedValues())


def named_in(text: str, wire: dict[str, Any], param: str | None = None) -> Path | None:
    """The place of the one parameter that a refusal names; None where it names none, or several."""
    if not _REFUSES.search(text):
        return None
    return _named(text, list(_options(wire)), param)


def _named(text: str, places: list[Path], param: str | None) -> Path | None:
    if param is not None:
        found = {place for place in places if _is_called(place, param)}
        if len(found) == 1:
            return found.pop()
    words = set(_WORD.findall(text))
    found = {place for place in places if any(_is_called(place, word) for word in words)}
    if len(found) > 1:  # the longer name says it more exactly
        deepest = max(map(len, found))
        found = {place for place in found if len(place) == deepest}
    return found.pop() if len(found) == 1 else None


def _options(wire: dict[str, Any], before: Path = ()) -> Iterator[Path]:
    """The places of everything that may be left out."""
    for key, value in wire.items():
        if not before and key in _ESSENTIAL:
            continue
        yield (*before, key)
        if key in _SECTIONS and isinstance(value, dict):
            yield from _options(value, (*before, key))


def _limits(wire: dict[str, Any]) -> Iterator[Path]:
    return ((key,) for key in wire if key in _CLAMPED)


def _at(wire: Any, path: Path) -> Any:
    for key in path:
        wire = wire.get(key) if isinstance(wire, dict) else None
    return wire


def apply_lesson(wire: dict[str, Any], lesson: Lesson) -> dict[str, Any] | None:
    """The body as the lesson has it; None where there is nothing to mend."""
    if not lesson.allowed:
        return without(wire, lesson.path)
    said = lesson.allowed.instead(_at(wire, lesson.path))
    return None if said is None else _with(wire, lesson.path, said)


def _with(wire: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    key, *rest = path
    return {**wire, key: _with(wire[key], tuple(rest), value) if rest else value}


def _is_called(place: Path, word: str) -> bool:
    name = ".".join(map(_snake, place))
    said = ".".join(map(_snake, word.split(".")))
    return name == said or name.endswith(f".{said}")


def _snake(word: str) -> str:
    return _CAMEL.sub(lambda found: f"_{found[1]}", word).lower()


def without(wire: dict[str, Any], path: Path) -> dict[str, Any] | None:
    """The body without what stands there; None where nothing does. Objects that are empty then go
    as well."""
    key, *rest = path
    if key not in wire:
        return None
    if not rest:
        return {name: value for name, value in wire.items() if name != key}
    inner = wire[key]
    left = without(inner, tuple(rest)) if isinstance(inner, dict) else None
    if left is None:
        return None
    if not left:
        return {name: value for name, value in wire.items() if name != key}
    return {**wire, key: left}


def place_of(lesson: Lesson) -> str:
    """Where it stands in the canonical request, as losses say it."""
    name = _FIELDS.get(_snake(lesson.path[-1]), _snake(lesson.path[-1]))
    if name in Options.__struct_fields__:
        return f"$.options.{name}"
    return f"$.raw.{lesson.dialect}.{'.'.join(lesson.path)}"


_FIELDS = {
    "reasoning_effort": "reasoning",
    "thinking": "reasoning",
    "thinking_config": "reasoning",
    "effort": "reasoning",
    "stop_sequences": "stop",
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "thinking_level": "reasoning",
    "text": "verbosity",
}
_RULES: dict[str, tuple[str, Any]] = {
    **{
        name: (f"sampling.{name}", "never")
        for name in ("temperature", "top_p", "top_k", "min_p", "seed", "logit_bias", "logprobs")
    },
    "frequency_penalty": ("sampling.penalties", "never"),
    "presence_penalty": ("sampling.penalties", "never"),
    "repetition_penalty": ("sampling.repetition_penalty", "never"),
    "n": ("sampling.n", 1),
    "stop": ("limits.stop", 0),
    "reasoning": ("reasoning.carrier", "none"),
    "verbosity": ("output.verbosity", []),
    "parallel_tool_calls": ("tools.parallel_switch", "no"),
    "tool_choice": ("tools.choice", ["auto"]),
}
"""What a profile says of a model that refuses an option."""


def _said(lesson: Lesson, name: str) -> list[tuple[str, Any]]:
    """Fields of a profile that say the same, and their values."""
    allowed = lesson.allowed
    if not allowed:
        return [_RULES[name]] if name in _RULES else []
    if name == "reasoning":
        words = [each.lower() for each in allowed.words]
        known = [each for each in EFFORTS if each in words]
        return [("reasoning.efforts", known)] if known else []
    if name == "verbosity":
        return [("output.verbosity", list(allowed.words))]
    if name == "temperature" and allowed.most is not None:
        return [("sampling.temperature_range", [allowed.least or 0.0, allowed.most])]
    if name == "max_output_tokens":
        both = (("limits.output", allowed.most), ("limits.min_output", allowed.least))
        return [(field, int(value)) for field, value in both if value is not None]
    return []


def rule_of(lesson: Lesson) -> str:
    """The lesson as a rule in TOML, ready for one's own `profiles.toml`."""
    name = _FIELDS.get(_snake(lesson.path[-1]), _snake(lesson.path[-1]))
    said = _said(lesson, name)
    lines = [
        "[[rule]]",
        f"id = {_quoted(f'learned-{lesson.model}-{name}')}",
        f"models = [{_quoted(lesson.model)}]",
        f"at = [{_quoted(lesson.provider)}]",
        f"in = [{_quoted(lesson.dialect)}]",
        f"sources = [{_quoted(f'answered: {lesson.said}')}]",
        'sure = "seen"',
    ]
    if not said:
        lines.append(f"# no field speaks of {'.'.join(lesson.path)}")
    lines += [f"{field} = {msgspec.json.encode(value).decode()}" for field, value in said]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
