"""Hostile files, made of what we write: `python -m tests.transcripts.hostile --count 2000`.

Each try is one file of a format with something done to it (values replaced, bytes changed, ids and
folders that name other places, depth, times, encodings), in a home with a sound session. What has
to hold: nothing is written outside the tool's folder, nothing but errors of ours is raised, memory
and time are bounded, and the sound session is still listed.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import interlingua as il
from interlingua import transcripts
from interlingua.cli.importing import import_transcript
from interlingua.store.base import Store
from interlingua.store.open import open_store
from interlingua.streams import packed
from interlingua.transcripts import SubAgent, format_of, formats
from interlingua.transcripts.sessions import agents, carry_out, here, look, overviews, plan
from tests.cli.running import run
from tests.transcripts.made import session

WRITTEN = [name for name in formats() if format_of(name).write is not None]
SECONDS = 20.0
NAMES = [
    *("../../../../EVIL", "ses_/../../../../EVIL", "agent-/../../../EVIL", "/tmp/EVIL", "..", ""),
    *("ses_\0", "a\nb", "\x1b[2J", "ses_" + "a" * 5000, "~/EVIL", "*", "[!a]*", "\u202egnp.exe"),
]
REQUEST = [{"role": "user", "content": "Is the dough ready?"}]
TIMES = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "now", -(10**18), 1e300, 2**70]
ODD: list[Any] = [None, True, 7, -1, 1.5, 10**30, "", "x", [], {}, [[]], [None], [{}], {"": None}]
ODD += [{"type": 5}, {"type": "text"}, {"role": "user"}, "[", '{"a":', "\ufeff", "a" * 70_000]


def odd(chance: Random) -> Any:
    """A value that nobody expects."""
    kind = chance.randrange(5)
    if kind == 0:
        return chance.choice(NAMES)
    if kind == 1:
        return chance.choice(TIMES)
    if kind == 2:
        value: Any = chance.choice(ODD)
        for _ in range(chance.choice([1, 30, 200])):
            value = [value] if chance.random() < 0.5 else {"content": value}
        return value
    return chance.choice(ODD)


def changed(value: Any, chance: Random, rate: float) -> Any:
    """The same value with some of its parts replaced, left out, or said twice."""
    if chance.random() < rate:
        return odd(chance)
    if isinstance(value, list):
        several = [changed(each, chance, rate) for each in value]
        return several * 2 if chance.random() < rate else several
    if isinstance(value, dict):
        inside = {key: changed(each, chance, rate) for key, each in value.items()}
        return {key: each for key, each in inside.items() if chance.random() >= rate / 2}
    return value


def _whole(data: bytes, chance: Random) -> bytes:
    return data


def _values(data: bytes, chance: Random) -> bytes:
    rate = chance.choice([0.003, 0.02, 0.1])
    try:
        return json.dumps(changed(json.loads(data), chance, rate)).encode()
    except ValueError:
        values = [json.loads(line) for line in data.split(b"\n") if line]
        return b"\n".join(json.dumps(changed(each, chance, rate)).encode() for each in values)


def _names(data: bytes, chance: Random) -> bytes:
    """All ids and folders name another place."""
    name = json.dumps(chance.choice(NAMES))[1:-1].encode()
    for known in (session().id or "", session().folder or "", "toolu_a"):
        data = data.replace(known.encode(), name)
    return data


def _bytes(data: bytes, chance: Random) -> bytes:
    made = bytearray(data)
    for _ in range(chance.choice([1, 3, 40])):
        at = chance.randrange(len(made))
        piece = chance.choice([b"\0", b"\xff", b'"', b"{", b"\n", b"\xed\xa0\x80", b"\\ud800"])
        made[at : at + chance.choice([0, 1, 9])] = piece
    return bytes(made)


def _cut(data: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _deep(data: bytes, chance: Random) -> bytes:
    count = chance.choice([100, 900, 10_000, 200_000])
    deep = b"[" * count + b"]" * count if chance.random() < 0.5 else b'{"a":' * count + b"1"
    at = data.find(b":", chance.randrange(len(data))) + 1
    return data[:at] + deep + data[at:]


def _packed(data: bytes, chance: Random) -> bytes:
    made = packed.packed(data * chance.choice([1, 1, 50]), chance.choice(["a.zst", "a.gz"]))
    return _bytes(made, chance) if chance.random() < 0.5 else made


def _encoded(data: bytes, chance: Random) -> bytes:
    return data.decode().encode(
        chance.choice(["utf-16", "utf-32", "utf-8-sig", "cp037"]), "replace"
    )


def _twice(data: bytes, chance: Random) -> bytes:
    """Lines in another order, some of them twice."""
    lines = [line for line in data.split(b"\n") if line] * 2
    chance.shuffle(lines)
    return b"\n".join(lines)


CHANGES: list[Callable[[bytes, Random], bytes]] = [
    *(_values, _values, _values, _names, _bytes, _cut, _deep, _packed, _encoded, _twice),
]


class Failure(NamedTuple):
    number: int
    format: str
    change: str
    problem: str

    def __str__(self) -> str:
        return f"{self.number} {self.format} {self.change}: {self.problem}"


class Hostile:
    """Tries in a folder of their own; each has a number, by which it can be repeated."""

    def __init__(self, folder: Path, seed: int, store: Store) -> None:
        self._store_path = folder.parent / "store.db"
        self.folder = folder
        self.seed = seed
        self.store = store
        self.home = folder / "a" / "b" / "home"
        self.output = folder / "a" / "b" / "output"
        self.outcomes: Counter[str] = Counter()
        self._data = {name: self._written(name) for name in WRITTEN}
        made = plan(session(), "pi", self.home)
        carry_out(made)
        self._sound = made.path
        self._before = set(self._outside())

    def _written(self, name: str) -> bytes:
        helper = session().replace(id="agent-a1b2")
        whole = session().replace(subagents=(SubAgent(helper, "toolu_a"),))
        files = transcripts.draft(whole, name, f"s{format_of(name).suffix}").files
        return b"".join(next(iter(files.values())))

    def run(self, numbers: Iterable[int]) -> Iterator[Failure]:
        for number in numbers:
            chance = Random(f"{self.seed}:{number}")
            name = WRITTEN[number % len(WRITTEN)]
            change = chance.choice(CHANGES)
            data = change(self._data[name], chance)
            begun = time.monotonic()
            try:
                problem = self._one(number, name, data, chance)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"[:300]
            if time.monotonic() - begun > SECONDS:
                problem = f"it took {time.monotonic() - begun:.0f} s"
            if problem:
                yield Failure(number, name, change.__name__, problem)

    def _one(self, number: int, name: str, data: bytes, chance: Random) -> str | None:
        path = self.folder / "a" / "b" / f"{number}{format_of(name).suffix}"
        path.write_bytes(data)
        try:
            for each in transcripts.read_all(path, name if chance.random() < 0.8 else None):
                self._use(each, chance)
            self.outcomes["read"] += 1
        except il.InterlinguaError:
            self.outcomes["refused"] += 1
        finally:
            path.unlink()
        return self._escaped() or (self._listed(name, data) if number % 10 == 0 else None)

    def _use(self, each: transcripts.Transcript, chance: Random) -> None:
        try:
            transcripts.write(each, self.output / "session", chance.choice(WRITTEN))
        finally:
            shutil.rmtree(self.output, ignore_errors=True)
        made = plan(each, chance.choice(agents()), self.home)
        carry_out(made)
        for path in made.files:
            path.unlink()
        if chance.random() < 0.2:
            import_transcript(self.store, each)

    def commands(self, numbers: Iterable[int]) -> Iterator[Failure]:
        """Files for `import` and for `convert`, which takes JSON Lines and Parquet."""
        tasks = self._tasks()
        for number in numbers:
            chance = Random(f"{self.seed}:command:{number}")
            task, source = tasks[number % len(tasks)]
            changes = [_bytes, _cut] if source.suffix == ".parquet" else CHANGES
            change = _whole if chance.random() < 0.1 else chance.choice(changes)
            path = self.folder / "a" / "b" / f"in{source.suffix}"
            path.write_bytes(change(source.read_bytes(), chance))
            made = self.output / f"out{chance.choice(['.jsonl', '.parquet'])}"
            command = (task, path, "--store", self._store_path)
            if task == "convert":
                command = (task, path, "--to", "anthropic", "-o", made)
            try:
                code = run(*command).exit_code
                problem = None if code in (0, 1, 2, 3) else f"exit code {code}"
                if change is _whole and code:
                    problem = f"a sound file is refused with exit code {code}"
                word = "read" if not code else "refused in part" if made.exists() else "refused"
                self.outcomes[f"{task} {word}"] += 1
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"[:300]
            path.unlink()
            shutil.rmtree(self.output, ignore_errors=True)
            problem = problem or self._escaped()
            if problem:
                yield Failure(number, f"{command[0]} {source.name}", change.__name__, problem)

    def _tasks(self) -> list[tuple[str, Path]]:
        """Commands with files that they take: an export of the store, requests as lines, and the
        same as Parquet."""
        folder = self.folder.parent
        import_transcript(self.store, session())
        export, lines, rows = (folder / f"source{end}" for end in ("s.jsonl", ".jsonl", ".parquet"))
        run("export", "--store", self._store_path, "-o", export)
        result = il.convert(
            {"model": "gpt-5", "messages": REQUEST}, "openai-chat", "openai-chat"
        ).wire
        lines.write_bytes((json.dumps(result).encode() + b"\n") * 3)
        run("convert", lines, "--to", "anthropic", "-o", rows)
        tasks = [("import", export), ("import", lines), ("convert", lines), ("convert", rows)]
        return [each for each in tasks if each[1].is_file()]

    def _outside(self) -> list[Path]:
        """Everything but what lies in the folders of tools."""
        roots = [root(self.home) for name in agents() if (root := format_of(name).root)]
        files = (path for path in self.folder.rglob("*") if not path.is_dir())
        return [each for each in files if not any(each.is_relative_to(root) for root in roots)]

    def _escaped(self) -> str | None:
        found = [each for each in self._outside() if each not in self._before]
        for each in found:
            each.unlink()
        return f"written outside: {found}" if found else None

    def _listed(self, name: str, data: bytes) -> str | None:
        """The sound session is found beside this file, wherever the file lies."""
        bad = self._sound.with_name("2026-03-01T00-00-00-000Z_bad.jsonl")
        bad.write_bytes(data)
        try:
            found = {each.path: overview for each, overview in overviews(here(self.home), look)}
        finally:
            bad.unlink()
        if isinstance(found.get(self._sound), str | None):
            return "the sound session is not listed"
        reply = found.get(bad)
        return reply if isinstance(reply, str) and "Error:" in reply else None


def tried(
    count: int, seed: int, start: int = 0, tell: Callable[[Failure], object] = lambda failure: None
) -> tuple[list[Failure], Counter[str]]:
    """So many tries; what failed, and how many files were read and refused. Each failure is told
    when it happens."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with closing(open_store(Path(folder) / "store.db")) as store:
            hostile = Hostile(Path(folder) / "files", seed, store)
            numbers = range(start, start + count)
            failures = []
            for failure in chain(hostile.run(numbers), hostile.commands(numbers[: count // 4])):
                tell(failure)
                failures.append(failure)
            return failures, hostile.outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the number of the first try")
    wish = parser.parse_args()
    begun = time.monotonic()
    failures, outcomes = tried(wish.count, wish.seed, wish.start, partial(print, flush=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    result = ", ".join(f"{count:,} {word}" for word, count in sorted(outcomes.items()))
    print(f"{wish.count:,} files: {result}, {len(failures)} failures, {peak} MB", end=", ")
    print(f"{time.monotonic() - begun:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
