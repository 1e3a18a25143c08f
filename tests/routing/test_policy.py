"""The rules file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.routing import Config, Registry, Turn, decide
from interlingua.routing.policy import Policy, PolicyReader
from interlingua.routing.turn import Needs
from tests.routing.policies import GOOD, REGISTRY, able


def read(text: str, registry: Registry | None = REGISTRY) -> Policy:
    reader = PolicyReader(registry)
    policy = reader.read(text.encode())
    assert reader.problems == []
    return policy


def problems(text: str | bytes, registry: Registry | None = REGISTRY) -> list[str]:
    reader = PolicyReader(registry)
    reader.read(text.encode() if isinstance(text, str) else text)
    return [str(problem) for problem in reader.problems]


def chosen(policy: Policy, **turn: Any) -> tuple[str | None, str | None]:
    decision = decide(Turn(**turn), Config(REGISTRY, policy), able)
    step = decision.winner
    return decision.chosen_model, step.reason if step else None


def test_rules_are_tried_from_top_to_bottom_and_those_of_the_workspace_first() -> None:
    policy = read(GOOD)
    work = "/home/me/work"
    assert chosen(policy) == ("a:fast", "global default")
    assert chosen(policy, has_images=True) == ("b:vision", "rule images")
    long = Needs(input_tokens=1001)
    assert chosen(policy, needs=long) == ("a:deep", "rule rule_1")
    assert chosen(policy, needs=long, text="a QUICK one") == ("a:fast", "global default")
    assert chosen(policy, needs=long, has_images=True) == ("b:vision", "rule images")
    assert chosen(policy, workspace_path=work) == ("a:deep", "workspace default")
    assert chosen(policy, workspace_path=work, text="Secret!", has_images=True) == (
        "a:deep",
        "workspace rule secret",
    )
    assert chosen(policy, workspace_path=work + "/", text="Secret!") == ("a:fast", "global default")
    assert chosen(policy, workspace_path=work, workspace_default="a:fast")[0] == "a:fast"
    assert (policy.pattern.cost_weight, policy.pattern.min_sample_size) == (0.1, 3)
    assert policy.pattern.min_confidence == 0.05


def test_a_rule_whose_model_cannot_serve_hands_on_to_the_next_slot_not_to_the_next_rule() -> None:
    policy = read(
        'schema_version = 1\ndefault = "a:fast"\n'
        '[[rules]]\nuse = "b:vision"\nwhen = {}\n[[rules]]\nuse = "deep"\nwhen = {}'
    )
    down = decide(
        Turn(), Config(REGISTRY, policy), able, lambda m: "down" if m == "b:vision" else None
    )
    assert down.chosen_model == "a:fast"
    assert (down.chain[2].verdict, down.chain[2].rule_name) == ("rejected", "rule_0")


def rule(body: str) -> str:
    return f"schema_version = 1\n[[rules]]\n{body}\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "schema_version: expected 1"),
        ("schema_version = 2", "schema_version: expected 1"),
        ("schema_version = true", "schema_version: expected 1"),
        ("schema_version = [", "file: not TOML in UTF-8"),
        (b"\xff\xfe", "file: not TOML in UTF-8"),
        ("schema_version = 1\nrulez = 1", "rulez: unknown; there are schema_version"),
        ("schema_version = 1\nrules = 1", "rules: expected a list of tables, found 1"),
        ("schema_version = 1\nrules = [1]", "rules[0]: expected a table, found 1"),
        ('schema_version = 1\ndefault = "x:y"', "default: no model or alias is called 'x:y'"),
        ("schema_version = 1\ndefault = 1", "default: expected a model or an alias, found 1"),
        ("schema_version = 1\naliases.x = 'y'", "aliases.x: expected a model as <provider>:<name>"),
        ("schema_version = 1\naliases.x = 'q:y'", "aliases.x: no model is called 'q:y'"),
        ("schema_version = 1\naliases.show = 'a:deep'", "aliases.show: it means something else"),
        ("schema_version = 1\naliases.'a:deep' = 'a:deep'", "this is the id of a model"),
        ("schema_version = 1\naliases = 3", "aliases: expected a table, found 3"),
        ("schema_version = 1\nworkspaces.x = 3", 'workspaces."x": expected a table, found 3'),
        ("schema_version = 1\nworkspaces.x.y = 3", 'workspaces."x".y: unknown'),
        ("schema_version = 1\npattern.cost_weight = 2", "pattern.cost_weight: expected 0 to 1"),
        ("schema_version = 1\npattern.min_sample_size = 1.5", "pattern.min_sample_size: expected"),
        ("schema_version = 1\npattern.x = 1", "pattern.x: unknown"),
        (rule("use = 'deep'"), "rules[0].when: missing"),
        (rule("when = {}"), "rules[0].use: missing"),
        (rule("use = 'deep'\nwhen = 1"), "rules[0].when: expected a table of predicates, found 1"),
        (rule("use = 'deep'\nwhen = {}\nname = ''"), "rules[0].name: expected a name"),
        (rule("use = 'nobody'\nwhen = {}"), "rules[0].use: no model or alias is called 'nobody'"),
        (rule("use = ['deep', 'a:fast']\nwhen = {}"), "rules[0].use: expected a model or an alias"),
        (rule("use = 'deep'\nwhen = {}\nfallback = 'x'"), "rules[0].fallback: unknown"),
        (rule("use = 'deep'\nwhen.weather = 'rain'"), "rules[0].when.weather: no such predicate"),
        (
            rule("use = 'deep'\nwhen.message_matches = '('"),
            "rules[0].when.message_matches: invalid regular expression",
        ),
        (rule("use = 'deep'\nwhen.message_matches = 1"), "expected a regular expression, found 1"),
        (rule("use = 'deep'\nwhen.message_contains_any = 'x'"), "expected a list of texts"),
        (rule("use = 'deep'\nwhen.message_contains_any = []"), "expected a list of texts"),
        (
            rule("use = 'deep'\nwhen.message_contains_any = ['']"),
            "message_contains_any[0]: expected",
        ),
        (rule("use = 'deep'\nwhen.has_images = 1"), "expected true or false, found 1"),
        (rule("use = 'deep'\nwhen.estimated_input_tokens_gt = -1"), "a number of tokens, found -1"),
        (rule("use = 'deep'\nwhen.estimated_input_tokens_gt = true"), "a number of tokens"),
        (
            rule("use = 'deep'\nwhen.time_of_day_between = ['25:00', '1:00']"),
            "between[0]: expected",
        ),
        (rule("use = 'deep'\nwhen.time_of_day_between = ['09:00']"), "expected two times"),
        (rule("use = 'deep'\nwhen.time_of_day_between = ['09:00', '09:00']"), "both times are the"),
        (rule("use = 'deep'\nwhen.cost_today_exceeds_usd = nan"), "expected US dollars"),
        (rule("use = 'deep'\nwhen.cost_today_exceeds_usd = -0.1"), "found a negative number"),
        (rule("use = 'deep'\nwhen.team_budget_remaining_lt = 'x'"), "expected US dollars"),
        (rule("use = 'deep'\nwhen.any_of = []"), "any_of: expected a list of tables"),
        (rule("use = 'deep'\nwhen.any_of = [{x = 1}]"), "any_of[0].x: no such predicate"),
        (rule("use = 'deep'\nwhen.not = {}"), "not: an empty table always matches"),
        (rule("use = 'deep'\nwhen = " + 20 * "{not=" + "{has_images=true}" + 20 * "}"), "deeper"),
        (
            rule("name = 'x'\nuse = 'deep'\nwhen = {}")
            + "[[rules]]\nname = 'x'\nuse = 'deep'\nwhen={}",
            "rules[1].name: another rule is called 'x'",
        ),
        (
            rule("name = 'rule_1'\nuse = 'deep'\nwhen = {}") + "[[rules]]\nuse = 'deep'\nwhen = {}",
            "rules[1].name: another rule is called 'rule_1'",
        ),
        (
            rule("name = 'x'\nuse = 'deep'\nwhen = {}")
            + "[[workspaces.w.rules]]\nname = 'x'\nuse = 'deep'\nwhen = {}",
            "workspaces.\"w\".rules[0].name: another rule is called 'x'",
        ),
    ],
)
def test_a_fault_is_named_with_its_place(text: str | bytes, problem: str) -> None:
    assert any(problem in each for each in problems(text)), problems(text)


def test_all_faults_of_a_file_are_listed_not_only_the_first() -> None:
    text = rule("use = 'nobody'\nwhen = { weather = 1, message_matches = '(' }") + "[x]\n"
    assert len(problems(text)) == 4


def test_without_a_registry_models_are_checked_for_their_form() -> None:
    assert problems(rule("use = 'x:y'\nwhen = {}"), None) == []
    assert "nor <provider>:<name>" in problems(rule("use = 'sonnet'\nwhen = {}"), None)[0]
    with_alias = "schema_version = 1\naliases.sonnet = 'x:y'\n[[rules]]\nuse = 'sonnet'\nwhen = {}"
    assert problems(with_alias, None) == []


def test_two_workspaces_may_use_the_same_names_and_unnamed_rules_never_meet() -> None:
    text = "schema_version = 1\n[[rules]]\nuse = 'deep'\nwhen = {}\n" + "".join(
        f"[[workspaces.{w}.rules]]\nname = 'same'\nuse = 'deep'\nwhen = {{}}\n"
        f"[[workspaces.{w}.rules]]\nuse = 'deep'\nwhen = {{}}\n"
        for w in "ab"
    )
    assert problems(text) == []


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: t.encode("utf-8", "ignore")))
def test_any_bytes_are_a_policy_or_a_list_of_problems(data: bytes) -> None:
    reader = PolicyReader(REGISTRY)
    reader.read(data)
    assert reader.problems or b"schema_version" in data
