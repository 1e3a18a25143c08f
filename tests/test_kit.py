"""The files of an open project: they parse, name what exists, and run what the Makefile runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import interlingua

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"


@pytest.mark.parametrize(
    "path", sorted(GITHUB.rglob("*.yml")), ids=lambda path: str(path.relative_to(GITHUB))
)
def test_forms_and_workflows_are_yaml_with_names(path: Path) -> None:
    found = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(found, dict)
    assert path.stem == "config" or found["name"]


def test_workflows_call_targets_of_the_makefile_and_folders_of_the_tests() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = "".join(path.read_text("utf-8") for path in (GITHUB / "workflows").glob("*.yml"))
    called = set(re.findall(r"run: make ([a-z-]+)", text))
    assert called
    assert called <= targets
    folders = set(re.findall(r"\btests/[a-z_]+", text))
    assert folders
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == interlingua.__version__
    assert citation["license"] == "MIT"
