"""What a user installs: the package and its metadata, and nothing else."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "interlingua"

# The build backend's own hook, called as a front end calls it but without a fresh environment.
BUILD = """
import importlib, sys
print(importlib.import_module(sys.argv[1]).build_wheel(sys.argv[2]))
"""


def built_wheel(directory: Path) -> Path:
    """The wheel, built into a folder."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built = subprocess.run(
        [sys.executable, "-c", BUILD, pyproject["build-system"]["build-backend"], str(directory)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert built.returncode == 0, built.stderr
    name: str = built.stdout.split()[-1]
    return directory / name


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel_names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as files:
        return files.namelist()


def test_two_builds_are_equal(wheel: Path, tmp_path: Path) -> None:
    module = PACKAGE / "__init__.py"
    seen = module.stat()
    os.utime(module, (seen.st_atime, seen.st_mtime + 100))  # a checkout has times of its own
    try:
        again = built_wheel(tmp_path)
    finally:
        os.utime(module, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert again.read_bytes() == wheel.read_bytes()


def test_wheel_holds_only_the_package_and_its_metadata(wheel_names: list[str]) -> None:
    tops = {name.split("/")[0] for name in wheel_names}
    dist_info = {top for top in tops if top.endswith(".dist-info")}
    assert tops == {"interlingua"} | dist_info
    assert len(dist_info) == 1
    assert not [name for name in wheel_names if name.endswith(".pth")]


def test_wheel_holds_every_file_of_the_package(wheel_names: list[str]) -> None:
    files = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel_names if name.startswith("interlingua/")} == files


def test_wheel_ships_type_marker_and_licence(wheel_names: list[str]) -> None:
    assert "interlingua/py.typed" in wheel_names
    assert [name for name in wheel_names if name.endswith(".dist-info/licenses/LICENSE")]


def test_links_of_the_description_are_absolute_once_there_is_a_repository() -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)
    page = "![p](docs/p.png) [a](docs/a.md#b) [c](https://example.com) [d](#d)"
    assert hook.absolute(page, None) == page
    assert hook.absolute(page, "https://code.example/x/") == (
        "![p](https://code.example/x/raw/HEAD/docs/p.png) "
        "[a](https://code.example/x/blob/HEAD/docs/a.md#b) [c](https://example.com) [d](#d)"
    )
    readme = hook.absolute((ROOT / "README.md").read_text("utf-8"), "https://code.example/x")
    assert not re.search(r"\]\((?!https?:|#)", readme)


def test_the_description_is_the_readme(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        [name] = [each for each in opened.namelist() if each.endswith("/METADATA")]
        description = opened.read(name).decode().partition("\n\n")[2]
    assert description.strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
