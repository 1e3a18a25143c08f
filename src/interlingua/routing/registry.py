"""The models that are configured, by id and by short name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Literal

import msgspec

from interlingua.model.base import check_words
from interlingua.model.tools import SideEffects
from interlingua.profiles.names import AmbiguousModelError, nearest
from interlingua.profiles.resolving import Names
from interlingua.routing.decision import AmbiguousAliasError, RegistryError, UnknownAliasError

Tier = Literal["fast", "balanced", "deep"]


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One model. `id` is `<provider>:<name>`; the name may itself hold colons and slashes."""

    id: str
    adapter: str | None = None
    """The dialect or adapter for it; the provider's own, when None."""
    wire_name: str | None = None
    """Its name on the wire, if that differs from the name in its id."""
    tier: Tier = "balanced"
    can_delegate: bool = False
    """Whether work may be delegated to it."""
    aliases: tuple[str, ...] = ()
    side_effects: tuple[SideEffects, ...] | None = None
    """The side effects allowed in turns of this model; None allows all."""

    def __post_init__(self) -> None:
        check_words(self)


def is_model_id(text: str) -> bool:
    """Whether this has the form of a model id."""
    provider, colon, name = text.partition(":")
    return bool(provider and colon and name) and text.split() == [text]


def provider_of(model: str) -> str:
    return model.partition(":")[0]


def name_of(model: str) -> str:
    return model.partition(":")[2]


class Registry:
    """Immutable: each id once, each alias once, and no alias that is also an id."""

    def __init__(self, entries: Iterable[ModelEntry] = ()) -> None:
        self.entries: dict[str, ModelEntry] = {}
        self.aliases: dict[str, str] = {}
        self.trusted: Mapping[str, frozenset[SideEffects]] = {}
        """The side effects allowed in turns of a model or a provider, in addition to those of
        entries."""
        for entry in entries:
            if not is_model_id(entry.id):
                raise RegistryError(f"model {entry.id!r}: an id is <provider>:<name>")
            if entry.id in self.entries:
                raise RegistryError(f"model {entry.id} is listed twice")
            self.entries[entry.id] = entry
            for alias in entry.aliases:
                self._add(alias, entry.id)
        for alias in self.aliases.keys() & self.entries.keys():
            raise RegistryError(f"alias {alias!r} is also the id of a model")

    @classmethod
    def of(cls, models: Iterable[str], aliases: Mapping[str, str] | None = None) -> Registry:
        """Models by id alone, and a table of short names."""
        plain = cls(ModelEntry(id=model) for model in models)
        return plain.with_aliases(aliases or {})

    def with_aliases(self, aliases: Mapping[str, str]) -> Registry:
        """A copy with more short names, as from a rules file. They may lead to models that are
        not configured: routing reports that when it gets there. An id stays an id."""
        new = copy(self)
        new.aliases = dict(self.aliases)
        for alias, model in aliases.items():
            if new.aliases.get(alias, model) != model:
                del new.aliases[alias]  # the user's own word for it wins
            new._add(alias, model)
        return new

    def trusting(self, trusted: Mapping[str, frozenset[SideEffects]]) -> Registry:
        """A copy in which these models and providers may use only tools with these effects."""
        new = copy(self)
        new.trusted = trusted
        return new

    def allowed_effects(self, model: str) -> frozenset[SideEffects] | None:
        """The side effects allowed in turns of this model, by every limit; None allows all."""
        entry = self.entries.get(model)
        named = [self.trusted.get(model), self.trusted.get(provider_of(model))]
        if entry is not None and entry.side_effects is not None:
            named.append(frozenset(entry.side_effects))
        limits = [each for each in named if each is not None]
        return frozenset.intersection(*limits) if limits else None

    def _add(self, alias: str, model: str) -> None:
        problem = alias_problem(alias)
        if problem is not None:
            raise RegistryError(f"alias {alias!r}: {problem}")
        if self.aliases.get(alias, model) != model:
            raise RegistryError(f"alias {alias!r} stands for {self.aliases[alias]} and for {model}")
        self.aliases[alias] = model

    def resolve(self, name: str) -> str | None:
        """The id for a name: a configured model, an alias, or another name of one of the models."""
        try:
            return self._find(name)
        except AmbiguousModelError:
            return None

    def require(self, name: str, hint: str = "") -> str:
        """The same, or an error with the names that come near."""
        try:
            model = self._find(name)
        except AmbiguousModelError as several:
            raise AmbiguousAliasError(name, several.near, hint) from None
        if model is None:
            raise UnknownAliasError(name, self.near(name), hint)
        return model

    def near(self, name: str) -> list[str]:
        """Names that are similar to an unknown one."""
        return nearest(name, [*self.aliases, *self.entries])

    def _find(self, name: str) -> str | None:
        if name in self.entries:
            return name
        if name in self.aliases:
            return self.aliases[name]
        found = self._named(name)
        return found if found in self else None

    def _named(self, name: str) -> str | None:
        """The id that a name without its provider means; only models that are configured count."""
        return Names(self.entries).find(name)

    def __contains__(self, model: object) -> bool:
        return model in self.entries


def alias_problem(alias: str) -> str | None:
    """Why this cannot be an alias: it has to fit behind an `@`, and after `/model`."""
    if not alias or any(mark.isspace() for mark in alias):
        return "it is empty or has spaces"
    if alias in ("-", "show") or alias.startswith("@"):
        return "it means something else after /model or @"
    return None
