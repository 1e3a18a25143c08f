"""The models that are configured, by id and by short name."""

from __future__ import annotations

import pytest

from interlingua.routing import ModelEntry, Registry, RegistryError
from tests.routing.names import REGISTRY, SONNET


@pytest.mark.requirement("S002-70")
def test_a_short_name_stands_for_one_model_only() -> None:
    assert REGISTRY.resolve("sonnet") == REGISTRY.resolve(SONNET) == SONNET
    assert REGISTRY.resolve("opus") is None
    with pytest.raises(RegistryError, match="stands for a:1 and for a:2"):
        Registry([ModelEntry(id="a:1", aliases=("x",)), ModelEntry(id="a:2", aliases=("x",))])
    with pytest.raises(RegistryError, match="also the id"):
        Registry([ModelEntry(id="a:1"), ModelEntry(id="a:2", aliases=("a:1",))])
    with pytest.raises(RegistryError, match="twice"):
        Registry([ModelEntry(id="a:1"), ModelEntry(id="a:1")])


@pytest.mark.parametrize("id", ["sonnet", ":x", "x:", "", "a: b"])
def test_what_is_no_model_id_is_refused(id: str) -> None:
    with pytest.raises(RegistryError, match="<provider>:<name>"):
        Registry([ModelEntry(id=id)])


@pytest.mark.parametrize("alias", ["", "-", "show", "a b", "@x"])
def test_words_that_mean_something_else_are_no_short_names(alias: str) -> None:
    with pytest.raises(RegistryError, match="alias"):
        Registry([ModelEntry(id="a:1", aliases=(alias,))])


def test_a_users_own_short_name_wins_over_the_registrys() -> None:
    own = REGISTRY.with_aliases({"s": "openrouter:deepseek/deepseek-v3"})
    assert own.resolve("s") == "openrouter:deepseek/deepseek-v3"
    assert REGISTRY.resolve("s") == SONNET
