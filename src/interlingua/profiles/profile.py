"""Profiles: what each model takes, folded from named rules.

A `Rule` is a partial profile with a reason: its models, its source, and its certainty. The
`Profile` of a model is the fold of all rules that match it, later ones over earlier ones, rules for
an exact name over all others. It remembers which rule is behind each field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any, Literal

import msgspec

from interlingua.profiles.fields import (
    CacheRules,
    Group,
    Instructions,
    Limits,
    MediaRules,
    OutputRules,
    ReasoningRules,
    Sampling,
    Speaks,
    ToolRules,
    Turns,
    Words,
)
from interlingua.profiles.names import NameParts, Version, name_parts

Sure = Literal["observed", "documented", "inferred"]
"""`observed`: recorded, or in a quoted error message; `documented`: in documentation, or in other
tools' data; `inferred`: from similar models."""

HOMES = {
    "anthropic": "anthropic",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "gemini": "gemini",
    "gemini-interactions": "gemini",
    "bedrock": "bedrock",
    "ollama": "ollama",
    "openrouter": "openrouter",
}
"""The provider of models if only a dialect is named."""


class ProfileFields(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """Some fields of a profile, in their groups."""

    speaks: Speaks | None = None
    sampling: Sampling | None = None
    reasoning: ReasoningRules | None = None
    tools: ToolRules | None = None
    instructions: Instructions | None = None
    turns: Turns | None = None
    output: OutputRules | None = None
    limits: Limits | None = None
    cache: CacheRules | None = None
    media: MediaRules | None = None
    words: Words | None = None

    def as_rule(self, id: str) -> Rule:
        """These fields as a rule that matches every model."""
        groups = {group: getattr(self, group) for group in GROUPS}
        return Rule(id=id, sure="documented", sources=("own",), **groups)


class Rule(ProfileFields, frozen=True, kw_only=True, rename={"dialects": "in"}):
    """Some fields, for some models. Conditions that are not there hold for all."""

    id: str
    family: str | tuple[str, ...] | None = None
    version: str | None = None
    """A range of parsed versions: `4.5`, `>=4.7`, `>=4 <4.6`. A name without a version is in none.
    """
    line: tuple[str, ...] | None = None
    """The name contains one of these words: `opus`, `mini`."""
    not_line: tuple[str, ...] | None = None
    """The name contains none of these words."""
    models: tuple[str, ...] | None = None
    """These very models, in any region and edition."""
    at: tuple[str, ...] | None = None
    """Providers."""
    dialects: tuple[str, ...] | None = None
    """Dialects that the rule is limited to."""

    since: str | None = None
    """From when on it holds, or when the sources were read."""
    sources: tuple[str, ...] = ()
    sure: Sure = "documented"
    note: str | None = None

    def __str__(self) -> str:
        return f"rule {self.id}"

    @property
    def is_of_api(self) -> bool:
        """Whether it holds for every model behind an API, and is about no model."""
        about = (self.family, self.version, self.line, self.not_line, self.models)
        return about == (None,) * 5 and (self.at, self.dialects) != (None, None)

    def matches(self, model: NameParts, provider: str | None, dialect: str | None) -> bool:
        return (
            (self.at is None or provider in self.at)
            and (self.dialects is None or dialect in self.dialects)
            and (self.family is None or _is_one(model.family, self.family))
            and (self.models is None or _is_named(model, self.models))
            and (self.line is None or not model.words.isdisjoint(self.line))
            and (self.not_line is None or model.words.isdisjoint(self.not_line))
            and (self.version is None or _in_range(model.version, self.version))
        )


class Overlay(ProfileFields, frozen=True, kw_only=True):
    """The rules that a provider's table has for all of its models."""

    like: str | None = None
    """The provider whose rules hold here too, for one that passes requests on to it."""


class Profile(msgspec.Struct, frozen=True, eq=False, repr_omit_defaults=True):
    """The rules of one model at one provider."""

    speaks: Speaks = Speaks()
    sampling: Sampling = Sampling()
    reasoning: ReasoningRules = ReasoningRules()
    tools: ToolRules = ToolRules()
    instructions: Instructions = Instructions()
    turns: Turns = Turns()
    output: OutputRules = OutputRules()
    limits: Limits = Limits()
    cache: CacheRules = CacheRules()
    media: MediaRules = MediaRules()
    words: Words = Words()
    rules: dict[str, Rule] = {}
    """`<group>.<field>` to its rule."""
    name: str | None = None
    """The model's name in the request."""
    provider: str | None = None
    dialect: str | None = None
    """The name, provider and dialect that the profile was made for, as far as they are known."""

    def rule(self, field: str) -> Rule | None:
        """The rule that set a field (`sampling.temperature`); None if there is none."""
        return self.rules.get(field)

    def subject(self, rule: Rule | None) -> str:
        """The text for `{model}` in a sentence about a rule: the API, if the rule is about that."""
        return "{to}" if rule is not None and rule.is_of_api else self.name or "the model"

    def fields(self) -> Iterator[tuple[str, Any, Rule]]:
        """Every field that is set: its path, its value, and the rule behind it."""
        for place, rule in self.rules.items():
            group, _, field = place.partition(".")
            yield place, getattr(getattr(self, group), field), rule

    def overlaid(self, rules: Iterable[Rule]) -> Profile:
        """This profile with rules laid over it, for any models."""
        over = fold(rules)
        changed = {place.partition(".")[0] for place in over.rules}
        groups = {group: _merged(getattr(self, group), getattr(over, group)) for group in changed}
        return msgspec.structs.replace(self, **groups, rules={**self.rules, **over.rules})

    def __bool__(self) -> bool:
        """Whether any field is set."""
        return bool(self.rules)


GROUPS: dict[str, type[Group]] = {
    name: type(default)
    for name, default in zip(Profile.__struct_fields__, Profile.__struct_defaults__, strict=True)
    if isinstance(default, Group)
}


def profile_of(model: str, provider: str | None = None, dialect: str | None = None) -> Profile:
    """What a model accepts, by the package's own rules. `model` is its name on the wire; without a
    provider, the provider whose own dialect it is."""
    return bundled().of(model, provider, dialect)


class Profiles:
    """Rules in layers, and the profiles they merge to. In a layer, rules for exact names override
    all others; later layers override earlier ones."""

    def __init__(self, *layers: Iterable[Rule], known: bool = False) -> None:
        """With `known`, the first rule is the model's entry in the list of capabilities."""
        self.layers = tuple(tuple(layer) for layer in layers)
        self._ordered = tuple(
            rule for layer in self.layers for rule in sorted(layer, key=_is_exact)
        )
        self._known = known
        self.of = lru_cache(2048)(self._of)
        """The profile of a model: its name on the wire, a provider, a dialect."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for layer in self.layers for rule in layer)

    def _of(self, model: str, provider: str | None = None, dialect: str | None = None) -> Profile:
        parts, at = name_parts(model), provider or HOMES.get(dialect or "")
        matching = [rule for rule in self._ordered if rule.matches(parts, at, dialect)]
        known = _known_rule(model, at) if self._known else None
        return fold([known, *matching] if known else matching, model, at, dialect)

    def overlaid(self, rules: Iterable[Rule]) -> Profiles:
        """These with others laid over them."""
        return Profiles(*self.layers, rules, known=self._known)


def _is_exact(rule: Rule) -> bool:
    return rule.models is not None


def fold(
    rules: Iterable[Rule],
    name: str | None = None,
    provider: str | None = None,
    dialect: str | None = None,
) -> Profile:
    """One profile of rules, later ones over earlier ones."""
    values: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    by: dict[str, Rule] = {}
    for rule in rules:
        for group, fields in values.items():
            for field, value in _set_fields(getattr(rule, group)):
                fields[field] = value
                by[f"{group}.{field}"] = rule
    made: dict[str, Any] = {group: GROUPS[group](**fields) for group, fields in values.items()}
    return Profile(**made, rules=by, name=name, provider=provider, dialect=dialect)


def _merged(under: Group, over: Group) -> Group:
    return msgspec.structs.replace(under, **dict(_set_fields(over)))


def _set_fields(group: Group | None) -> Iterator[tuple[str, Any]]:
    if group is None:
        return
    for field in group.__struct_fields__:
        value = getattr(group, field)
        if value is not None:
            yield field, value


def _is_one(word: str, of: str | tuple[str, ...]) -> bool:
    return word == of if isinstance(of, str) else word in of


def _is_named(model: NameParts, names: tuple[str, ...]) -> bool:
    """Whether the model is one of these; a name with a variant (`qwen3:8b`) stands only for that
    variant."""
    named = _named(names)
    return (model.name, None) in named or (model.name, model.variant) in named


@lru_cache(1024)
def _named(names: tuple[str, ...]) -> frozenset[tuple[str, str | None]]:
    return frozenset((parts.name, parts.variant) for parts in map(name_parts, names))


_BOUND = re.compile(r"(>=|<=|>|<)?(\d+)(?:\.(\d+))?")


def check_range(text: str | None) -> None:
    """ValueError if a range of versions is invalid."""
    if text is not None:
        _bounds(text)


def _in_range(version: Version | None, text: str) -> bool:
    return version is not None and all(_holds(version, *bound) for bound in _bounds(text))


@cache
def _bounds(text: str) -> tuple[tuple[str, Version], ...]:
    """The parts of a range; ValueError if it is invalid."""
    found = [_BOUND.fullmatch(part) for part in text.split()]
    if not found or None in found:
        raise ValueError(f"a range of versions is like '>=4.5 <5', found {text!r}")
    return tuple((each[1] or "=", (int(each[2]), int(each[3] or 0))) for each in found if each)


def _holds(version: Version, sign: str, bound: Version) -> bool:
    match sign:
        case ">=":
            return version >= bound
        case "<=":
            return version <= bound
        case ">":
            return version > bound
        case "<":
            return version < bound
        case _:
            return version == bound


@cache
def bundled() -> Profiles:
    """The package's own rules."""
    from interlingua.profiles.reading import bundled_rules

    return Profiles(bundled_rules(), known=True)


def _known_rule(model: str, provider: str | None) -> Rule | None:
    from interlingua.profiles.capabilities import known_rule

    return known_rule(model, provider)
