"""Type checkers accept a program that uses every public name."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import interlingua as il

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")


def checked(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command, str(PROGRAM)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_uses_every_public_name() -> None:
    used = set(re.findall(r"\bil\.(\w+)", PROGRAM.read_text(encoding="utf-8")))
    assert set(il.__all__) <= used, sorted(set(il.__all__) - used)


def test_mypy_accepts_it() -> None:
    checked("mypy", "--strict")


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed here")
def test_pyright_accepts_it() -> None:
    checked("pyright", "--pythonpath", sys.executable)
