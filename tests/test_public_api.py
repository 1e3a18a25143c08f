"""The public names: each can be loaded, and type checkers see the same ones."""

import inspect
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import interlingua as il

STUB = Path(__file__).parents[1] / "docs" / "stub.py"


@pytest.mark.parametrize("name", il.__all__)
def test_every_public_name_can_be_loaded(name: str) -> None:
    assert getattr(il, name) is not None


@pytest.mark.parametrize("name", il.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(il, name)), name


def test_the_stub_has_just_the_names_that_can_be_loaded() -> None:
    made = runpy.run_path(str(STUB))
    printed = made["PLACE"].read_text(encoding="utf-8")
    assert printed == made["stub"](), "make docs prints it anew"


def test_dir_has_all_names() -> None:
    assert {"convert", "Client", "tool"} <= set(dir(il))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        il.nonsense  # noqa: B018  # the access is what is tested


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    program = "import interlingua as il; il.convrt"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "Did you mean: 'convert'?" in done.stderr


def test_errors_have_one_root() -> None:
    names = [name for name in il.__all__ if name.endswith("Error") and name != "ProviderError"]
    assert all(issubclass(getattr(il, name), il.InterlinguaError) for name in names)


def test_functions_that_are_named_like_their_module_stay_callable() -> None:
    import interlingua.adapt.history.retell  # noqa: F401  # importing it is what is tested

    assert "anthropic" in il.dialects()
    assert il.retell([il.Message.user("a")], "anthropic").report.entries == []
