"""What a user says about models, laid over the package's rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlingua.profiles.fields import Limits
from interlingua.profiles.overlay import (
    ProfileError,
    own_profiles,
    profile_at,
    profile_from,
    profiles_from,
)
from interlingua.profiles.profile import Profiles, Rule, bundled, profile_of
from interlingua.providers import ProvidersFileError, provider


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    return tmp_path


def test_a_users_file_stands_over_the_packages_rules_even_those_for_exact_names(home: Path) -> None:
    exact = profile_of("gpt-6-astra", "openai")
    assert exact.rule("reasoning.off") in [r for r in bundled().rules if r.models]
    (home / "profiles.toml").write_text(
        '[[rule]]\nid = "mine"\nfamily = "gpt"\nat = ["openai"]\nreasoning = { off = true }\n'
    )
    found = own_profiles().of("gpt-6-astra", "openai")
    assert found.reasoning.off is True
    assert str(found.rule("reasoning.off")) == "rule mine"
    assert found.reasoning.efforts == exact.reasoning.efforts


def test_what_a_provider_told_stands_under_what_the_user_says(home: Path) -> None:
    (home / "profiles").mkdir()
    result = '[[rule]]\nid = "told"\nmodels = ["m"]\nlimits = { output = 1, stop = 1 }\n'
    (home / "profiles" / "ollama.toml").write_text(result)
    own = '[[rule]]\nid = "own"\nmodels = ["m"]\nlimits = { output = 2 }\n'
    (home / "profiles.toml").write_text(own)
    assert own_profiles().of("m", "ollama").limits == Limits(output=2, stop=1)


def test_without_files_the_packages_rules_are_all_there_is(home: Path) -> None:
    assert own_profiles() is bundled()


def test_a_provider_may_say_what_all_of_its_models_take(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(
        '[providers.acme]\nbase_url = "https://acme.test/v1"\n'
        'profile = { like = "anthropic", limits = { output = 1000 } }\n'
    )
    overlay = provider("acme", file).profile
    found = profile_at(bundled(), "claude-opus-4-8", "acme", "anthropic", overlay)
    assert found.limits.output == 1000
    assert found.rule("limits.output") == overlay.as_rule("provider acme") if overlay else False
    assert found.sampling.top_p == "never"  # as at Anthropic's own
    assert (
        profile_at(bundled(), "claude-opus-4-8", "acme", "anthropic", None).sampling.top_p is None
    )


def test_a_wrong_field_of_a_providers_profile_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text("[providers.openai]\n\nprofile = { sampling = { temperatur = 'never' } }\n")
    with pytest.raises(ProvidersFileError, match=r"line 3, at .*profile.sampling.temperatur"):
        provider("openai", file)


def test_a_client_takes_rules_tables_a_path_or_profiles(home: Path) -> None:
    table = {"models": ["m"], "limits": {"output": 7}}
    rule = Rule(id="r", models=("m",), limits=Limits(output=7))
    path = home / "some.toml"
    path.write_text('[[rule]]\nid = "f"\nmodels = ["m"]\nlimits = { output = 7 }\n')
    items: list[Any] = [
        [table],
        [rule],
        path,
        str(path),
        Profiles([rule]),
        bundled().overlaid([rule]),
    ]
    for each in items:
        assert profiles_from(each).of("m").limits.output == 7
    (home / "profiles.toml").write_bytes(path.read_bytes())
    assert profiles_from(None).of("m").limits.output == 7


def test_a_call_lays_its_own_over_what_the_model_takes() -> None:
    under = profile_of("claude-opus-4-8", "anthropic", "anthropic")
    found = profile_from({"sampling": {"temperature": "always"}}, under)
    assert found.sampling.temperature == "always"
    assert found.sampling.top_p == "never"
    assert str(found.rule("sampling.temperature")) == "rule profile of the call"
    assert under.sampling.temperature == "one"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sampling": {"temperature": "sometimes"}}, "at sampling.temperature: Invalid enum value"),
        ({"smapling": {}}, "at smapling: Object contains unknown field"),
        ({"limits": {"output": "many"}}, "at limits.output: Expected `int | null`"),
    ],
)
def test_a_profile_that_is_none_is_an_error_with_its_place(
    given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ProfileError) as wrong:
        profile_from(given, profile_of("m"))
    assert said in str(wrong.value)
    with pytest.raises(ProfileError, match="rule 1, at version: a range of versions"):
        profiles_from([{"version": "4.x"}])
