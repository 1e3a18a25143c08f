"""What a user says about models counts where a model is chosen, as it does where it is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlingua.agents.chat.setup import Setup


def test_own_rules_decide_what_routing_believes_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    hoped = Setup({}).router.capabilities("ollama:mine")
    assert hoped is not None
    assert hoped.supports_images
    (tmp_path / "profiles.toml").write_text(
        '[[rule]]\nid = "blind"\nmodels = ["mine"]\nat = ["ollama"]\nmedia = { image = false }\n'
    )
    (tmp_path / "providers.toml").write_text(
        "[providers.ollama]\nprofile = { tools = { calls = false } }\n"
    )
    found = Setup({}).router.capabilities("ollama:mine")
    assert found is not None
    assert (found.supports_images, found.supports_tools) == (False, False)
