"""What is known about a dialect stands in its record: nobody else knows it by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import interlingua as il
from interlingua.dialects.front import Ending, Filler
from interlingua.dialects.registry import dialect, dialects, traits_of

PACKAGE = Path(il.__file__).parent
NAMES = frozenset(dialects())


def modules() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if "dialects" not in p.parts]


def names_in(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and each.value in NAMES:
            yield str(each.value)


def comparisons(tree: ast.AST) -> Iterator[str]:
    """Where something is held against a dialect's name: `==`, `in (...)`, `case "..."`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Constant | ast.Tuple | ast.List | ast.Set):
                    yield from (f"line {node.lineno}: {name}" for name in names_in(side))
        elif isinstance(node, ast.MatchValue):
            yield from (f"line {node.value.lineno}: {name}" for name in names_in(node.value))


def test_no_code_outside_compares_with_the_name_of_a_dialect() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in modules()}
    found = {
        str(path.relative_to(PACKAGE)): places
        for path, text in texts.items()
        if any(name in text for name in NAMES) and (places := [*comparisons(ast.parse(text))])
    }
    assert found == {}


def test_a_comparison_would_be_found() -> None:
    code = """
if name == "gemini" or "ollama" != name or name in ("anthropic", x): ...
match name:
    case "bedrock": ...
"""
    assert len([*comparisons(ast.parse(code))]) == 4


@pytest.mark.parametrize("name", dialects())
def test_what_is_served_says_how_its_streams_end(name: str) -> None:
    front = dialect(name).front
    if front is None:
        return
    assert front.dialect == name
    assert front.paths or front.path is not None
    assert front.ending is not Ending
    assert not front.ending().is_reached
    assert issubclass(front.filler, Filler)


def test_of_a_stranger_the_usual_traits_are_known() -> None:
    assert traits_of("nobody").family is None
    assert traits_of("anthropic").needs_limit
