"""The laws over all recorded traffic: `python -m tests.laws.run` (`make laws`).

Prints how many bodies were tried per dialect and law, and how many held. A failing record is a
finding; one whose recorded wire is itself broken is listed in `exceptions.toml` with the reason.
"""

from __future__ import annotations

import argparse
import random
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from interlingua.adapt.history.retell import retell
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.dialects.registry import dialects
from interlingua.errors import InterlinguaError
from interlingua.model import codec
from interlingua.model.blocks import UnknownBlock
from interlingua.model.exchange import Request
from interlingua.model.message import walk
from tests.laws import acceptable, corpus, laws, streams
from tests.laws.judge import translation

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
MOST_EXCEPTIONS = 0.005
"""The share of a dialect's records that may be excepted."""
EDITS = 10
"""Edits tried on each value, chosen by the record's id."""
LAWS = ("L1", "L2", "L3", "L3o", "L4", "L5", "L5o", "L6", "L7", "L9", "L13")
"""L3o and L5o are L3 and L5 from outside: the wires are read by `tests.laws.facts`, which shares no
code with the package."""


class Case(NamedTuple):
    """One body of one record."""

    record: str
    dialect: str
    kind: str
    wire: Any
    model: str | None


class Outcome(NamedTuple):
    case: Case
    problems: dict[str, list[str]]
    tried: frozenset[str]
    blocks: int
    unknown: tuple[str, ...]


def cases(dialect: str | None = None) -> Iterator[Case]:
    """The bodies of all records, or of those of one dialect: the rest is not read then."""
    for record in corpus.records(dialect):
        for kind in ("request", "response"):
            wire = getattr(record, kind)
            if wire is not None and record.dialect is not None:
                yield Case(record.id, record.dialect, kind, wire, record.model)
        if record.stream and record.dialect is not None:
            frames = streams.frames_of(record)
            yield Case(record.id, record.dialect, "stream", frames, record.model)


def examine(case: Case, wanted: Iterable[str] = LAWS) -> Outcome:
    """All wanted laws on one body."""
    if case.kind == "stream":
        return examine_stream(case, wanted)
    home = dialect_of(case.dialect)
    problems: dict[str, list[str]] = {}
    tried: set[str] = set()

    def try_law(name: str, check: Callable[[], list[str]]) -> None:
        if name in wanted:
            tried.add(name)
            problems.setdefault(name, []).extend(outcome_of(check))

    model = case.model if case.dialect in ("gemini", "bedrock") else None
    try_law("L1", lambda: laws.home(home, case.kind, case.wire, model))
    try:
        value = laws.read(home, case.kind, case.wire, model)
    except Exception:  # L1 has said so already
        return Outcome(case, problems, frozenset(tried), 0, ())
    try_law("L9", lambda: laws.pure(home, case.kind, case.wire, model))
    if isinstance(value, Request) and len(value.messages) > 1:
        try_law("L7", lambda: laws.stable_prefix(home, value))
    try_law("L2", lambda: some_edits(case, home, value))
    for target in dialects():
        if target != case.dialect:
            try_law("L3", partial(abroad, value, target, case))
            try_law("L3o", partial(judged_abroad, case, target, model))
            try_law("L4", partial(accepted, value, target, case))
    try_law("L5o", lambda: translation.reading(case.dialect, case.kind, case.wire, model))
    try_law("L6", lambda: there_and_back(case, home, value))
    try_law("L13", lambda: laws.own(home, value))
    try_law("L13", lambda: laws.own(home, value, source=case.dialect))
    seen = [block for _, _, block in walk(messages_of(value))]
    strange = tuple(str(b.raw)[:80] for b in seen if isinstance(b, UnknownBlock))
    found = {law: each for law, each in problems.items() if each}
    return Outcome(case, found, frozenset(tried), len(seen), strange)


def examine_stream(case: Case, wanted: Iterable[str]) -> Outcome:
    """A stream goes home (L1), folds (L5), and abroad it is the whole answer's equal (L3)."""
    home, frames = dialect_of(case.dialect), case.wire
    checks: dict[str, list[Callable[[], list[str]]]] = {
        "L1": [lambda: streams.home(home, frames)],
        "L5": [lambda: streams.folds(home, frames)],
        "L5o": [lambda: translation.folding(case.dialect, frames)],
        "L3": [partial(squared, case, name) for name in dialects() if name != case.dialect],
        "L3o": [partial(judged_stream, case, name) for name in dialects() if name != case.dialect],
    }
    tried = frozenset(law for law in checks if law in wanted)
    found = {law: [p for check in checks[law] for p in outcome_of(check)] for law in tried}
    return Outcome(case, {law: each for law, each in found.items() if each}, tried, 0, ())


def squared(case: Case, target: str) -> list[str]:
    return [f"to {target}: {each}" for each in streams.square(case.dialect, target, case.wire)]


def judged_stream(case: Case, target: str) -> list[str]:
    found = translation.streamed(case.dialect, target, case.wire)
    return [f"to {target}: {each}" for each in found]


def judged_abroad(case: Case, target: str, model: str | None) -> list[str]:
    found = translation.abroad(case.dialect, target, case.kind, case.wire, model)
    return [f"to {target}: {each}" for each in found]


def outcome_of(check: Callable[[], list[str]]) -> list[str]:
    try:
        return check()
    except InterlinguaError as error:
        return [f"refused: {error}"]
    except Exception as error:  # the outermost edge of a report: name it and go on
        return [f"crashed: {type(error).__name__}: {error}"]


def messages_of(value: Any) -> tuple[Any, ...]:
    return value.messages if isinstance(value, Request) else (value.message, *value.alternatives)


def abroad(value: Any, target: str, case: Case) -> list[str]:
    found = laws.abroad(value, dialect_of(target), case.dialect)
    return [f"to {target}: {each}" for each in found]


def accepted(value: Any, target: str, case: Case) -> list[str]:
    writer = dialect_of(target)
    if isinstance(value, Request) and value.model is None:
        value = value.replace(model="model")  # the recording does not know what the URL said
    result = retell(value, writer, source=case.dialect)
    wire = laws.write(writer, result.value, result.recorder).wire
    return [f"to {target}: {each}" for each in acceptable.problems(target, case.kind, wire)]


def there_and_back(case: Case, home: Any, value: Any) -> list[str]:
    """Having spoken another dialect changes nothing of what is kept."""
    before = codec.dumps(value)
    for target in dialects():
        result = retell(value, target, source=case.dialect)
        laws.write(dialect_of(target), result.value, result.recorder)
    if codec.dumps(value) != before:
        return ["retelling changed what is kept"]
    found = laws.difference(case.wire, laws.write(home, value).wire)
    return [f"home again: {found}"] if found else []


def some_edits(case: Case, home: Any, value: Any) -> list[str]:
    every = list(laws.edits(value))
    chosen = random.Random(case.record).sample(every, min(EDITS, len(every)))
    return [p for _, path, changed in chosen for p in laws.edited(home, value, path, changed)]


def batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def examine_all(batch: tuple[list[Case], tuple[str, ...]]) -> list[Outcome]:
    found = [examine(case, batch[1]) for case in batch[0]]
    # bodies stay where they are: only what is told about them travels back
    return [outcome._replace(case=outcome.case._replace(wire=None)) for outcome in found]


def excepted() -> dict[tuple[str, str, str], str]:
    entries = tomllib.loads(EXCEPTIONS.read_text(encoding="utf-8")).get("exception", [])
    return {(e["record"], e["kind"], e["law"]): e["reason"] for e in entries}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", action="append", help="only this dialect")
    parser.add_argument("--law", action="append", choices=LAWS, help="only this law")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="only every n-th body")
    parser.add_argument("--show", type=int, default=5, help="problems shown per dialect and law")
    options = parser.parse_args(argv)
    if not corpus.corpus_folder().is_dir():
        print(f"no recorded traffic ({corpus.VARIABLE} or shared/corpus): nothing to examine")
        return 0
    wanted = tuple(options.law or LAWS)
    chosen = [c for c in cases() if not options.dialect or c.dialect in options.dialect]
    chosen = chosen[:: options.every]
    if not chosen:
        print("the folder of recorded traffic is there, but nothing is in it")
        return 1
    work = [(batch, wanted) for batch in batches(chosen, 50)]
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = [outcome for found in pool.map(examine_all, work) for outcome in found]
    whole = options.every == 1 and not options.dialect and not options.law
    return report(outcomes, options.show, whole)


def report(outcomes: list[Outcome], show: int, whole: bool) -> int:
    allowed = excepted()
    used: set[tuple[str, str, str]] = set()
    tried: Counter[tuple[str, str]] = Counter()
    failed: dict[tuple[str, str], list[str]] = defaultdict(list)
    records: dict[str, set[str]] = defaultdict(set)
    for case, problems, laws_tried, _, _ in outcomes:
        records[case.dialect].add(case.record)
        tried.update((case.dialect, law) for law in laws_tried)
        for law, found in problems.items():
            key = (case.record, case.kind, law)
            if key in allowed:
                used.add(key)
            else:
                failed[case.dialect, law].append(f"{case.record} {case.kind}: {found[0]}")
    print_table(tried, failed, records)
    print_unknown(outcomes, show)
    for (name, law), each in sorted(failed.items()):
        if each:
            print(f"\n{name} {law}: {len(each)} failed")
            print("\n".join(f"  {text[:300]}" for text in each[:show]))
    stale = sorted(set(allowed) - used) if whole else []
    for key in stale:
        print(f"stale exception: {key}")
    over = [name for name in records if too_many(name, records[name], used)]
    return 1 if any(failed.values()) or stale or over else 0


def print_unknown(outcomes: list[Outcome], show: int) -> None:
    blocks: Counter[str] = Counter()
    strange: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        blocks[outcome.case.dialect] += outcome.blocks
        strange[outcome.case.dialect].update(outcome.unknown)
    for name in sorted(blocks):
        share = sum(strange[name].values()) / max(blocks[name], 1)
        kinds = ", ".join(f"{text} ({n})" for text, n in strange[name].most_common(show))
        print(f"unknown blocks, {name}: {share:.2%} of {blocks[name]} {kinds}")


def too_many(name: str, records: set[str], used: set[tuple[str, str, str]]) -> bool:
    excepted_here = {record for record, _, _ in used if record in records}
    if len(excepted_here) > MOST_EXCEPTIONS * len(records):
        print(f"too many exceptions for {name}: {len(excepted_here)} of {len(records)}")
        return True
    return False


def print_table(
    tried: Counter[tuple[str, str]],
    failed: dict[tuple[str, str], list[str]],
    records: dict[str, set[str]],
) -> None:
    shown = [law for law in LAWS if any(each == law for _, each in tried)]
    print("dialect".ljust(18) + "records".rjust(8) + "".join(law.rjust(12) for law in shown))
    for name in sorted(records):
        cells = [f"{tried[name, law] - len(failed[name, law])}/{tried[name, law]}" for law in shown]
        line = "".join(cell.rjust(12) for cell in cells)
        print(name.ljust(18) + str(len(records[name])).rjust(8) + line)


if __name__ == "__main__":
    sys.exit(main())
