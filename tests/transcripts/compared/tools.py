"""The converters that are compared, each in a virtual environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from interlingua import transcripts
from interlingua.errors import InterlinguaError
from tests.transcripts.resume.tools import CACHE

SESSION_MIGRATE, TEICH = "0.12.0", "0.3.6"
"""The versions that are compared."""
_PATIENCE = 120
_SHORT = {"claude-code": "claude"}
"""What session-migrate calls a format, where it differs."""


class Converted(NamedTuple):
    """`told` is all that the tool said about what it left out; `problem` why there is no file."""

    told: str = ""
    problem: str | None = None


class Work(NamedTuple):
    """A file, its format, the place to write to, and the format to write."""

    path: Path
    format: str
    out: Path
    to: str


class Converter(NamedTuple):
    name: str
    version: str
    convert: Callable[[list[Work]], list[Converted]]


def ours(works: list[Work]) -> list[Converted]:
    return [_ours(*work) for work in works]


def _ours(path: Path, format: str, out: Path, to: str) -> Converted:
    try:
        session = transcripts.read(path, format).replace(origin=None)
        report = transcripts.write(session, out, "hf-messages" if to == "rows" else to)
    except InterlinguaError as problem:
        return Converted(problem=str(problem))
    losses = [*session.report.entries, *report.entries]  # notes are reported, too
    return Converted(" ".join(f"{each.block_type} {each.path} {each.reason}" for each in losses))


def session_migrate(works: list[Work]) -> list[Converted]:
    program = _installed("session-migrate", SESSION_MIGRATE) / "session-migrate"
    return [_migrated(program, *work) for work in works]


def _migrated(program: Path, path: Path, format: str, out: Path, to: str) -> Converted:
    ask = [program, "convert", path, "--format", _SHORT.get(format, format)]
    done = _run([*ask, "--to", _SHORT.get(to, to), "--output", out])
    beside = out.with_name(f"{out.name}.session-migrate.json")
    result = beside.read_text() if beside.exists() else ""
    warnings = json.loads(result).get("warnings", []) if result else []
    words = " ".join(f"{each.get('code')} {each.get('event_kind')}" for each in warnings)
    return Converted(words, None if out.exists() else _last_line(done))


_EACH = """
import json, pathlib, sys
from teich.converter import convert_traces_to_training_data
for path, out in json.load(sys.stdin):
    try:
        rows = convert_traces_to_training_data(pathlib.Path(path))
    except Exception as problem:
        pathlib.Path(out + ".problem").write_text(repr(problem)[:200])
        continue
    pathlib.Path(out).write_text("".join(json.dumps(row) + chr(10) for row in rows))
"""
"""What its command does for one file, for all of them at once: it takes seconds to start."""


def teich(works: list[Work]) -> list[Converted]:
    python = _installed("teich", TEICH) / "python"
    pairs = json.dumps([(str(work.path), str(work.out)) for work in works])
    done = subprocess.run(
        [python, "-c", _EACH], input=pairs, capture_output=True, text=True, check=False
    )
    return [_teich(work.out, done) for work in works]


def _teich(out: Path, done: subprocess.CompletedProcess[str]) -> Converted:
    problem = out.with_name(f"{out.name}.problem")
    if problem.exists() or not out.exists():
        return Converted(problem=problem.read_text() if problem.exists() else _last_line(done))
    good = out.stat().st_size > 0
    return Converted(done.stdout + done.stderr, None if good else "no supported trace rows")


def _installed(package: str, version: str) -> Path:
    """The folder of its programs; installed if it is not there."""
    folder = CACHE / f"{package}-{version}"
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    if not (programs / package).exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([programs / "pip", "install", "-q", f"{package}=={version}"], check=True)
    return programs


def _run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=_PATIENCE, check=False, errors="replace"
    )


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"
