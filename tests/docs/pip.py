"""Stands in for `pip` where samples are run: nothing is fetched, and it is said what would be
wrong with it. Of our own package it takes the extras that there are; of others, those that are
installed here or are named by `ELSEWHERE`."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution

from tests.docs.samples import ROOT

ELSEWHERE = {"llm", "litellm"}
"""Packages that a page tells to install, and that tests can do without."""


def main() -> None:
    command, *words = sys.argv[1:]
    wanted = [word for word in words if not word.startswith("-")]
    if command != "install" or not wanted:
        sys.exit(f"the stand-in for pip cannot do this: {sys.argv[1:]}")
    for word in wanted:
        check(word)


def check(requirement: str) -> None:
    name, extras = re.fullmatch(r"([\w.-]+?)(?:\[([\w,-]+)\])?(?:[=<>~].*)?", requirement).groups()  # type: ignore[union-attr]
    if name == "interlingua":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        unknown = set((extras or "").split(",")) - {""} - set(project["optional-dependencies"])
        if unknown:
            sys.exit(f"interlingua has no extra {', '.join(sorted(unknown))}")
        return
    try:
        distribution(name)
    except PackageNotFoundError:
        if name not in ELSEWHERE:
            sys.exit(f"{name} is not installed here")


if __name__ == "__main__":
    main()
