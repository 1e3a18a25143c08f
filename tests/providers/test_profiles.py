"""Profiles of models at their providers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlingua.client.targets import Targets
from interlingua.providers.profiles import lookup_here
from interlingua.sessions.adapters import Adapter
from tests.sessions.asked import FILE


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    return tmp_path


def test_a_rule_about_the_dialect_holds_for_adapters_and_clients(home: Path) -> None:
    (home / "profiles.toml").write_text(
        '[[rule]]\nid = "mine"\nmodels = ["gpt-4o"]\nspeaks = { dialect = "openai-responses" }\n'
    )
    assert Adapter("openai:gpt-4o").dialect.name == "openai-responses"
    assert Targets(environ={}).find("openai:gpt-4o").dialect.name == "openai-responses"


def test_a_file_that_has_changed_is_read_again(home: Path) -> None:
    before = lookup_here()
    assert lookup_here() is before
    file = home / "profiles.toml"
    file.write_text(FILE)
    assert lookup_here() is not before
    seen = lookup_here()
    file.write_text(FILE.replace("never", "always"))
    os.utime(file, ns=(1, 1))
    assert lookup_here() is not seen
