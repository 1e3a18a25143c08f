"""Print where other tools' data differ from our rules: `python -m bench.profiles.refresh`.

The data are fetched into a temporary folder and copied nowhere. A person looks at each line and
decides, with a source, what becomes of our rule; no line is right by itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.profiles import fetch, peers
from bench.profiles.peers import Fact
from interlingua.profiles.capabilities import providers, usual_dialect
from interlingua.profiles.names import name_parts
from interlingua.profiles.profile import bundled

LITELLM = "litellm/model_prices_and_context_window_backup.json"
SOURCES = ("litellm", "pi-ai", "genai-prices")


class Line(NamedTuple):
    """A field of which a source says something else than our fold."""

    provider: str
    model: str
    field: str
    ours: Any
    rule: str
    theirs: Any
    source: str

    def __str__(self) -> str:
        what = f"{self.provider}:{self.model}  {self.field}"
        return f"{what}  ours {self.ours} ({self.rule})  {self.source} {self.theirs}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", choices=SOURCES, action="append", help="only this one")
    parser.add_argument("--provider", action="append", help="only this one")
    parser.add_argument("--field", action="append", help="only this one: limits.output, …")
    parser.add_argument("--unknown", action="store_true", help="models that no rule is about")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        facts = list(gathered(chosen.source or SOURCES, Path(folder)))
    facts = [each for each in facts if not chosen.provider or each.provider in chosen.provider]
    if chosen.unknown:
        _print(f"{each.provider}:{each.model}" for each in facts if is_unknown(each))
        return 0
    lines = [each for each in compared(facts) if not chosen.field or each.field in chosen.field]
    _print(map(str, lines))
    _print(["", *summary(facts, lines)])
    return 0


def gathered(sources: Iterable[str], folder: Path) -> Iterator[Fact]:
    """What the sources say today."""
    for source in sources:
        version, facts = _fetched(source, folder)
        print(f"{source} {version}", file=sys.stderr)
        yield from facts


def _fetched(source: str, folder: Path) -> tuple[str, Iterator[Fact]]:
    if source == "litellm":
        version, data = fetch.wheel("litellm", LITELLM, folder)
        return version, peers.litellm(json.loads(data))
    if source == "pi-ai":
        version, files = fetch.packed("@earendil-works/pi-ai", "dist/providers/data", folder)
        return version, peers.pi_ai(files)
    version, data = fetch.wheel("genai-prices", "genai_prices/data.py", folder)
    return version, peers.genai_prices(data)


def compared(facts: Iterable[Fact]) -> list[Line]:
    """Where a source and a rule of ours both speak, and differ; the same line once."""
    found: dict[tuple[str, ...], Line] = {}
    for fact in facts:
        for line in _differing(fact):
            name = name_parts(line.model).name
            found.setdefault((line.provider, name, line.field, line.source), line)
    return sorted(found.values(), key=lambda line: (line.provider, line.field, line.model))


def _differing(fact: Fact) -> Iterator[Line]:
    if fact.provider not in providers():
        return
    id = f"{fact.provider}:{fact.model}"
    profile = bundled().of(fact.model, fact.provider, usual_dialect(id))
    for field, theirs in fact.said.items():
        rule = profile.rule(field)
        group, _, name = field.partition(".")
        ours = getattr(getattr(profile, group), name)
        if rule is not None and theirs is not None and ours != theirs:
            yield Line(fact.provider, fact.model, field, ours, rule.id, theirs, fact.source)


def is_unknown(fact: Fact) -> bool:
    """Whether nothing but its provider's own rules would hold for a model."""
    rules = {rule.id for _, _, rule in bundled().of(fact.model, fact.provider).fields()}
    other = {rule.id for _, _, rule in bundled().of("x", fact.provider).fields()}
    return not rules - other


def summary(facts: list[Fact], lines: list[Line]) -> list[str]:
    """How many of which, and where sources differ among themselves."""
    counts = Counter((line.source, line.field) for line in lines)
    items = [f"{count:5} {source}  {field}" for (source, field), count in counts.most_common()]
    split = disagreements(facts)
    return [
        f"{len(facts)} models told, {len(lines)} differences from our rules",
        *items,
        f"{len(split)} fields of which sources say different things",
    ]


def disagreements(facts: Iterable[Fact]) -> list[tuple[str, str, str]]:
    """Provider, model and field of what two sources tell differently."""
    result: dict[tuple[str, str, str], dict[str, Any]] = defaultdict(dict)
    for fact in facts:
        for field, value in fact.said.items():
            result[fact.provider, name_parts(fact.model).name, field].setdefault(fact.source, value)
    return [
        which
        for which, by in result.items()
        if any(value != next(iter(by.values())) for value in by.values())
    ]


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


if __name__ == "__main__":
    sys.exit(main())
