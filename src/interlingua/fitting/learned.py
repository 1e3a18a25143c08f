"""What a provider's refusal teaches: the one parameter that it names, and the rule made of it.

A text is believed only where it says that something is not taken, and names exactly one thing that
was sent. What was asked, and what the answer is made of, is never left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from interlingua.model.exchange import Options

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


def named_in(text: str, wire: dict[str, Any], param: str | None = None) -> Path | None:
    """The place of the one parameter that a refusal names; None where it names none, or several."""
    if not _REFUSES.search(text):
        return None
    places = list(_options(wire))
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


def _is_called(place: Path, word: str) -> bool:
    name = ".".join(map(_snake, place))
    said = ".".join(map(_snake, word.split(".")))
    return name == said or name.endswith(f".{said}")


def _snake(word: str) -> str:
    return _CAMEL.sub(lambda found: f"_{found[1].lower()}", word)


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


def rule_of(lesson: Lesson) -> str:
    """The lesson as a rule in TOML, ready for one's own `profiles.toml`."""
    name = _FIELDS.get(_snake(lesson.path[-1]), _snake(lesson.path[-1]))
    said = _RULES.get(name)
    lines = [
        "[[rule]]",
        f"id = {_quoted(f'learned-{lesson.model}-{name}')}",
        f"models = [{_quoted(lesson.model)}]",
        f"at = [{_quoted(lesson.provider)}]",
        f"in = [{_quoted(lesson.dialect)}]",
        f"sources = [{_quoted(f'answered: {lesson.said}')}]",
        'sure = "seen"',
    ]
    if said is None:
        lines.append(f"# no field speaks of {'.'.join(lesson.path)}")
    else:
        lines.append(f"{said[0]} = {msgspec.json.encode(said[1]).decode()}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
