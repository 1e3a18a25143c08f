"""No field of a profile is there for show: each is read by what fits requests to models, by what
chooses where they go, or by capabilities."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import interlingua
from interlingua.profiles.profile import GROUPS

ROOT = Path(interlingua.__file__).parent

READERS = ("adapt", "profiles/capabilities.py", "providers/endpoint.py")


def sources() -> Iterator[Path]:
    for name in READERS:
        place = ROOT / name
        yield from place.rglob("*.py") if place.is_dir() else [place]


def words() -> set[str]:
    """What is looked up in them: attributes, and texts that may be names of one."""
    found = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.update(_made(node))
    return found


def _made(text: ast.JoinedStr) -> Iterator[str]:
    """Names that are put together: `thinking_{option}` for the two that it is used for."""
    parts = [part.value for part in text.values if isinstance(part, ast.Constant)]
    if parts == ["thinking_"]:
        yield from ("thinking_temperature", "thinking_top_k")


FIELDS = [f"{group}.{field}" for group, kind in GROUPS.items() for field in kind.__struct_fields__]

WORDS = words()


@pytest.mark.parametrize("place", FIELDS)
def test_a_field_is_read(place: str) -> None:
    assert {place, place.partition(".")[2]} & WORDS, f"nobody reads {place}"
