"""Routing for a running program: rules files that change."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.events import Bus, EventError, TurnTrace
from interlingua.model.metadata import RoutingMode
from interlingua.routing import (
    MODES,
    Availability,
    Config,
    Decision,
    DelegateRequest,
    FailureCode,
    ModelEntry,
    Needs,
    NoModelError,
    PatternStats,
    PolicyFile,
    Registry,
    Router,
    Slot,
    Turn,
    UnknownAliasError,
    Verdict,
    check_rules,
    decide,
)
from tests.routing import policies
from tests.routing.chains import MODELS, REGISTRY, Record, able, full_turn
from tests.routing.policies import GOOD


def test_checking_a_file_lists_its_problems(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    assert check_rules(path, policies.REGISTRY)[0].path == "file"
    path.write_text(GOOD, encoding="utf-8")
    assert check_rules(path, policies.REGISTRY) == []
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
    rules = PolicyFile(path, policies.REGISTRY)
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
    rules = PolicyFile(path, policies.REGISTRY)
    first = rules.read().policy
    assert rules.read().policy is first
    assert rules.read(reload=True).policy is not first


def test_a_router_takes_up_a_changed_file_with_the_next_turn(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    touch(path, GOOD, 1_000)
    types: list[str] = []
    router = Router(
        policies.REGISTRY,
        policies.able,
        rules=PolicyFile(path, policies.REGISTRY),
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


@given(st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_the_first_candidate_that_can_serve_wins_and_the_chain_ends_there(
    slots: set[int], broken: set[int]
) -> None:
    turn, config = full_turn(slots)
    down = {MODELS[index] for index in broken}
    decision = decide(turn, config, able, lambda model: "down" if model in down else None)
    winner = min(slots - broken, default=None)
    assert decision.chosen_model == (None if winner is None else MODELS[winner])
    assert decision.winner_index == (-1 if winner is None else winner)
    assert [step.policy for step in decision.chain] == list(Slot)[
        : 7 if winner is None else winner + 1
    ]
    for index, step in enumerate(decision.chain):
        if index not in slots:
            assert (step.verdict, step.candidate_model) == (Verdict.NOT_APPLICABLE, None)
        elif index in broken:
            assert step.verdict is Verdict.REJECTED
            assert step.validation_failure is FailureCode.PROVIDER_UNAVAILABLE
            assert step.candidate_model == MODELS[index]
        else:
            assert (index, step.verdict) == (winner, Verdict.CHOSE)
            assert step.validation_failure is None


@pytest.mark.requirement("S002-41")
def test_the_slots_and_their_order_and_the_mode_of_each() -> None:
    modes = [decide(*full_turn({index}), able).record().mode for index in range(7)]
    assert modes == ["override", "manual", "rule", "pattern", "delegate", "default", "default"]
    assert list(Slot) == [
        "per_message_override",
        "manual_sticky",
        "rule",
        "pattern",
        "delegate_request",
        "workspace_default",
        "global_default",
    ]
    assert set(MODES) == set(Slot)
    assert list(Verdict) == ["not_applicable", "deferred", "rejected", "chose"]


def test_there_are_six_modes_and_each_can_be_reached() -> None:
    assert sorted(RoutingMode) == sorted(set(MODES.values()))
    assert len(RoutingMode) == 6


@pytest.mark.requirement("S002-70")
def test_aliases_work_in_every_place_where_a_model_is_named() -> None:
    registry = Registry.of(
        ["anthropic:claude-sonnet-4-6"], {"sonnet": "anthropic:claude-sonnet-4-6"}
    )
    turns: list[tuple[Turn, str | None]] = [
        (Turn(override="sonnet"), None),
        (Turn(sticky="sonnet"), None),
        (Turn(workspace_default="sonnet"), None),
        (Turn(), "sonnet"),
    ]
    for turn, default in turns:
        decision = decide(turn, Config(registry, global_default=default), able)
        assert decision.chosen_model == "anthropic:claude-sonnet-4-6"


def test_an_override_that_names_no_model_is_an_error_and_no_other_slot_is_asked() -> None:
    _, config = full_turn({6})
    with pytest.raises(UnknownAliasError, match=r"p:overide.*did you mean p:override"):
        decide(Turn(override="p:overide"), config, able)


def test_a_sticky_or_default_model_that_is_not_configured_is_passed_over() -> None:
    _, config = full_turn({6})
    decision = decide(Turn(sticky="gone:model"), config, able)
    assert decision.chain[1].validation_failure is FailureCode.NOT_CONFIGURED
    assert decision.chosen_model == "p:global"


def test_with_no_model_at_all_the_error_lists_what_was_tried() -> None:
    turn, config = full_turn({1, 6})
    decision = decide(turn, config, able, lambda model: "it is down")
    with pytest.raises(NoModelError) as error:
        decision.require()
    assert "p:sticky: it is down; p:global: it is down" in str(error.value)
    assert error.value.decision is decision
    with pytest.raises(NoModelError, match="none is configured"):
        decide(Turn(), Config(), able).record()


@pytest.mark.requirement("S002-84")
def test_a_turn_with_tools_falls_through_to_a_model_that_has_them() -> None:
    turn, config = full_turn({1, 6})
    turn = msgspec.structs.replace(turn, needs=Needs(tools=True))

    def records(model: str) -> Record:
        return Record(supports_tools=model != "p:sticky")

    decision = decide(turn, config, records)
    assert decision.chosen_model == "p:global"
    assert decision.chain[1].verdict is Verdict.REJECTED
    assert decision.chain[1].validation_failure is FailureCode.NO_TOOL_SUPPORT
    without = msgspec.structs.replace(turn, needs=Needs())
    assert decide(without, config, records).chosen_model == "p:sticky"


def test_work_is_delegated_only_to_models_that_take_it() -> None:
    registry = Registry(
        [
            ModelEntry(id="p:big", tier="deep"),
            ModelEntry(id="p:small", tier="fast", can_delegate=True, aliases=("mini",)),
            ModelEntry(id="p:deep", tier="deep", can_delegate=True),
        ]
    )
    config = Config(registry)

    def chosen(**request: Any) -> str | None:
        return decide(Turn(delegate=DelegateRequest(**request)), config, able).chosen_model

    assert chosen(model="mini") == "p:small"
    assert chosen(model="p:big") is None
    assert chosen(tier="deep") == "p:deep"
    assert chosen(tier="balanced") is None
    assert chosen() == "p:small"


def stats(*rows: tuple[str, float, int, str]) -> tuple[PatternStats, ...]:
    return tuple(
        PatternStats(model=model, success=success, sample_size=size, cost_usd=Decimal(cost))
        for model, success, size, cost in rows
    )


def pattern_step(*rows: tuple[str, float, int, str]) -> Any:
    decision = decide(Turn(patterns=stats(*rows)), Config(REGISTRY), able)
    return decision.chain[3]


def test_the_pattern_that_did_best_wins_with_its_lead_as_confidence() -> None:
    step = pattern_step(("p:pattern", 0.8, 10, "1"), ("p:global", 0.6, 10, "1"))
    assert (step.verdict, step.candidate_model) == (Verdict.CHOSE, "p:pattern")
    assert step.confidence == pytest.approx(0.25)  # equal costs: the cost term is zero
    assert [(a.model, a.score) for a in step.pattern_alternatives] == [("p:global", 0.57)]


def test_a_cheaper_model_wins_among_equals_by_the_weight_of_cost() -> None:
    step = pattern_step(("p:pattern", 0.5, 10, "2"), ("p:global", 0.5, 10, "1"))
    assert step.candidate_model == "p:global"
    assert step.confidence == pytest.approx(0.05 / (0.95 * 0.5 + 0.05))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("p:pattern", 1.0, 4, "1")], "fewer than 5 samples"),
        ([("p:pattern", 0.8, 9, "1"), ("p:global", 0.79, 9, "1")], "confidence 0.01 is below 0.05"),
        ([("p:pattern", 0.0, 9, "1")], "confidence 0.00 is below 0.05"),
    ],
)
def test_a_pattern_that_is_not_sure_enough_has_nothing_to_say(rows: Any, why: str) -> None:
    step = pattern_step(*rows)
    assert (step.verdict, step.reason) == (Verdict.NOT_APPLICABLE, why)


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 20), st.integers(0, 5)), min_size=1, max_size=6
    )
)
def test_confidence_lies_between_nothing_and_certainty(rows: list[tuple[float, int, int]]) -> None:
    named = [(MODELS[i], s, n, str(c)) for i, (s, n, c) in enumerate(rows)]
    step = pattern_step(*named)
    if step.confidence is not None:
        assert 0.05 <= step.confidence <= 1
        assert {m: n for m, _, n, _ in named}[step.candidate_model] >= 5


def told(router: Router, turn: Turn) -> list[str]:
    types: list[str] = []
    router.route(turn, lambda type, payload: types.append(type))
    return types


def test_every_decision_is_told_exactly_once_also_where_nobody_wins() -> None:
    router = Router(REGISTRY, able)
    assert told(router, Turn()) == ["route.decided"]
    assert told(router, Turn(sticky="p:sticky")) == ["route.decided"]
    assert told(router, Turn(override="p:override")) == ["route.decided", "route.overridden"]
    trace = TurnTrace(Bus(strict=True), "s", "t")
    router.route(Turn(), trace.emit)
    with pytest.raises(EventError, match="one already"):
        router.route(Turn(), trace.emit)
    silent: list[str] = []
    with pytest.raises(UnknownAliasError):
        router.route(Turn(override="nobody"), lambda type, _: silent.append(type))
    assert silent == []


def test_a_router_passes_over_what_is_marked_and_tells_when_a_mark_goes() -> None:
    now = [0.0]
    types: list[str] = []
    router = Router(
        REGISTRY,
        able,
        availability=Availability(lambda: now[0]),
        global_default="p:global",
        emit=lambda type, payload: types.append(type),
    )
    router.tell(router.availability.mark("p:sticky", "asked to wait", 60))
    decision = router.route(Turn(sticky="p:sticky"))
    assert decision.chosen_model == "p:global"
    assert decision.chain[1].reason == "p:sticky is marked unavailable: asked to wait"
    now[0] = 61
    assert router.route(Turn(sticky="p:sticky")).chosen_model == "p:sticky"
    assert types == [
        "routing.provider_unavailable",
        "route.decided",
        "routing.provider_recovered",
        "route.decided",
    ]


def test_deciding_changes_nothing_and_gives_the_same_again() -> None:
    turn, config = full_turn({1, 2, 3, 4, 5, 6})
    first: Decision = decide(turn, config, able)
    assert decide(turn, config, able) == first
