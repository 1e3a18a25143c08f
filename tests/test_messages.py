"""Messages of the program are plain technical English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "interlingua"
ELSEWHERE = ("local/front.py",)
"""A list of words, which no user reads."""
OLD = [
    r"\bwas said\b",
    r"\bnot said to\b",
    r"\bspoken to\b",
    r"\bwhat arrived is kept\b",
    r"\bgoes? on with\b",
    r"\bkeeps its books\b",
    r"\bkeeps? the laws\b",
    r"\bis no part of\b",
    r"\bnames another\b",
    r"\bis not there\b",
    r"\bsomebody else\b",
    r"\beverybody may\b",
    r"\bthere is nobody\b",
    r"\bit is a no\b",
    r"\bshown this once\b",
    r"\bin its usual way\b",
    r"\bfor want of room\b",
    r"\bno room is left\b",
    r"\bis no (stream|file|alias|SQLite)\b",
    r"\bsay which\b",
    r"\bat home: ",
    r"\ba sound one\b",
    r"\bcould be told\b",
    r"\btaken back\b",
    r"\bas the rules say\b",
    r"\bhas to be said\b",
    r"\bwants to be told\b",
    r"\bA key, please\b",
    r"\bno order\b",
    r"\bfind out\b",
    r"\bhas no place for\b",
    r"\bspoken to in\b",
    r"\bwho may come in\b",
    r"\bgoes home as it came\b",
    r"\bno dialect and no view\b",
    r"\bseveral of them fit\b",
    r"\bfound a \{type",
]
ODD = re.compile("|".join(OLD))


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that a user may see: all but docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in skipped:
            yield node.lineno, node.value


def test_no_message_has_an_old_phrase() -> None:
    found = [
        f"{name}:{line}: {text.strip()[:100]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (name := path.relative_to(PACKAGE).as_posix()).startswith(ELSEWHERE)
        for line, text in texts(path)
        if ODD.search(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", sorted((PACKAGE / "web").glob("*.js")), ids=lambda path: path.name)
def test_no_text_of_the_page_has_an_old_phrase(path: Path) -> None:
    strings = re.findall(r"[\"`]([^\"`\n]*)[\"`]", path.read_text(encoding="utf-8"))
    assert not [text for text in strings if ODD.search(text)]


PAGES = Path(__file__).parents[1] / "docs"
ODD_PAGES = re.compile(
    "|".join([*OLD[-7:], r"\bLog what is said\b", r"\bempty here\b", r"\bsaid as\b"])
)


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.name)
def test_no_page_has_an_old_phrase(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not [line for line in text.splitlines() if ODD_PAGES.search(line)]
