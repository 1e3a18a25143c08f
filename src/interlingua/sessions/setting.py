"""What the two faces of a session take, in the form that its effects use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from interlingua.bus.bus import Bus
from interlingua.given import GivenOptions, Tools, options_of, registry_of
from interlingua.models.overlay import ProfileSource
from interlingua.prices.own import own_table
from interlingua.prices.table import PriceTable
from interlingua.providers.profiles import ModelLookup
from interlingua.routing.router import Router
from interlingua.sessions.core import Setting
from interlingua.sessions.defaults import default_router

Takes = ModelLookup | ProfileSource | Literal[False]
"""What models take: rules over the package's, None for those of this machine's user, or False where
nothing is fitted."""


def setting_of(
    router: Router | None = None,
    prices: PriceTable | None = None,
    tools: Tools | None = None,
    bus: Bus | None = None,
    dialects: Mapping[str, str] | None = None,
    options: GivenOptions | None = None,
    user_id: str | None = None,
    team_id: str | None = None,
    profiles: Takes = None,
) -> Setting:
    model_lookup = _lookup_of(profiles)
    return Setting(
        router or default_router(model_lookup),
        prices or own_table(),
        registry_of(tools),
        bus,
        {} if dialects is None else dialects,
        options_of(options),
        user_id,
        team_id,
        model_lookup=model_lookup,
    )


def _lookup_of(profiles: Takes) -> ModelLookup | None:
    if profiles is None or isinstance(profiles, ModelLookup):
        return profiles
    return ModelLookup(given=profiles)
