"""Rules from TOML: those of the package, and a user's, which have the same form."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import msgspec

from interlingua.models.profile import Rule


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[Rule, ...] = ()
    read: str | None = None
    """When the sources were read, for rules that do not say it."""


def bundled_rules() -> tuple[Rule, ...]:
    """Those of the package."""
    file = resources.files(__package__).joinpath("data", "profiles.toml")
    return rules_of(tomllib.loads(file.read_text("utf-8")))


def rules_of(table: dict[str, Any]) -> tuple[Rule, ...]:
    """The rules of a parsed file."""
    file = msgspec.convert(table, _File)
    return tuple(
        rule if rule.since or not file.read else msgspec.structs.replace(rule, since=file.read)
        for rule in file.rule
    )
