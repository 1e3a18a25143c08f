"""The core groups of the gate on other interpreters: python -m tests.pythons python3.12 python3.13

Each interpreter gets an environment `.venv-<name>` with everything that development needs. What is
not on the machine is named and left out. The exit code is 1 if a group fails, or no interpreter is
found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tools.groups import of_project

ROOT = Path(__file__).parents[1]
CORE = ("dialects", "values", "laws", "laws-more", "client")
"""Groups of the gate: conversions, values, the laws and the client."""


def run_core(interpreter: str) -> bool:
    """Whether the core groups pass on an interpreter."""
    folder = ROOT / f".venv-{Path(interpreter).name}"
    python = str(folder / "bin" / "python")
    if not folder.exists():
        subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "-e", ".[all]", *of_project("dev")]
    subprocess.run(install, cwd=ROOT, check=True)
    return subprocess.run([python, "-m", "tests.gate", *CORE], cwd=ROOT).returncode == 0


def main(interpreters: list[str]) -> int:
    found = [each for each in interpreters if shutil.which(each)]
    results = {each: run_core(each) for each in found}
    for each in interpreters:
        text = {True: "passed", False: "FAILED", None: "not on this machine"}[results.get(each)]
        print(f"{each}: {text}")
    return 0 if results and all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
