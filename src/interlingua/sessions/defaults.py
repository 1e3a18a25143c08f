"""Routing for a session that was given none: every model of every provider that we know."""

from __future__ import annotations

from functools import cache

from interlingua.models.aliases import aliases
from interlingua.models.capabilities import Capabilities, known_models, providers
from interlingua.models.resolving import known_names
from interlingua.providers.profiles import ModelLookup, lookup_here
from interlingua.routing.registry import ModelEntry, Registry, is_model_id, provider_of
from interlingua.routing.router import Router

LOCAL = "local:smollm2-135m-instruct"
"""The model that is there when nothing else is configured."""


class OpenRegistry(Registry):
    """A model that is not in our lists is still one of its provider's: users have names of their
    own, and new models appear."""

    def _named(self, name: str) -> str | None:
        return known_names(self.more_providers).find(name)

    @property
    def more_providers(self) -> tuple[str, ...]:
        """Providers that only the user has."""
        return ()

    def __contains__(self, model: object) -> bool:
        if super().__contains__(model):
            return True
        known = isinstance(model, str) and is_model_id(model)
        return known and provider_of(str(model)) in providers()


def lookup(model: str) -> Capabilities:
    """What a model can do, by the user's rules too; of one that nobody has described, what may be
    hoped for: that is how it is written to as well."""
    return lookup_here().capabilities(model)


@cache
def registry() -> Registry:
    by_model: dict[str, list[str]] = {}
    for alias, model in aliases().items():
        by_model.setdefault(model, []).append(alias)
    return OpenRegistry(
        ModelEntry(id=model, aliases=tuple(by_model.get(model, ()))) for model in known_models()
    )


def default_router(model_lookup: ModelLookup | None = None) -> Router:
    """One that knows all models, and falls back to the local one."""
    can = lookup if model_lookup is None else model_lookup.capabilities
    return Router(registry(), can, global_default=LOCAL)
