"""Short names of models: `sonnet` for the newest of its line. A user's own come first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import msgspec

from interlingua.models.names import UnknownModelError, unknown
from interlingua.models.shipped import shipped


def aliases() -> dict[str, str]:
    """Short name to model id, as the package has them."""
    return dict(_load())


def resolve(name: str, own: Mapping[str, str] | None = None) -> str:
    """The model id for a name: an alias's target, or the name itself where it is an id already."""
    if own and name in own:
        return own[name]
    if name in _load():
        return _load()[name]
    if ":" in name:
        return name
    raise _unknown(name, own)


def _unknown(name: str, own: Mapping[str, str] | None) -> UnknownModelError:
    from interlingua.models.capabilities import known_models

    known = [*(own or {}), *_load(), *known_models()]
    return unknown(name, "the aliases", known)


@cache
def _load() -> dict[str, str]:
    return msgspec.json.decode(shipped("aliases.json"), type=dict[str, str])
