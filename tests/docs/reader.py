"""A reader who types all samples of a page, from top to bottom, into one terminal.

The home folder is new, there are no keys but those that the page asks for, and every provider is a
stand-in on loopback. A sample is typed as it stands, but for the port 8400, for which a free one is
taken (and told to the gateway by its settings), so that pages can be read at the same time; and
`pip` is a stand-in too, which says whether what it shall install is there to be had.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tests.docs.samples import ROOT, Page, Typed
from tests.docs.standin import KEYS, StandIn

SECONDS = 240
BIN = Path(sys.executable).parent
PORT = "8400"
PROGRAMS = Path(__file__).parent / "programs.py"

_PIP = f"""#!{sys.executable}
from tests.docs.pip import main
main()
"""
_READY = """while kill -0 $! && ! curl -fs -o /dev/null http://127.0.0.1:{port}/health/live; do
  sleep 0.1
done
"""


class Done(NamedTuple):
    """What came of one thing that was typed. A code of None: it was not reached, or still runs."""

    typed: Typed
    code: int | None
    output: str
    errors: str

    @property
    def is_right(self) -> bool:
        """Whether it ended as it should, and printed what the page shows."""
        if self.typed.keeps_running:
            return "Traceback" not in self.output
        shown = self.typed.shown
        is_shown = shown is None or matches(shown, self.output)
        return self.code == self.typed.exit_code and is_shown


class Reader:
    """`weights` are those of the bundled local model, for pages that speak of itself; `commands`
    is a folder with a command that need not be loaded (`forked.command_for`)."""

    def __init__(
        self,
        folder: Path,
        providers: StandIn,
        weights: Path | None = None,
        commands: Path | None = None,
    ) -> None:
        self.folder = folder
        self.commands = commands
        self.weights = weights
        self.home = folder / "home" / "me"
        self.notes = folder / "notes"
        self.home.mkdir(parents=True)
        self.notes.mkdir()
        self.providers = providers
        self.port = _free_port()
        settings = self.home / ".config" / "interlingua" / "gateway.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"[listen]\nport = {self.port}\n")

    def read(self, page: Page) -> list[Done]:
        """Type everything; ends with the first thing that fails."""
        steps = page.typed()
        numbered = groupby(enumerate(steps), lambda step: step[1].language == "python")
        script = self._before(page)
        for are_programs, group in numbered:
            together = self._programs if are_programs else self._lines
            script += together(list(group))
        (self.notes / "page.sh").write_text(script, encoding="utf-8")
        self._type(page)
        return [self._done(number, typed) for number, typed in enumerate(steps)]

    def notes_beside(self) -> str:
        """What was printed by the shell itself, and before the first sample."""
        return _text(self.notes / "before") + self._as_shown(_text(self.notes / "stderr"))

    def _before(self, page: Page) -> str:
        marks = [m.removeprefix("before: ") for m in page.marks if m.startswith("before: ")]
        return "".join(f"{mark} > {self.notes}/before 2>&1 || exit\n" for mark in marks)

    def _programs(self, group: list[tuple[int, Typed]]) -> str:
        """Programs that follow each other on the page."""
        places = " ".join(str(self._written(number, typed)) for number, typed in group)
        return f"python {PROGRAMS} {places} || exit\n"

    def _lines(self, group: list[tuple[int, Typed]]) -> str:
        return "".join(self._line(number, typed) for number, typed in group)

    def _line(self, number: int, typed: Typed) -> str:
        place = self._written(number, typed)
        both = "2>&1" if typed.language == "console" else f"2> {place}.err"
        if typed.keeps_running:
            ready = _READY.format(port=self.port) if "interlingua serve" in typed.text else ""
            return f"(. {place} > {place}.out 2>&1) &\n{ready}"
        strict = "set -e; " if typed.language == "sh" else ""
        note = f"trap 'echo $? > {place}.code' EXIT"
        judge = f"[ $code = {typed.exit_code} ] || exit"
        return (
            f"{note}; {strict}. {place} > {place}.out {both}; code=$?; set +e; trap - EXIT\n"
            f"echo $code > {place}.code; {judge}\n"
        )

    def _written(self, number: int, typed: Typed) -> Path:
        place = self.notes / f"{number}"
        place.write_text(typed.text.replace(PORT, str(self.port)), encoding="utf-8")
        return place

    def _type(self, page: Page) -> None:
        with (self.notes / "stderr").open("wb") as errors:
            typing = subprocess.Popen(
                ["bash", "--norc", str(self.notes / "page.sh")],
                env=self._environment(page),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        try:
            typing.wait(SECONDS)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(typing.pid, signal.SIGKILL)
            typing.wait()

    def _environment(self, page: Page) -> dict[str, str]:
        own = self.folder / "bin"
        own.mkdir()
        (own / "pip").write_text(_PIP)
        (own / "pip").chmod(0o755)
        is_local_here = "local model" in page.marks
        variables = {
            "PATH": f"{own}:{self.commands or BIN}:{BIN}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
            "PYTHONPATH": str(ROOT),
            "NO_PROXY": "127.0.0.1,localhost",
            **self.providers.variables(is_local_here),
        }
        if is_local_here and self.weights is not None:
            variables["INTERLINGUA_LOCAL_WEIGHTS"] = str(self.weights)
        if "keys" in page.marks:
            variables |= dict.fromkeys(KEYS, "key-of-a-stand-in")
        return variables

    def _done(self, number: int, typed: Typed) -> Done:
        place = self.notes / f"{number}"
        code = _text(place.with_suffix(".code"))
        output = self._as_shown(_text(place.with_suffix(".out")))
        errors = self._as_shown(_text(place.with_suffix(".err")))
        return Done(typed, int(code) if code else None, output, errors)

    def _as_shown(self, output: str) -> str:
        """An output as it would be on the machine that the pages speak of."""
        output = self.providers.as_shown(output).replace(str(self.port), PORT)
        return output.replace(str(self.folder), "")


def matches(shown: str, output: str) -> bool:
    """Whether a page shows the output: `…` stands for anything, and ids, times and the width of
    columns may differ."""
    pattern = re.escape(_plain(shown)).replace("…", "(?:.|\n)*?")
    return re.fullmatch(pattern, _plain(output)) is not None


def told(done: Done) -> str:
    """What was typed, and all that came of it, for people."""
    typed, code = done.typed, "still running" if done.code is None else f"exit {done.code}"
    return f":{typed.line}\n{typed.text}\n--- {code}\n{done.output}{done.errors}"


_VARYING = [
    (re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? (s|ms)\b"), "DURATION"),
    (re.compile(r"(?m)[ \t]+$"), ""),
    (re.compile(r"[ \t]{2,}"), " "),
]


def _plain(text: str) -> str:
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text.strip()


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
