"""A dialect's tables and the matrix of what survives, as Markdown: the pages in `docs/dialects`."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.probes import PROBES, Fate, fate, own_fate
from interlingua.dialects.record import Counting, Dialect, Hosts, ThinkingBinding, Traits
from interlingua.dialects.registry import dialects

_MARKS = {"kept": "yes", "changed": "~", "lost": "no", "-": " "}


def page(dialect: Dialect) -> str:
    """The page of one dialect: its traits, its tables, and what it loses of the others'."""
    tables = import_module(f"{dialect.package}.tables")
    parts = [
        f"# {dialect.title} (`{dialect.name}`)",
        "This page is printed from the dialect's tables by `make docs`.",
        "## Traits",
        _traits(dialect.traits),
        "## Tables",
        *_tables(tables),
        "## What is supported",
        "`yes`: supported. `~`: sent in another form, or without the fields that are named. `no`: "
        "not supported. The last two are always in the report.",
        grid(
            ["feature", dialect.name], [[p.name, _mark(own_fate(p, dialect.name))] for p in PROBES]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def matrix() -> str:
    """What survives from each dialect to each, found by saying it."""
    names = dialects()
    parts = [
        "# What survives",
        "Each row is converted from the format of the heading to the format of the column, for a "
        "model that accepts it; `make docs` prints this page. `yes`: it arrives unchanged. `~`: it "
        "arrives in another form, or without the fields that are named. `no`: it does not arrive. "
        "The last two are always in the report. Rows that the first format cannot express are left "
        "out.",
    ]
    for source in names:
        others = [name for name in names if name != source]
        columns = [survivors(source, target) for target in others]
        rows = [[name, *(_mark(each[name]) for each in columns)] for name in columns[0]]
        parts += [f"## From `{source}`", grid(["feature", *others], rows)]
    return "\n\n".join(parts) + "\n"


def survivors(source: str, target: str) -> dict[str, Fate]:
    """What becomes of each feature of one dialect in another, by the feature's name."""
    fates = {probe.name: fate(probe, source, target) for probe in PROBES}
    return {name: each for name, each in fates.items() if each.word != "-"}


def _mark(fate: Fate) -> str:
    if not fate.without:
        return _MARKS[fate.word]
    return f"{_MARKS[fate.word]} no {', '.join(f'`{name}`' for name in fate.without)}"


def _traits(traits: Traits) -> str:
    rows = []
    for name in traits._fields:
        value = getattr(traits, name)
        shown = value.__name__ if callable(value) and hasattr(value, "__name__") else _shown(value)
        rows.append([name.replace("_", " "), shown])
    return grid(["trait", "value"], rows)


def _tables(module: ModuleType) -> list[str]:
    notes = _notes(module)
    _, *sources = inspect.cleandoc(module.__doc__ or "").split("\n\n")
    parts = [" ".join(each.split()) for each in sources]
    for name, value in vars(module).items():
        if not name.isupper() or name in ("NAME", "TITLE", "TRAITS"):
            continue
        grid = _table(value)
        if grid:
            parts.append(f"### {name.lower().replace('_', ' ')}")
            parts += [note] if (note := notes.get(name)) else []
            parts.append(grid)
    return parts


def _table(value: Any) -> str | None:
    if isinstance(value, TwoWay):
        rows = [[_shown(word), _shown(meant)] for word, meant in value.words.items()]
        if value.otherwise is not None:
            rows.append(["anything else", _shown(value.otherwise)])
        return grid(["wire", "canonical"], rows)
    if hasattr(value, "_fields"):
        return None  # one row of a table
    if isinstance(value, dict):
        return grid(["key", "value"], [[_shown(key), _shown(item)] for key, item in value.items()])
    if isinstance(value, (frozenset, tuple, list)) and all(isinstance(each, str) for each in value):
        return ", ".join(f"`{each}`" for each in sorted(value))
    return None


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value}`" if value else "(empty)"
    if isinstance(value, (frozenset, set)):
        return ", ".join(sorted(_shown(each) for each in value)) or "none"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return ", ".join(_shown(each) for each in value) or "none"
    if isinstance(value, Hosts):
        return _shown(tuple(value.named))
    if isinstance(value, ThinkingBinding):
        return f"{_shown(value.family)} since {'.'.join(map(str, value.since))}"
    if isinstance(value, Counting):
        return ", ".join(f"{name} {_shown(item)}" for name, item in value._asdict().items())
    if isinstance(value, Mapping):
        return ", ".join(f"{_shown(key)}: {_shown(item)}" for key, item in value.items()) or "none"
    if isinstance(value, type):
        return f"`{value.__name__}`"
    if callable(value):
        return "(worked out)"
    return f"`{value}`"


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in lines)


def _notes(module: ModuleType) -> dict[str, str]:
    """The string below each assignment, which says what the table is for."""
    body = ast.parse(inspect.getsource(module)).body
    shared = [each for each in vars(module).values() if inspect.ismodule(each) and each.__doc__]
    notes = {name: note for each in shared for name, note in _notes(each).items()}
    for node, after in itertools.pairwise(body):
        names = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            for target in names:
                if isinstance(target, ast.Name) and isinstance(after.value.value, str):
                    notes[target.id] = " ".join(after.value.value.split())
    return notes
