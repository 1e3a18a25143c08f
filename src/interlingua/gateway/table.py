"""The routing table: which names lead where, and which of them lead nowhere. Nobody is asked."""

from __future__ import annotations

import os
from typing import NamedTuple

from interlingua.client.targets import Targets
from interlingua.errors import InterlinguaError
from interlingua.gateway.config import Problem
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.providers.credentials import credentials
from interlingua.providers.provider import Provider
from interlingua.providers.registry import own_path, providers


class Row(NamedTuple):
    """One line of the routing table: what a name leads to, and why that cannot be asked now."""

    name: str
    model: str
    dialect: str
    problem: str | None = None


def targets_of(settings: Settings) -> Targets:
    """Who can be asked."""
    return Targets(providers(settings.providers_file or own_path()))


def table(settings: Settings, targets: Targets | None = None) -> list[Row]:
    """The routes of a gateway, fallbacks after the model they stand in for; then every provider.
    A missing key is no error: it may be given later."""
    targets = targets or targets_of(settings)
    rows: list[Row] = []
    if settings.default_model:
        route = settings.routes.get(settings.default_model, RouteSettings(settings.default_model))
        rows += _rows("(no model named)", route, targets)
    for name, route in settings.routes.items():
        rows += _rows(name, route, targets)
    for key, each in targets.providers.items():
        spoken = ", ".join(each.dialects)
        rows.append(Row(f"{key}:…", f"any model of {key}", spoken, _unset(each)))
    return rows


def check(settings: Settings) -> list[Problem]:
    """What is wrong with settings that can be read: routes that lead nowhere."""
    try:
        targets = targets_of(settings)
    except InterlinguaError as error:
        return [Problem("providers_file", str(error))]
    problems: list[Problem] = []
    named = {f"routes.{name}": route for name, route in settings.routes.items()}
    if settings.default_model and settings.default_model not in settings.routes:
        named["default_model"] = RouteSettings(settings.default_model)
    for place, route in named.items():
        for model in (route.model, *route.fallbacks):
            try:
                found = targets.find(model, route.dialect if model == route.model else None)
            except InterlinguaError as error:
                problems.append(Problem(place, str(error)))
                continue
            if found.dialect.name not in found.provider.dialects:
                text = f"{found.provider.key} does not speak {found.dialect.name}"
                problems.append(Problem(place, text))
    return problems


def _rows(name: str, route: RouteSettings, targets: Targets) -> list[Row]:
    rows = []
    for place, model in enumerate((route.model, *route.fallbacks)):
        label = name if place == 0 else f"  then {place}"
        try:
            found = targets.find(model, route.dialect if place == 0 else None)
        except InterlinguaError as error:
            rows.append(Row(label, model, "", str(error)))
            continue
        rows.append(Row(label, found.model, found.dialect.name, _unset(found.provider)))
    return rows


def _unset(provider: Provider) -> str | None:
    try:
        credentials(provider, os.environ)
    except InterlinguaError as error:
        return str(error).partition(": ")[2]
    return None
