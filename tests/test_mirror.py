"""Tests stand where their module stands: `a/b.py` of the package has `tests/a/test_b.py`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
PACKAGE = ROOT / "src" / "interlingua"
LEAST = 71
"""Per cent of the modules; it only rises."""


def modules() -> list[Path]:
    return [
        path.relative_to(PACKAGE)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.stem not in {"__init__", "__main__"}
    ]


def mirrored(module: Path) -> Path:
    """Where the tests of a module are."""
    return TESTS / module.parent / f"test_{module.name}"


def test_most_modules_have_a_test_file_in_the_same_place() -> None:
    missing = [module for module in modules() if not mirrored(module).is_file()]
    share = 100 - 100 * len(missing) / len(modules())
    names = "\n".join(mirrored(module).relative_to(TESTS).as_posix() for module in missing)
    assert share >= LEAST, f"{share:.1f} % of the modules have one; these are missing:\n{names}"


@pytest.mark.parametrize(
    "page", ["Makefile", "CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/testing.md"]
)
def test_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"\btests/[\w/]+\.py\b", text)
    named += re.findall(r"`((?:\w+/)+\w+\.(?:py|toml|json))`", text)
    assert named
    folders = (ROOT, PACKAGE, ROOT / "docs")
    missing = {name for name in named if not any((each / name).is_file() for each in folders)}
    assert not missing


USERS_FILES = {"mcp.json", "prices.toml", "profiles.toml", "providers.toml", "projects.json"}
"""Files of users and of other tools, which docstrings name, too."""


def named_in_docstrings(module: Path) -> set[str]:
    """The files that the docstrings of a module name."""
    tree = ast.parse((PACKAGE / module).read_text(encoding="utf-8"))
    texts = [
        node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return set(re.findall(r"`([\w/]+\.(?:py|toml|json))`", "\n".join(texts))) - USERS_FILES


def test_files_that_a_docstring_names_are_there() -> None:
    named = 0
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE)
        names = named_in_docstrings(module)
        named += len(names)
        places = (path.parent, path.parent.parent, PACKAGE, ROOT)
        missing += [
            f"{module}: {name}"
            for name in sorted(names)
            if not any((place / name).is_file() for place in places)
        ]
    assert named
    assert not missing
