"""What is to be taken out, and what is said of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from interlingua.redaction.machine import Machine
from interlingua.redaction.people import PEOPLE
from interlingua.redaction.shapes import KEYS, Shape

ASSIGNED = "assigned-secret"
"""The kind of a secret that is known by the name in front of it."""
KINDS: tuple[str, ...] = (
    *dict.fromkeys(shape.kind for shape in KEYS),
    ASSIGNED,
    *dict.fromkeys(shape.kind for shape in PEOPLE),
)
"""All kinds there are, in the order in which they are preferred; own patterns come before them."""


class Finding(NamedTuple):
    """Something that was taken out. The thing itself is not in here."""

    kind: str
    place: str
    """JSON pointer into the value as it is now; for a key, of the object that has it."""
    placeholder: str
    """What stands there now; empty where a whole field had to go."""
    length: int
    """How long it was, in characters."""


class Redacted(NamedTuple):
    value: Any
    findings: tuple[Finding, ...]


class OwnPattern(msgspec.Struct, frozen=True):
    """A regular expression of the user's own, without looking around and back references. Its
    name is the kind of what it finds."""

    name: str
    pattern: str

    def __post_init__(self) -> None:
        if not self.name.replace("-", "").replace("_", "").isalnum() or len(self.name) > 40:
            raise ValueError(f"the name of a pattern has letters, digits, - and _: {self.name!r}")
        Machine(self.pattern)  # raises what is wrong with it


class Rules(msgspec.Struct, frozen=True, dict=True):
    """`kinds` narrows what is looked for (None is all of `KINDS`), `keep` are texts that stay."""

    kinds: frozenset[str] | None = None
    patterns: tuple[OwnPattern, ...] = ()
    keep: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.kinds is not None and (unknown := self.kinds - set(KINDS)):
            raise ValueError(f"unknown kind {', '.join(sorted(unknown))}: {', '.join(KINDS)}")

    def wants(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds

    @cached_property
    def machines(self) -> tuple[tuple[str, Machine], ...]:
        return tuple([(own.name, Machine(own.pattern)) for own in self.patterns])

    @cached_property
    def signs(self) -> dict[str, tuple[Shape, ...]]:
        """The shapes by what a text must have to hold one of them."""
        found: dict[str, tuple[Shape, ...]] = {}
        for shape in (*KEYS, *PEOPLE):
            for sign in shape.signs if self.wants(shape.kind) else ():
                found[sign] = (*found.get(sign, ()), shape)
        return found


ALL = Rules()
