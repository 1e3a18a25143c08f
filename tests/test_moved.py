"""Modules that moved are found under their old paths for one release."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import interlingua


@pytest.mark.parametrize("old", sorted(interlingua._MOVED.keys() - interlingua._MODULES))
def test_a_module_is_found_under_its_old_path_with_a_warning(old: str) -> None:
    if old == "engines":
        pytest.importorskip("pyarrow")
    name = f"interlingua.{old}"
    for loaded in [each for each in sys.modules if each == name or each.startswith(name + ".")]:
        del sys.modules[loaded]
    with pytest.warns(DeprecationWarning, match=f"interlingua.{old} has moved to interlingua."):
        module = importlib.import_module(name)
    assert module is importlib.import_module(f"interlingua.{interlingua._MOVED[old]}")
    assert module.__spec__ is not None
    assert module.__spec__.name == module.__name__


@pytest.mark.parametrize("name", interlingua._MODULES)
def test_a_module_that_people_use_is_an_attribute_and_can_be_imported(name: str) -> None:
    if name == "arrow":
        pytest.importorskip("pyarrow")
    program = (
        "import warnings; warnings.simplefilter('error')\n"
        "import interlingua as il\n"
        f"first = il.{name}\n"
        f"from interlingua import {name}\n"
        f"import interlingua.{name} as again\n"
        f"assert first is {name} is again\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_module_inside_a_moved_package_is_the_same_module() -> None:
    program = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from interlingua.models.profile import Profile\n"
        "import interlingua as il\n"
        "assert Profile is il.Profile\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_path_that_never_was_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("interlingua.nowhere")
