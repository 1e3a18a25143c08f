"""Rules from TOML: those of the package, and a user's, which have the same form.

The package's own are compiled to JSON as well, which is read in a twentieth of the time. It names
the text that it was made of, and is left aside where that has changed.
"""

from __future__ import annotations

import hashlib
from importlib import resources
from typing import Any

import msgspec

from interlingua.models.profile import Rule


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: tuple[Rule, ...] = ()
    read: str | None = None
    """When the sources were read, for rules that do not say since when they hold."""


class _Compiled(msgspec.Struct, frozen=True):
    of: str
    rules: tuple[Rule, ...]


def bundled_rules() -> tuple[Rule, ...]:
    """Those of the package."""
    folder = resources.files(__package__).joinpath("data")
    text = folder.joinpath("profiles.toml").read_bytes()
    compiled = folder.joinpath("profiles.json").read_bytes()
    # A new text has a new digest, and then nothing else of the compiled form is looked at.
    if compiled.startswith(_head(text)):
        return msgspec.json.decode(compiled, type=_Compiled).rules
    return rules_of(_parsed(text))


def compiled_rules(text: bytes) -> bytes:
    """The rules of a TOML text as JSON, one to a line."""
    rules = rules_of(_parsed(text))
    lines = b",\n".join(msgspec.json.encode(rule) for rule in rules)
    return _head(text) + b'"rules":[\n' + lines + b"\n]}\n"


def _parsed(text: bytes) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text.decode())


def _head(text: bytes) -> bytes:
    return b'{"of":"%s",\n' % hashlib.sha256(text).hexdigest().encode()


def rules_of(table: dict[str, Any]) -> tuple[Rule, ...]:
    """The rules of a parsed file."""
    file = msgspec.convert(table, _File)
    return tuple(
        rule if rule.since or not file.read else msgspec.structs.replace(rule, since=file.read)
        for rule in file.rule
    )
