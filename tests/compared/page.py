"""The comparison as Markdown: `docs/compared.md`."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from interlingua.dialects.probes import grid
from tests.compared.bodies import Body
from tests.compared.judge import Verdict
from tests.compared.speed import floor

Rule = Callable[["Judged"], bool]


class Judged(NamedTuple):
    body: Body
    target: str
    verdict: Verdict


class Column(NamedTuple):
    """One converter: every verdict, and its times."""

    name: str
    version: str
    judged: list[Judged]
    times: dict[str, float | None]
    is_history: bool = False


TEMPLATE = Path(__file__).with_name("page.md")


def page(columns: list[Column], absent: dict[str, str], own: int) -> str:
    versions = ", ".join(f"{each.name} {each.version}" for each in columns)
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    bodies = len({id(each.body) for each in columns[0].judged})
    files = f", {own} of them named on the command line" if own else ""
    python = platform.python_version()
    run = [
        f"Run on {day} with Python {python}: {versions}. {bodies} bodies{files}.",
        *[f"Not installed: {name} ({why})." for name, why in absent.items()],
    ]
    tables = [*_sections(columns), _speed(columns), _features(columns), _better(columns)]
    text = Template(TEMPLATE.read_text(encoding="utf-8"))
    return text.substitute(run="\n\n".join(run), tables="\n\n".join(tables))


def _sections(columns: list[Column]) -> Iterable[str]:
    rules: dict[str, Rule] = {
        "Requests, in their own format": lambda j: _is(j, "request") and j.body.source == j.target,
        "Requests, in another format": lambda j: _is(j, "request") and j.body.source != j.target,
        "Answers, in another format": lambda j: _is(j, "response") and j.body.source != j.target,
        "Streams, in another format": lambda j: _is(j, "stream") and j.body.source != j.target,
    }
    for title, rule in rules.items():
        yield f"## {title}"
        yield grid(["", *(each.name for each in columns)], _rows(columns, rule))


def _is(judged: Judged, kind: str) -> bool:
    return judged.body.kind == kind


def _rows(columns: list[Column], rule: Rule) -> list[list[str]]:
    chosen = [[each for each in column.judged if rule(each)] for column in columns]
    counts = [Counter(each.verdict.word for each in judged) for judged in chosen]
    offered = [sum(count.values()) - count["-"] for count in counts]
    rows = [["offered", *(f"{n} of {len(j)}" for n, j in zip(offered, chosen, strict=True))]]
    for word in ("right", "reported", "silent", "failed"):
        cells = [_share(count[word], of) for count, of in zip(counts, offered, strict=True)]
        rows.append([word, *cells])
    if any(_is(each, "request") and each.body.source != each.target for each in chosen[0]):
        refused = [sum(bool(each.verdict.refused) for each in judged) for judged in chosen]
        cells = [_share(n, of) for n, of in zip(refused, offered, strict=True)]
        rows.append(["refused by the model", *cells])
    return rows


def _share(count: int, of: int) -> str:
    return f"{count} ({count / of:.0%})" if of else "–"


def _speed(columns: list[Column]) -> str:
    bare = floor()
    rows = [
        [name, _time(bare[name]), *(_time(column.times.get(name)) for column in columns)]
        for name in bare
    ]
    head = ["", "JSON parser alone", *(each.name for each in columns)]
    return f"## Time for one conversion\n\n{grid(head, rows)}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds * 1e6:,.0f} µs" if seconds < 0.01 else f"{seconds * 1e3:,.0f} ms"


def _features(columns: list[Column]) -> str:
    """For each feature, how many conversions to other formats are right of those offered, and how
    many are silent."""
    names = dict.fromkeys(each.body.feature for each in columns[0].judged)
    rows = [[name, *(_cell(column, name) for column in columns)] for name in names]
    result = (
        "Conversions to another format that are right, of those that are offered; `!` and the "
        "number of those that are silent or failed."
    )
    head = ["feature", *(each.name for each in columns)]
    return f"## Feature by feature\n\n{result}\n\n{grid(head, rows)}"


def _cell(column: Column, feature: str) -> str:
    found = _abroad(column, feature)
    if not found:
        return "–"
    right = sum(each.verdict.word == "right" for each in found)
    bad = sum(each.verdict.word in ("silent", "failed") for each in found)
    return f"{right}/{len(found)}" + (f" !{bad}" if bad else "")


def _abroad(column: Column, feature: str) -> list[Judged]:
    return [
        each
        for each in column.judged
        if each.body.feature == feature
        and each.body.source != each.target
        and each.verdict.word != "-"
    ]


def _better(columns: list[Column]) -> str:
    """Conversions that another package gets right and this one does not."""
    ours, *rest = columns
    others = [column for column in rest if not column.is_history]
    rows = []
    for number, own in enumerate(ours.judged):
        if own.verdict.word == "right" or own.body.source == own.target:
            continue
        better = [c.name for c in others if c.judged[number].verdict.word == "right"]
        if better:
            body = own.body
            way = f"{body.source} to {own.target}, {body.kind}"
            rows.append([body.feature, way, ", ".join(better), own.verdict.word])
    faster = [
        [name, "time", column.name, f"{_time(column.times[name])} against {_time(mine_time)}"]
        for name, mine_time in ours.times.items()
        for column in others
        if mine_time and (theirs := column.times.get(name)) and theirs < mine_time
    ]
    head = ["feature", "conversion", "right in", "here"]
    shown = grid(head, rows + faster) if rows or faster else "None in this run."
    return f"## Where others are better\n\n{shown}"


def details(columns: list[Column]) -> list[dict[str, Any]]:
    return [
        {
            "converter": column.name,
            "feature": each.body.feature,
            "kind": each.body.kind,
            "source": each.body.source,
            "target": each.target,
            **each.verdict._asdict(),
        }
        for column in columns
        for each in column.judged
    ]
