"""The rules file: what it may say, what is refused, and which version is in force."""

from __future__ import annotations

import os
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.events import Bus
from interlingua.routing import (
    Config,
    PolicyFile,
    Problem,
    Registry,
    Router,
    Turn,
    check_rules,
    decide,
)
from interlingua.routing.policy import Policy, PolicyReader
from interlingua.routing.predicates import GROUPS, PREDICATES, compile_when
from interlingua.routing.turn import Needs

REGISTRY = Registry.of(["a:fast", "a:deep", "b:vision"], {"deep": "a:deep"})

GOOD = """
schema_version = 1
default = "a:fast"

[aliases]
eyes = "b:vision"

[pattern]
cost_weight = 0.1
min_sample_size = 3

[[rules]]
name = "images"
use = "eyes"
when = { has_images = true }

[[rules]]
use = "deep"
[rules.when]
estimated_input_tokens_gt = 1000
not = { message_contains_any = ["quick"] }

[workspaces."/home/me/work"]
default = "deep"
[[workspaces."/home/me/work".rules]]
name = "secret"
use = "a:deep"
when.message_matches = "(?i)^secret"
"""


def read(text: str, registry: Registry | None = REGISTRY) -> Policy:
    reader = PolicyReader(registry)
    policy = reader.read(text.encode())
    assert reader.problems == []
    return policy


def problems(text: str | bytes, registry: Registry | None = REGISTRY) -> list[str]:
    reader = PolicyReader(registry)
    reader.read(text.encode() if isinstance(text, str) else text)
    return [str(problem) for problem in reader.problems]


def holds(when: dict[str, Any], turn: Turn) -> bool:
    wrong: list[Problem] = []
    test = compile_when(when, "when", wrong)
    assert wrong == []
    return test(turn)


def chosen(policy: Policy, **turn: Any) -> tuple[str | None, str | None]:
    decision = decide(Turn(**turn), Config(REGISTRY, policy), able)
    step = decision.winner
    return decision.chosen_model, step.reason if step else None


class _Able:
    supports_images = True
    supports_tools = True
    supports_system_prompt = True
    supports_structured_output = True
    max_context_tokens = None
    accepted_image_media_types = None


def able(model: str) -> _Able:
    return _Able()


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


@pytest.mark.parametrize(
    ("when", "yes", "no"),
    [
        ({"message_matches": r"\bSQL\b"}, {"text": "some SQL here"}, {"text": "some sql"}),
        ({"message_contains_any": ["Haus", "x"]}, {"text": "ein haus"}, {"text": "ein boot"}),
        (
            {"estimated_input_tokens_gt": 5},
            {"needs": Needs(input_tokens=6)},
            {"needs": Needs(input_tokens=5)},
        ),
        (
            {"estimated_input_tokens_lt": 5},
            {"needs": Needs(input_tokens=4)},
            {"needs": Needs(input_tokens=5)},
        ),
        ({"has_images": True}, {"has_images": True}, {"has_images": False}),
        ({"has_images": False}, {"has_images": False}, {"has_images": True}),
        ({"has_tool_calls_in_history": True}, {"has_tool_calls_in_history": True}, {}),
        ({"skills_matching_message_includes": "pdf"}, {"skills": ("pdf", "x")}, {"skills": ("x",)}),
        ({"skills_matching_message_includes": ["a", "b"]}, {"skills": ("b",)}, {}),
        (
            {"file_extensions_in_context": [".py", "TS"]},
            {"file_extensions": ("PY",)},
            {"file_extensions": (".pyc",)},
        ),
        (
            {"workspace_path_matches": "^/srv/"},
            {"workspace_path": "/srv/a"},
            {"workspace_path": "/home/srv/"},
        ),
        ({"workspace_path_matches": "x"}, {"workspace_path": "x"}, {"workspace_path": None}),
        (
            {"time_of_day_between": ["09:00", "17:30"]},
            {"time_of_day": time(9)},
            {"time_of_day": time(17, 30)},
        ),
        (
            {"time_of_day_between": ["22:00", "06:00"]},
            {"time_of_day": time(5, 59, 59)},
            {"time_of_day": time(6)},
        ),
        ({"time_of_day_between": ["22:00", "06:00"]}, {"time_of_day": time(23)}, {}),
        (
            {"cost_today_exceeds_usd": Decimal("0.1")},
            {"cost_today_usd": Decimal("0.100001")},
            {"cost_today_usd": Decimal("0.1")},
        ),
        (
            {"team_budget_remaining_lt": 5},
            {"team_budget_remaining_usd": Decimal("4.99")},
            {"team_budget_remaining_usd": Decimal(5)},
        ),
        ({"team_budget_remaining_lt": 5}, {"team_budget_remaining_usd": Decimal(0)}, {}),
        (
            {"any_of": [{"has_images": True}, {"message_matches": "x"}]},
            {"text": "x"},
            {"text": "y"},
        ),
        (
            {"all_of": [{"has_images": True}, {"message_matches": "x"}]},
            {"text": "x", "has_images": True},
            {"text": "x"},
        ),
        ({"not": {"has_images": True}}, {}, {"has_images": True}),
        (
            {"message_matches": "x", "has_images": True},
            {"text": "x", "has_images": True},
            {"has_images": True},
        ),
    ],
)
def test_each_predicate_holds_where_it_should_and_nowhere_else(
    when: dict[str, Any], yes: dict[str, Any], no: dict[str, Any]
) -> None:
    assert holds(when, Turn(**yes))
    assert not holds(when, Turn(**no))


def test_the_set_of_predicates_is_closed() -> None:
    names = (
        "message_matches message_contains_any estimated_input_tokens_gt estimated_input_tokens_lt"
        " has_images has_tool_calls_in_history skills_matching_message_includes"
        " file_extensions_in_context workspace_path_matches time_of_day_between"
        " cost_today_exceeds_usd team_budget_remaining_lt any_of all_of not"
        " tool_side_effects_include"
    )
    assert sorted([*PREDICATES, *GROUPS]) == sorted(names.split())


@given(
    st.recursive(
        st.sampled_from([{"has_images": True}, {"message_matches": "x"}, {}]),
        lambda inner: st.one_of(
            st.builds(lambda a: {"any_of": a}, st.lists(inner, min_size=1, max_size=3)),
            st.builds(lambda a: {"all_of": a}, st.lists(inner, min_size=1, max_size=3)),
            st.builds(lambda a: {"not": a}, inner.filter(bool)),
        ),
        max_leaves=8,
    ),
    st.booleans(),
    st.sampled_from(["x", "y"]),
)
def test_groups_mean_what_they_say_however_they_nest(when: Any, images: bool, text: str) -> None:
    def meaning(table: dict[str, Any]) -> bool:
        return all(
            any(map(meaning, value))
            if key == "any_of"
            else all(map(meaning, value))
            if key == "all_of"
            else not meaning(value)
            if key == "not"
            else images is value
            if key == "has_images"
            else value in text
            for key, value in table.items()
        )

    assert holds(when, Turn(text=text, has_images=images)) == meaning(when)


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
        (rule("use = 'deep'\nwhen.not = {}"), "not: an empty table always holds"),
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
    assert "no <provider>:<name>" in problems(rule("use = 'sonnet'\nwhen = {}"), None)[0]
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


# ---------------------------------------------------------------------- the file on disk


def test_checking_a_file_lists_its_problems(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    assert check_rules(path, REGISTRY)[0].path == "file"
    path.write_text(GOOD, encoding="utf-8")
    assert check_rules(path, REGISTRY) == []
    assert [p.path for p in check_rules(path)] == [
        "rules[1].use",
        'workspaces."/home/me/work".default',
    ]
    path.write_bytes(b"\xef\xbb\xbfschema_version = 1\n")
    assert check_rules(path) == []
    path.write_bytes(b"#" * (1 << 20) + b"##")
    assert "larger than" in str(check_rules(path)[0])
    assert check_rules(tmp_path)[0].path == "file"


def touch(path: Path, text: str, tick: int) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(tick, tick))


def test_a_faulty_file_leaves_the_last_good_one_in_force_and_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    rules = PolicyFile(path, REGISTRY)
    assert rules.read().policy.everywhere.default is None
    touch(path, GOOD, 1_000)
    good = rules.read().policy
    assert good.everywhere.default == "a:fast"
    touch(path, GOOD + "[[", 2_000)
    policy, invalid = rules.read()
    assert policy is good
    assert invalid is not None
    assert invalid.version_in_force == good.version
    assert "not TOML" in invalid.problems[0]
    assert rules.read() == (good, None)
    assert Bus(strict=True).emit("routing.policy_invalid", invalid) is not None
    touch(path, GOOD.replace("a:fast", "a:deep"), 3_000)
    repaired = rules.read()
    assert (repaired.policy.everywhere.default, repaired.invalid) == ("a:deep", None)
    assert repaired.policy.version != good.version
    path.unlink()
    assert rules.read().policy.everywhere.default is None


def test_a_file_that_did_not_change_is_not_read_again_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    touch(path, GOOD, 1_000)
    rules = PolicyFile(path, REGISTRY)
    first = rules.read().policy
    assert rules.read().policy is first
    assert rules.read(reload=True).policy is not first


def test_a_router_takes_up_a_changed_file_with_the_next_turn(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    touch(path, GOOD, 1_000)
    types: list[str] = []
    router = Router(
        REGISTRY,
        able,
        rules=PolicyFile(path, REGISTRY),
        emit=lambda type, payload: types.append(type),
    )
    assert router.route(Turn()).chosen_model == "a:fast"
    assert router.route(Turn(override="eyes")).chosen_model == "b:vision"
    touch(path, GOOD.replace('default = "a:fast"', 'default = "a:deep"'), 2_000)
    assert router.route(Turn()).chosen_model == "a:deep"
    touch(path, "rubbish", 3_000)
    assert router.route(Turn()).chosen_model == "a:deep"
    assert types.count("routing.policy_invalid") == 1
    assert types.count("route.decided") == 4
