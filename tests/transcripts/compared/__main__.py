"""`python -m tests.transcripts.compared`: what other converters keep of the same sessions, and what
they tell. Sessions are made up, and samples where there are some; those with branches are left out,
since nobody but the file's own format has a place for them."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from interlingua import transcripts
from tests.transcripts.compared.plain import WHAT, call_ids, counted
from tests.transcripts.compared.tools import (
    SESSION_MIGRATE,
    TEICH,
    Converted,
    Converter,
    Work,
    ours,
    session_migrate,
    teich,
)
from tests.transcripts.resume.sessions import made
from tests.transcripts.samples import samples

FORMATS = ("claude-code", "codex", "pi", "opencode")
"""Those that all of the compared tools know."""
_TOLD = {
    "failed": ("is_error", "failed"),
    "thinking": ("thinking", "reasoning"),
    "signatures": ("signature", "thinking", "reasoning"),
    "pictures": ("image", "picture", "attachment", "media"),
    "usage": ("usage", "token", "turn ended"),
    "prompts": ("prompt", "user", "compact", "message"),
    "texts": ("text", "assistant", "compact", "message", "turn ended"),
    "calls": ("call", "tool_use", "compact", "turn ended"),
    "results": ("result", "compact", "turn ended"),
}
"""Words by which something that was left out is told; whoever says one of them, said it."""


class Tally(NamedTuple):
    """Of one converter and one way: what was there, what arrived, and how many kinds of things
    were lost in a session, with a word about it or without."""

    there: Counter[str]
    kept: Counter[str]
    lost: Counter[str]
    files: list[str]
    silent: list[str]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        found = list(_sessions(Path(folder)))
        ways = {
            "written in the format that it was read from": lambda source, to: source == to,
            "written in each of the three others": lambda source, to: source != to,
        }
        us = Converter("interlingua", version("interlingua"), ours)
        other = Converter("session-migrate", SESSION_MIGRATE, session_migrate)
        rows = Converter("teich", TEICH, teich)
        print(f"{len(found)} sessions of {', '.join(FORMATS)}")
        for title, is_wanted in ways.items():
            pairs = [(s, to) for s in found for to in FORMATS if is_wanted(s[1], to)]
            _table(title, [(each, pairs) for each in (us, other)], Path(folder))
        to_rows = [(session, "rows") for session in found]
        _table(
            "written as rows for training", [(each, to_rows) for each in (us, rows)], Path(folder)
        )
    return 0


def _sessions(folder: Path) -> Iterator[tuple[Path, str]]:
    for name, session in (("made", made()), ("compacted", made(compacted=True))):
        for format in FORMATS:
            path = folder / name / format / f"{session.id}.{_suffix(format)}"
            transcripts.write(session.replace(folder=str(folder)), path, format)
            yield path, format
    for sample in samples(*FORMATS):
        if sample.facts is None or sample.path.suffix == ".db":
            continue
        alone = b'"history_base":{' not in sample.path.read_bytes()[:4096]
        if alone and sample.facts.get("branches", 1) == 1:
            yield sample.path, sample.format


def _suffix(format: str) -> str:
    return {"opencode": "json"}.get(format, "jsonl")


Pairs = list[tuple[tuple[Path, str], str]]


def _table(title: str, converters: list[tuple[Converter, Pairs]], folder: Path) -> None:
    print(f"\n### {title.capitalize()}\n")
    tallies = {each.name: _tally(each, pairs, folder) for each, pairs in converters}
    names = [f"{each.name} {each.version}" for each, _ in converters]
    print(f"| | {' | '.join(['there', *names])} |\n|{' --- |' * (len(names) + 2)}")
    there = next(iter(tallies.values())).there
    for what in (*WHAT, "call ids"):
        remaining = [str(tally.kept[what]) for tally in tallies.values()]
        print(f"| {what} | {' | '.join([str(there[what]), *remaining])} |")
    for word in ("told", "silent"):
        cells = [str(tally.lost[word]) for tally in tallies.values()]
        print(f"| losses, {word} | {' | '.join(['', *cells])} |")
    print(f"| refused | {' | '.join(['', *(str(len(t.files)) for t in tallies.values())])} |")
    for name, tally in tallies.items():
        for file in tally.files:
            print(f"{name} refused {file}", file=sys.stderr)
        for file in tally.silent:
            print(f"{name} did not tell: {file}", file=sys.stderr)


def _tally(converter: Converter, pairs: Pairs, folder: Path) -> Tally:
    tally = Tally(Counter(), Counter(), Counter(), [], [])
    place = Path(tempfile.mkdtemp(dir=folder))
    works = [
        Work(path, format, place / f"{number}.{_suffix(to)}", to)
        for number, ((path, format), to) in enumerate(pairs)
    ]
    for work, done in zip(works, converter.convert(works), strict=True):
        _count(work, done, tally)
    return tally


def _count(work: Work, done: Converted, tally: Tally) -> None:
    there, ids = counted(work.path, work.format), call_ids(work.path, work.format)
    tally.there.update({**there, "call ids": len(ids)})
    where = f"{work.path.name} ({work.format} to {work.to})"
    if done.problem is not None:
        tally.files.append(f"{where}: {done.problem}")
        return
    arrived = counted(work.out, work.to)
    tally.kept.update({what: min(arrived[what], there[what]) for what in WHAT})
    text = work.out.read_text(errors="replace")
    tally.kept["call ids"] += sum(name in text for name in ids)
    for what in WHAT:
        if arrived[what] < there[what]:
            result = any(word in done.told.lower() for word in _TOLD[what])
            tally.lost["told" if result else "silent"] += 1
            if not result:
                tally.silent.append(f"{where}: {arrived[what]} of {there[what]} {what}")


if __name__ == "__main__":
    sys.exit(main())
