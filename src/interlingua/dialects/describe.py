"""The pages of `docs/dialects`: one for each dialect, and the matrix of what survives."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.probes import (
    MODELS,
    PROBES,
    Fate,
    fate,
    own_fate,
    own_reasons,
    written_for,
)
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import ALIASES, dialects
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message

_MARKS = {"kept": "yes", "changed": "~", "lost": "no", "-": " "}


def page(dialect: Dialect) -> str:
    """The page of one dialect: what is supported, what is not, and examples."""
    names = ", ".join(f"`{name}`" for name, meant in ALIASES.items() if meant == dialect.name)
    paths = ", ".join(f"`{path}`" for path in _paths(dialect))
    facts = [
        ["name", f"`{dialect.name}`" + (f", or {names}" if names else "")],
        ["paths", paths or "none"],
        ["streams", _FRAMINGS[dialect.traits.framing]],
    ]
    parts = [
        f"# {dialect.title} (`{dialect.name}`)",
        grid(["", "this format"], facts),
        "## Examples",
        *_examples(dialect.name),
        *_features(dialect.name),
        "## Words",
        "What this format calls the values that every format has, on the left, and the canonical "
        "value that is read, on the right.",
        *_words(import_module(f"{dialect.package}.tables")),
        *_sources(dialect),
        "`make docs` makes this page by converting every feature.",
    ]
    return "\n\n".join(parts) + "\n"


def _paths(dialect: Dialect) -> list[str]:
    every = dialect.traits.paths or {}
    return list(dict.fromkeys(path for path in every.values() if isinstance(path, str)))


_FRAMINGS = {
    "sse": "server-sent events",
    "ndjson": "lines of JSON",
    "aws": "Amazon's event stream",
}
_TABLES = {
    "STOP_REASONS": "Stop reasons",
    "ERRORS": "Errors",
    "EFFORTS": "Reasoning efforts",
    "SERVICE_TIERS": "Service tiers",
    "TOOL_CHOICES": "Tool choices",
}
"""The tables that a reader of the wire looks for."""
_EXAMPLE = """```python
import interlingua as il

question = il.Message.user("What is the capital of Mongolia?")
options = il.Options(max_output_tokens=200, seed=7)
request = il.Request((question,), "{model}", options=options)
written = il.dialect("{name}").write_request(request)
print(written.json().decode())
for loss in written.report.losses:
    print(loss)
```"""
_READING = """```python
import interlingua as il

body = b'{body}'
result = il.convert(body, "{name}", "{other}", model="{model}")
print(result.json().decode())
```"""


def _sources(dialect: Dialect) -> list[str]:
    """What the tables were read from, and when."""
    tables = import_module(f"{dialect.package}.tables")
    _, *sources = inspect.cleandoc(tables.__doc__ or "").split("\n\n")
    text = " ".join(" ".join(each.split()) for each in sources)
    return ["## Sources", f"The names and values of this format. {text}"]


def _examples(name: str) -> list[str]:
    """A request that is written and one that is converted, each with what is printed."""
    model = MODELS.get(name, "model")
    options = Options(max_output_tokens=200, seed=7)
    request = Request((Message.user("What is the capital of Mongolia?"),), model, options=options)
    written = dialect_of(name).write_request(request)
    lines = [written.json().decode(), *map(str, written.report.losses)]
    other = "anthropic" if name != "anthropic" else "openai-chat"
    plain = request.replace(options=options.replace(seed=None))
    body = dialect_of(name).write_request(plain).json().decode()
    read = dialect_of(name).read_request(body.encode(), model)
    converted = written_for(read, other, name, MODELS[other])
    reading = _READING.format(body=body, name=name, other=other, model=MODELS[other])
    return [
        "A request, written:",
        _EXAMPLE.format(name=name, model=model),
        _block(lines),
        f"The same without a seed, converted to `{other}`:",
        reading,
        _block([converted.json().decode()]),
    ]


def _block(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def _features(name: str) -> list[str]:
    """Features by what becomes of them, with the reasons that the report has."""
    fates = [(probe, own_fate(probe, name)) for probe in PROBES]
    kept = [probe.name for probe, fate in fates if fate.word == "kept"]
    parts = ["## What is supported", "\n".join(f"- {name}" for name in kept)]
    for word, title in (("changed", "In another form"), ("lost", "What is not supported")):
        rows = [[p.name, "; ".join(own_reasons(p, name))] for p, fate in fates if fate.word == word]
        if rows:
            parts += [f"## {title}", grid(["feature", "what the report says"], rows)]
    return parts


def _words(module: ModuleType) -> list[str]:
    parts = []
    for name, title in _TABLES.items():
        table = _table(getattr(module, name, None))
        if table:
            parts += [f"### {title}", table]
    return parts


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


def _table(value: Any) -> str | None:
    if isinstance(value, TwoWay):
        rows = [[_shown(word), _shown(meant)] for word, meant in value.words.items()]
        if value.otherwise is not None:
            rows.append(["anything else", _shown(value.otherwise)])
    elif isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        rows = [[_shown(item), _shown(key)] for key, item in value.items()]
    else:
        return None
    return grid(["wire", "canonical"], rows)


def _shown(value: Any) -> str:
    return f"`{value}`" if value != "" else "(empty)"


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in lines)
