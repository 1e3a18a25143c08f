"""The public names: each can be loaded, and type checkers see the same ones."""

import ast
from pathlib import Path

import pytest

import interlingua as il

SOURCE = Path(il.__file__).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", il.__all__)
def test_every_public_name_can_be_loaded(name: str) -> None:
    assert getattr(il, name) is not None


def test_type_checkers_see_just_the_names_that_can_be_loaded() -> None:
    imported = {
        (alias.asname, node.module)
        for node in ast.walk(ast.parse(SOURCE))
        if isinstance(node, ast.ImportFrom)
        and node.module
        and node.module.startswith("interlingua.")
        for alias in node.names
    }
    assert imported == {(name, f"interlingua.{module}") for name, module in il._WHERE.items()}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        il.nonsense  # noqa: B018  # the access is what is tested


def test_errors_have_one_root() -> None:
    names = [name for name in il.__all__ if name.endswith("Error") and name != "ProviderError"]
    assert all(issubclass(getattr(il, name), il.InterlinguaError) for name in names)


def test_functions_that_are_named_like_their_module_stay_callable() -> None:
    import interlingua.dialects.record
    import interlingua.retell  # noqa: F401  # importing it is what is tested

    assert "anthropic" in il.dialects()
    assert il.retell([il.Message.user("a")], "anthropic").report.losses == []
