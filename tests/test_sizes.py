"""Functions that fit on a screen, and a tree in which one finds the way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import interlingua

HOME = Path(interlingua.__file__).parent
MOST = 39
MOST_FILES = 580
"""A new module needs another one merged into its only user; it only falls."""
MOST_ENTRIES = 26
"""Folders and modules directly in the package."""
NOT_ENTRIES = {"__init__.py", "__init__.pyi", "__main__.py", "py.typed", "__pycache__"}


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """The functions of a module, and how many lines each has, decorators apart."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_no_function_is_longer_than_a_screen() -> None:
    paths = list(HOME.rglob("*.py"))
    assert paths
    long = [
        f"{path.relative_to(HOME)}: {name} has {lines} lines"
        for path in paths
        for name, lines in functions(path)
        if lines > MOST
    ]
    assert not long


def test_the_tree_does_not_grow() -> None:
    files = len(list(HOME.rglob("*.py")))
    assert 0 < files <= MOST_FILES, f"{files} modules: merge one into its only user"
    entries = {path.name for path in HOME.iterdir()} - NOT_ENTRIES
    assert len(entries) <= MOST_ENTRIES, f"{len(entries)} entries: {sorted(entries)}"
