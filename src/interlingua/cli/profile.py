"""`interlingua models ID --profile`: what a model takes, with the rule behind each field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from interlingua.cli.terminal import Column, put_json, show_table
from interlingua.models.resolving import resolve
from interlingua.providers.profiles import lookup_here

if TYPE_CHECKING:
    from interlingua.models.profile import Profile, Rule

COLUMNS = [
    Column("field", "cyan"),
    Column("value", shrink=True),
    Column("rule", "yellow"),
    Column("sure", wide=80),
    Column("since", "dim", wide=100),
    Column("sources", "dim", shrink=True, wide=120),
]

LONGEST = 60
"""Letters of a value."""


def show_profile(name: str | None, dialect: str | None, as_json: bool) -> None:
    """Print the profile of a model id or an alias."""
    if name is None:
        raise click.UsageError("--profile needs a model: <provider>:<name>, or an alias")
    id = resolve(name)
    models = lookup_here()
    spoken = dialect or models.dialect(id)
    profile = models.known_profile(id, spoken)
    if as_json:
        put_json({"model": id, "dialect": spoken, **profile_dict(profile)})
        return
    if not profile:
        click.echo(f"No rule speaks of {id}: requests are written as they are.", err=True)
        return
    show_table(COLUMNS, rows(profile))
    click.echo(f"{id}, asked in {spoken}", err=True)


def rows(profile: Profile) -> list[list[str]]:
    """A line for each field, group by group."""
    return [
        [
            field,
            text(value),
            rule.id,
            rule.sure,
            rule.since or "",
            ", ".join(rule.sources),
        ]
        for field, value, rule in _ordered(profile)
    ]


def _ordered(profile: Profile) -> list[tuple[str, Any, Rule]]:
    from interlingua.models.profile import GROUPS

    order = list(GROUPS)
    return sorted(profile.fields(), key=lambda said: (order.index(said[0].split(".")[0]), said[0]))


def text(value: Any) -> str:
    """A value in a line; a long list is cut short, since the JSON has all of it."""
    plain = msgspec.to_builtins(value)
    match plain:
        case bool():
            return "yes" if plain else "no"
        case (int() | float() as least, int() | float() as most):
            return f"{least:g} to {most:g}" if most < 1e6 else f"from {least:g}"
        case list() | tuple():
            return _cut(", ".join(map(str, plain)) or "none")
        case dict():
            return _cut(", ".join(f"{key} {item}" for key, item in plain.items()))
        case _:
            return str(plain)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def profile_dict(profile: Profile) -> dict[str, Any]:
    """The same for machines."""
    groups: dict[str, dict[str, Any]] = {}
    behind: dict[str, Any] = {}
    for place, value, rule in _ordered(profile):
        group, _, field = place.partition(".")
        groups.setdefault(group, {})[field] = value
        behind[place] = {
            name: getattr(rule, name) for name in ("id", "sure", "since", "sources", "note")
        }
    return {"profile": groups, "rules": behind}
