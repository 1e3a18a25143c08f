"""The almanac: every field, literal and endpoint of the providers' SDKs, and every rule about
models, with what becomes of it, since when it is known, and where it was read."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import Any

import msgspec

from interlingua.profiles.profile import Rule
from interlingua.profiles.reading import bundled_rules, data_file


class Word(msgspec.Struct, frozen=True):
    """A field or literal of a surface, which is a part of an SDK."""

    surface: str
    kind: str
    word: str
    status: str
    """`mapped` to the canonical model, `raw` (written back, reported elsewhere) or `refused`."""
    group: str
    why: str
    """The reason of the group; mostly empty for mapped words."""
    since: str
    """The first release of the SDK with this word, which is its source."""
    read: str
    """The date of the data."""
    types: tuple[str, ...]
    """Types of the SDK that have it, at most three."""


class Endpoint(msgspec.Struct, frozen=True):
    """A method and a path that an SDK calls."""

    package: str
    method: str
    path: str
    gateway: str
    """`served`, or `not served`: our gateway answers 501."""
    since: str
    """The first release of the package with this endpoint, which is its source."""
    read: str
    """The date of the data."""


@cache
def reasons() -> dict[str, Any]:
    """The surfaces, the date, and the groups with their reasons."""
    return tomllib.loads(data_file("wire/reasons.toml").decode())


def words(surface: str) -> list[Word]:
    """All fields and literals of a surface."""
    groups, read = reasons()["groups"], reasons()["read"]
    found = []
    for line in data_file(f"wire/{surface}.tsv").decode().splitlines()[1:]:
        kind, word, status, group, since, types = line.split("\t")
        why = groups.get(group, {}).get("why", "")
        names = tuple(types.split(", ")) if types else ()
        found.append(Word(surface, kind, word, status, group, why, since, read, names))
    return found


def surfaces() -> list[str]:
    """The parts of SDKs that the almanac is about."""
    return list(reasons()["surfaces"])


def rules() -> tuple[Rule, ...]:
    """The rules about models, with their sources."""
    return bundled_rules()


@cache
def endpoints() -> tuple[Endpoint, ...]:
    """The endpoints of the SDKs."""
    found = []
    for line in data_file("wire/endpoints.tsv").decode().splitlines()[1:]:
        package, method, path, gateway, since = line.split("\t")
        found.append(Endpoint(package, method, path, gateway, since, reasons()["read"]))
    return tuple(found)
