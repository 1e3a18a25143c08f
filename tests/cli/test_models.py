"""`interlingua models ID --profile`: what a model takes, and who says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import ok, run, told


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    return tmp_path


def test_each_field_is_shown_with_the_rule_behind_it() -> None:
    lines = ok("models", "anthropic:claude-opus-4-6", "--profile").splitlines()
    efforts = next(line for line in lines if line.startswith("reasoning.efforts"))
    assert efforts.split()[1:7] == ["low,", "medium,", "high,", "max", "claude-4.6", "observed"]


def test_machines_get_values_rules_and_sources() -> None:
    found = told("models", "sonnet", "--profile")
    assert found["dialect"] == "anthropic"
    assert found["profile"]["tools"]["choice"] == ["auto", "none"]
    behind = found["rules"]["tools.choice"]
    assert behind["id"] == "claude-no-forced-tools"
    assert behind["sure"] == "observed"
    assert behind["sources"]
    assert behind["since"]


def test_a_dialect_may_be_named(home: Path) -> None:
    chat = told("models", "openai:gpt-5.6", "--profile", "--dialect", "openai-chat")
    assert "max" not in chat["profile"]["reasoning"]["efforts"]
    responses = told("models", "openai:gpt-5.6", "--profile", "--dialect", "openai-responses")
    assert "max" in responses["profile"]["reasoning"]["efforts"]


def test_the_users_own_rules_and_providers_count(home: Path) -> None:
    (home / "profiles.toml").write_text(
        '[[rule]]\nid = "mine"\nat = ["acme"]\nlimits = { output = 5 }\n'
    )
    (home / "providers.toml").write_text(
        '[providers.acme]\nbase_url = "https://acme.test/v1"\nprofile = { limits = { stop = 2 } }\n'
    )
    found = told("models", "acme:large", "--profile")
    assert found["profile"]["limits"] == {"output": 5, "stop": 2}
    assert found["rules"]["limits.output"]["id"] == "mine"
    assert found["rules"]["limits.stop"]["id"] == "provider acme"


def test_a_model_without_rules_and_a_wrong_file_are_said(home: Path) -> None:
    (home / "providers.toml").write_text(
        '[providers.acme]\nbase_url = "https://acme.test"\ndialect = "ollama"\n'
    )
    assert "There are no rules for acme:m" in run("models", "acme:m", "--profile").stderr
    (home / "profiles.toml").write_text('[[rule]]\nid = "mine"\nlimits = { output = "5" }\n')
    result = run("models", "acme:m", "--profile")
    assert result.exit_code == 1
    assert "profiles.toml, line 3, rule 'mine', at limits.output: Expected" in result.stderr
    assert run("models", "--profile").exit_code == 2


def test_a_conversion_for_a_model_is_fitted_by_the_users_rules_too(home: Path) -> None:
    (home / "profiles.toml").write_text(
        '[[rule]]\nid = "mine"\nmodels = ["claude-opus-4-6"]\nlimits = { output = 77 }\n'
    )
    file = home / "body.json"
    file.write_text(
        '{"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}'
    )
    args = ("--from", "openai-chat", "--to", "anthropic", "--model", "anthropic:claude-opus-4-6")
    for more in ((), ("--lines", "--jobs", "1")):
        out = ok("convert", str(file), *args, *more)
        assert '"max_tokens":77' in out
        assert '"model":"claude-opus-4-6"' in out
