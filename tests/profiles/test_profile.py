"""Profiles: rules that match a model, folded, each field with the rule behind it."""

from __future__ import annotations

import pytest

from interlingua.profiles.fields import Limits, Sampling
from interlingua.profiles.profile import Profiles, Rule, bundled, fold, profile_of


def test_later_rules_stand_over_earlier_ones_and_each_field_knows_its_rule() -> None:
    first = Rule(id="first", limits=Limits(output=1, stop=4))
    second = Rule(id="second", limits=Limits(output=2))
    profile = fold([first, second])
    assert profile.limits == Limits(output=2, stop=4)
    assert profile.rule("limits.output") is second
    assert profile.rule("limits.stop") is first
    assert profile.rule("limits.images") is None


def test_a_rule_for_an_exact_name_stands_over_later_patterns() -> None:
    exact = Rule(id="exact", models=("gpt-9-mini",), limits=Limits(output=1))
    pattern = Rule(id="pattern", family="gpt", limits=Limits(output=2))
    profiles = Profiles([exact, pattern])
    assert profiles.of("gpt-9-mini").limits.output == 1
    assert profiles.of("gpt-9").limits.output == 2


@pytest.mark.parametrize(
    ("version", "name", "holds"),
    [
        (">=4.7", "claude-haiku-4-5", False),
        (">=4.7", "claude-opus-6", True),
        (">=4.7", "us.anthropic.claude-opus-4-8-v1:0", True),
        ("5", "claude-opus-5", True),
        ("5", "claude-opus-5-5", False),
        (">=4 <4.6", "claude-sonnet-4-5-20250929", True),
        (">=4", "~anthropic/claude-opus-latest", True),
        (">=4", "claude", False),
    ],
)
def test_versions_are_parsed_and_never_globs(version: str, name: str, holds: bool) -> None:
    rules = [Rule(id="r", family="claude", version=version, sampling=Sampling(n=1))]
    assert bool(Profiles(rules).of(name)) is holds


def test_a_range_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="range of versions"):
        Profiles([Rule(id="r", version="4.x")]).of("claude-opus-4")


def test_without_a_provider_the_dialect_says_whose_model_it_is() -> None:
    bare = profile_of("claude-opus-4-8", None, "anthropic")
    assert bare.sampling.top_p == "never"
    assert profile_of("claude-opus-4-8", "somebody", "anthropic").sampling.top_p is None


def test_every_rule_of_the_package_has_an_id_of_its_own_a_source_and_a_date() -> None:
    rules = bundled().rules
    assert len({rule.id for rule in rules}) == len(rules)
    assert all(rule.sources and rule.since for rule in rules)
