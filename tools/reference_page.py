"""The reference of public names, made from signatures and docstrings: `make docs`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any

import interlingua as il
from interlingua.model.base import Value
from tests.docs.samples import Page, pages

START = "<!-- names -->\n"
ROOT = Path(__file__).parents[1]
_LONGEST = 100
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
    methods = list(_methods(value)) if isinstance(value, type) else []
    return "\n".join([*lines, *([""] if methods else []), *methods]) + "\n"


def _methods(value: type) -> Iterator[str]:
    """The public methods and properties of a class, a line each; those of every value apart."""
    if issubclass(value, Exception | Enum):
        return
    for name, member in inspect.getmembers_static(value):
        if name.startswith("_") or hasattr(Value, name) or hasattr(tuple, name):
            continue
        member = getattr(member, "__func__", member)
        about = _about(member) if callable(member) or isinstance(member, property) else ""
        if about:
            shown = name if isinstance(member, property) else _plain(f"{name}{_arguments(member)}")
            yield f"- `{re.sub(r'[(](self|cls)(, )?', '(', shown, count=1)}`: {about}"


def _signature(name: str, value: Any) -> str:
    if inspect.ismodule(value) and not callable(value):
        return f"module {value.__name__}"
    if isinstance(value, type) and issubclass(value, Enum):
        return f"{name}: " + ", ".join(str(each.value) for each in value)
    if isinstance(value, type) and issubclass(value, Exception):
        return f"{name}({value.__mro__[1].__name__})"
    if isinstance(value, type) and hasattr(value, "create"):
        name, value = f"{name}.create", value.create
    arguments = _arguments(value)
    if arguments is None:
        return _plain(name if isinstance(value, type) else f"{name} = {value}")
    shown = _plain(f"{name}{arguments}")
    if len(shown) <= _LONGEST:
        return shown
    lines = (_plain(str(each)) for each in _with_star(arguments.parameters.values()))
    return "\n".join([f"{name}(", *(f"    {each}," for each in lines), ")"])


def _arguments(value: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(value)
    except (NameError, TypeError, ValueError):
        return None


def _with_star(parameters: Iterable[inspect.Parameter]) -> Iterator[inspect.Parameter | str]:
    """The parameters, with the star before those that have to be named."""
    starred = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            yield "*"
        starred = starred or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        yield each


def _plain(shown: str) -> str:
    """Without modules, addresses, quotes and the wrapper that sync and async methods share."""
    shown = re.sub(r"\b(interlingua|decimal|datetime)\.([a-z_]+\.)*(?=[A-Z])", "", shown)
    shown = re.sub(r"\bdatetime\.(?=datetime)|\btyping\.| at 0x[0-9a-f]+", "", shown)
    shown = re.sub(r"frozenset\(\{.*?\}\)", "frozenset(…)", shown)  # in no order
    shown = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", shown)
    shown = re.sub(r"(: |-> )'([^']*)'", r"\1\2", shown)
    return re.sub(r"-> Effects\[(.*)\]$", r"-> \1", shown)


def _about(value: Any) -> str:
    """The first paragraph of a docstring; not one that Python made."""
    if isinstance(value, UnionType):
        return "Any of these."
    doc = (
        inspect.cleandoc(value.__doc__ or "") if isinstance(value, type) else inspect.getdoc(value)
    )
    doc = " ".join((doc or "").split("\n\n")[0].split())
    return "" if doc.startswith(f"{getattr(value, '__name__', '')}(") else doc
