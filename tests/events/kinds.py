"""Types of events, for tests."""

from __future__ import annotations

import msgspec

from interlingua.events import CATALOGUE


def fields_of(type: str) -> set[str]:
    return {field.name for field in msgspec.structs.fields(CATALOGUE[type].payload)}
