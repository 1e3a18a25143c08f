"""The decision of routing, as it is stored and shown."""

from __future__ import annotations

import msgspec
import pytest

from interlingua.events import Bus, EventQuery, MemoryLog, TurnTrace
from interlingua.events.payloads import RouteDecided
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, RoutingMode, Usage
from interlingua.model.rules import validate
from interlingua.routing import (
    Config,
    PatternStats,
    Registry,
    Router,
    Turn,
    decide,
    quota_refusal,
    show,
)
from tests.routing.chains import MODELS, REGISTRY, able, full_turn

MODES_IN_ORDER = ["override", "manual", "rule", "pattern", "delegate", "default", "default"]
"""Of the seven slots."""


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
