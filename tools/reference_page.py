"""The reference of public names, made from signatures and docstrings: `make docs`."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from pathlib import Path
from typing import Any

import interlingua as il
from tests.docs.samples import Page, pages

START = "<!-- names -->\n"
ROOT = Path(__file__).parents[1]
_LONGEST = 400
_OWN = "docs/reference.md"


def page(text: str) -> str:
    """The page with its names made anew; the examples before them are written by hand."""
    head = text.partition(START)[0]
    samples = [(Page(ROOT / _OWN, head)), *(each for each in pages() if each.name != _OWN)]
    examples = _examples(samples)
    parts = [head + START]
    for name in sorted(_names(), key=lambda each: (each.lower(), each)):
        parts.append(_entry(name, examples.get(name)))
    return "\n".join(parts)


def _names() -> list[str]:
    return [name for name in il.__all__ if not name.startswith("__")]


def without_example() -> list[str]:
    """Public names that no sample of the docs uses."""
    found = _examples(pages())
    return [name for name in _names() if name not in found]


def _examples(every: list[Page]) -> dict[str, str]:
    """The page whose samples use a name first; samples run in tests."""
    found: dict[str, str] = {}
    for each in every:
        for block in each.blocks():
            if block.language == "python" and not block.mark.startswith("not run"):
                for name in re.findall(r"\bil\.(\w+)", block.text):
                    found.setdefault(name, each.name)
    return found


def _entry(name: str, example: str | None) -> str:
    value = getattr(il, name)
    lines = [f"### `{name}`", "", "```text", _signature(name, value), "```", "", _about(value)]
    if example == _OWN:
        lines.append("[Example](#examples).")
    elif example:
        target = f"../{example}" if example == "README.md" else example.removeprefix("docs/")
        lines.append(f"[Example]({target}).")
    return "\n".join(line for line in lines if line is not None) + "\n"


def _signature(name: str, value: Any) -> str:
    if inspect.ismodule(value) and not callable(value):
        return f"module {value.__name__}"
    if isinstance(value, type) and issubclass(value, Enum):
        return f"{name}: " + ", ".join(str(each.value) for each in value)
    if isinstance(value, type) and issubclass(value, Exception):
        return f"{name}({value.__mro__[1].__name__})"
    try:
        shown = f"{name}{inspect.signature(value)}"
    except (NameError, TypeError, ValueError):
        shown = name if isinstance(value, type) else f"{name} = {value}"
    shown = re.sub(r"\binterlingua\.[a-z_.]+\.|\btyping\.| at 0x[0-9a-f]+", "", shown)
    shown = re.sub(r"frozenset\(\{.*?\}\)", "frozenset(…)", shown)  # in no order
    shown = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", shown)
    shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", shown)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _about(value: Any) -> str:
    doc = inspect.getdoc(value) or ""
    if isinstance(value, type) and doc == inspect.getdoc(value.__mro__[1]):
        doc = ""
    return " ".join(doc.split("\n\n")[0].split())
