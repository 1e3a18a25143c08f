"""The chain of seven slots, its verdicts, and the forms a decision is kept in."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.events import Bus, EventError, EventQuery, MemoryLog, TurnTrace
from interlingua.events.payloads import RouteDecided
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, RoutingMode, Usage
from interlingua.model.rules import validate
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
    Registry,
    Router,
    Slot,
    Turn,
    UnknownAliasError,
    Verdict,
    decide,
    quota_refusal,
    show,
)
from interlingua.routing.policy import Policy, Rule, Scope


class Record(msgspec.Struct, frozen=True):
    """The fields of a capability record that routing looks at."""

    supports_images: bool | None = True
    supports_tools: bool | None = True
    supports_system_prompt: bool | None = True
    supports_structured_output: bool | None = True
    max_context_tokens: int | None = 100_000
    accepted_image_media_types: tuple[str, ...] | None = None


def able(model: str) -> Record:
    return Record()


def always(turn: Turn) -> bool:
    return True


NAMES = ["override", "sticky", "ruled", "pattern", "delegate", "workspace", "global"]
MODELS = [f"p:{name}" for name in NAMES]
MODES_IN_ORDER = ["override", "manual", "rule", "pattern", "delegate", "default", "default"]
"""Of the seven slots."""
REGISTRY = Registry(ModelEntry(id=model, can_delegate=True) for model in MODELS)


def full_turn(slots: set[int]) -> tuple[Turn, Config]:
    """A turn in which exactly these slots have a candidate, each its own model."""
    turn = Turn(
        override="p:override" if 0 in slots else None,
        sticky="p:sticky" if 1 in slots else None,
        patterns=(PatternStats(model="p:pattern", success=0.9, sample_size=9),)
        if 3 in slots
        else (),
        delegate=DelegateRequest(model="p:delegate") if 4 in slots else None,
        workspace_default="p:workspace" if 5 in slots else None,
    )
    rules = (Rule("all", "p:ruled", always),) if 2 in slots else ()
    policy = Policy(everywhere=Scope(rules))
    return turn, Config(REGISTRY, policy, "p:global" if 6 in slots else None)


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


@pytest.mark.requirement("S002-39", "S002-40")
def test_the_record_has_a_rule_name_only_for_rules_and_a_confidence_only_for_patterns() -> None:
    for index in range(7):
        record = decide(*full_turn({index, 6}), able).record()
        assert record.chosen_model == MODELS[index]
        assert record.mode == MODES_IN_ORDER[index]
        assert record.reason
        assert (record.rule_name is not None) == (index == 2)
        assert (record.confidence is not None) == (index == 3)
    assert decide(*full_turn({2}), able).record().rule_name == "all"
    assert decide(*full_turn({3}), able).record().confidence == 1.0


@pytest.mark.requirement("S002-39")
def test_the_record_names_the_models_that_were_considered_and_not_taken() -> None:
    turn, config = full_turn({0, 1, 3})
    turn = msgspec.structs.replace(
        turn,
        patterns=(
            PatternStats(model="p:pattern", success=0.9, sample_size=9),
            PatternStats(model="p:sticky", success=0.5, sample_size=9),
            PatternStats(model="p:global", success=0.4, sample_size=9),
        ),
    )
    decision = decide(turn, config, able, lambda m: None if m == "p:pattern" else "down")
    assert decision.record().alternatives_considered == ("p:override", "p:sticky", "p:global")
    assert decide(*full_turn({6}), able).record().alternatives_considered == ()


@pytest.mark.requirement("S002-32")
def test_a_message_with_the_record_of_its_decision_is_valid() -> None:
    record = decide(*full_turn({5}), able).record()
    metadata = MessageMetadata(
        model=record.chosen_model,
        provider="p",
        routing=record,
        usage=Usage(input_tokens=1, output_tokens=1),
    )
    message = Message.assistant("hello", metadata)
    assert message.metadata.routing is record
    assert not [v for v in validate(message) if "routing" in str(v) or "model" in str(v)]
    assert record.reason == "workspace default"


@pytest.mark.requirement("S002-90")
def test_after_the_model_command_the_record_is_manual_and_names_the_command() -> None:
    registry = Registry.of(["anthropic:claude-sonnet-4-6", "openai:gpt-5"])
    config = Config(registry, global_default="anthropic:claude-sonnet-4-6")
    before = decide(Turn(), config, able).record()
    after = decide(Turn(sticky="openai:gpt-5"), config, able).record()
    assert before.mode is RoutingMode.DEFAULT
    assert (after.mode, after.chosen_model) == (RoutingMode.MANUAL, "openai:gpt-5")
    assert after.reason == "/model openai:gpt-5"


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


# ---------------------------------------------------------------------- patterns


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


# ---------------------------------------------------------------------- forms of a decision


def test_model_show_prints_one_line_per_slot() -> None:
    turn, config = full_turn({1, 2})
    decision = decide(turn, config, able, lambda m: "it is down" if m == "p:sticky" else None)
    lines = show(decision).splitlines()
    assert lines[0] == "Model of the last turn: p:ruled"
    assert lines[1].split() == ["1.", "per_message_override", "not_applicable"]
    assert lines[2] == (
        "2. manual_sticky         rejected        p:sticky  (it is down) [provider_unavailable]"
    )
    assert lines[3] == "3. rule                  chose           p:ruled  (rule all)"
    assert len(lines) == 4
    assert show(None) == "No turn has been routed yet."
    assert show(quota_refusal()) == "Model of the last turn: none (quota_exceeded)"


def test_a_quota_refusal_has_no_winner_and_says_why() -> None:
    event = quota_refusal().event()
    assert (event.winner_index, event.reason, event.chosen_model) == (-1, "quota_exceeded", None)
    assert Bus(strict=True).emit("route.decided", event) is not None


def test_the_event_has_the_whole_chain_and_is_what_the_catalogue_allows() -> None:
    log = MemoryLog()
    bus = Bus(log, strict=True)
    ticks = iter([1.0, 1.0025])
    router = Router(REGISTRY, able, global_default="p:global", clock=lambda: next(ticks))
    trace = TurnTrace(bus, "s", "t")
    decision = router.route(Turn(sticky="gone:away"), trace.emit)
    with bus:
        bus.flush_sync()
    (event,) = log.events(EventQuery())
    assert isinstance(event.payload, RouteDecided)
    assert event.payload.chain == decision.chain
    assert (event.payload.winner_index, event.payload.chosen_model) == (6, "p:global")
    assert event.payload.elapsed_ms == 2.5
    assert (event.turn_id, event.type) == ("t", "route.decided")


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
