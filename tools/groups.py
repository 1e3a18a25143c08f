"""The requirements of a dependency group of pyproject.toml, for a pip that has no --group.

python tools/groups.py dev > requirements.txt
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def requirements(groups: dict[str, list[Any]], name: str) -> Iterator[str]:
    """The lines of a group, and those of the groups that it includes."""
    for entry in groups[name]:
        if isinstance(entry, str):
            yield entry
        else:
            yield from requirements(groups, entry["include-group"])


def of_project(name: str) -> list[str]:
    """The lines of one of our own groups."""
    groups = tomllib.loads(PYPROJECT.read_text("utf-8"))["dependency-groups"]
    return list(requirements(groups, name))


if __name__ == "__main__":
    print("\n".join(of_project(sys.argv[1])))
