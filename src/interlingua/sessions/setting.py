"""The setting of a session, and the default routing: every model of every known provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypedDict, Unpack

from interlingua.adapt.caching import Caching, require_caching
from interlingua.adapt.history.retell import require_instructions
from interlingua.adapt.target import Instructions
from interlingua.coerce import OptionsLike, Tools, as_options, as_registry
from interlingua.costs.table import PriceTable, own_table
from interlingua.events.bus import Bus
from interlingua.model.exchange import Options
from interlingua.profiles.capabilities import Capabilities, known_models, providers
from interlingua.profiles.overlay import ProfileSource
from interlingua.profiles.resolving import aliases, known_names
from interlingua.providers.profiles import ModelLookup, lookup_here
from interlingua.routing.registry import ModelEntry, Registry, is_model_id, provider_of
from interlingua.routing.router import Router
from interlingua.sessions.pruning import MOST_BYTES
from interlingua.tools.registry import ToolRegistry

LOCAL = "local:smollm2-135m-instruct"
"""The model that is used when nothing else is configured."""


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
    """The capabilities of a model, by the user's rules too; for an unknown one, the expected
    ones."""
    return lookup_here().capabilities(model)


@cache
def registry() -> Registry:
    by_model: dict[str, list[str]] = {}
    for alias, model in aliases().items():
        by_model.setdefault(model, []).append(alias)
    return OpenRegistry(
        ModelEntry(id=model, aliases=tuple(by_model.get(model, ())), can_delegate=True)
        for model in known_models()
    )


def default_router(model_lookup: ModelLookup | None = None) -> Router:
    """A router with all known models, which falls back to the local one."""
    can = lookup if model_lookup is None else model_lookup.capabilities
    return Router(registry(), can, global_default=LOCAL)


@dataclass
class Setting:
    """The parts that a session works with; each may be shared by many sessions."""

    router: Router = field(default_factory=default_router)
    prices: PriceTable | None = None
    tools: ToolRegistry | None = None
    bus: Bus | None = None
    dialects: Mapping[str, str] = field(default_factory=dict)
    """Model or provider to its dialect, where that is not the default one."""
    options: Options | None = None
    """For every request of the session, where the request has none of its own."""
    user_id: str | None = None
    team_id: str | None = None
    gateway_key_id: str | None = None
    most_raw: int | None = MOST_BYTES
    """Bytes of `provider_raw` stored with one answer; None is all."""
    model_lookup: ModelLookup | None = None
    """A lookup in place of the package's rules and this machine's configuration."""
    instructions: Instructions = "place"
    """Whether instructions in mid-conversation stay there, or are moved to the front."""
    caching: Caching = "auto"
    """Whether cache breakpoints and keys are added to requests, left as they are, or dropped."""
    is_worker: bool = False
    """Whether another session's model handed it the work."""
    alone: bool = False
    """No other program appends to the session while it is open here. A program that finds
    appended messages has lost the session, and appends nothing (`ConflictError`)."""


class SessionSettings(TypedDict, total=False):
    """The settings of `create` and `open` besides name and place."""

    tools: Tools | None
    """Python functions, `il.ToolDefinition`, or a registry of them."""
    options: OptionsLike | None
    """`il.Options` or a dict (`{"temperature": 0}`)."""
    router: Router | None
    prices: PriceTable | None
    bus: Bus | None
    dialects: Mapping[str, str] | None
    """Model or provider to its dialect, where that is not the default one."""
    user_id: str | None
    team_id: str | None
    profiles: ModelLookup | ProfileSource | Literal[False]
    """Rules of what models accept, on top of the package's; None for those of this machine's user,
    or False to adapt requests to none."""
    instructions: Instructions
    """With `hoist`, later instructions are moved to the front."""
    caching: Caching
    """`auto` adds cache breakpoints and keys where requests have none; `pass`, `off`."""


def setting_of(**settings: Unpack[SessionSettings]) -> Setting:
    instructions = settings.get("instructions", "place")
    require_instructions(instructions)
    profiles, dialects = settings.get("profiles"), settings.get("dialects")
    if not (profiles is None or isinstance(profiles, ModelLookup)):
        profiles = ModelLookup(source=profiles)
    return Setting(
        settings.get("router") or default_router(profiles),
        settings.get("prices") or own_table(),
        as_registry(settings.get("tools")),
        settings.get("bus"),
        {} if dialects is None else dialects,
        as_options(settings.get("options")),
        settings.get("user_id"),
        settings.get("team_id"),
        model_lookup=profiles,
        instructions=instructions,
        caching=require_caching(settings.get("caching", "auto")),
    )
