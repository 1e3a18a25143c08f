"""What a turn's tools may do is a limit on which model serves it."""

from __future__ import annotations

from pathlib import Path

import pytest

import interlingua as il
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.routing import (
    Config,
    FailureCode,
    PolicyFile,
    Registry,
    Router,
    SwapError,
    Turn,
    check_rules,
    decide,
    needs_of,
)
from interlingua.routing.registry import ModelEntry
from interlingua.store.open import open_store

requirement = pytest.mark.requirement

SMALL, OTHER, BIG = "ollama:llama3.3", "ollama:llama3.2", "anthropic:claude-sonnet-4-6"
REGISTRY = Registry.of([SMALL, OTHER, BIG], {"big": BIG})
SCHEMA = {"type": "object", "properties": {}}
RULES = """
schema_version = 1
default = "big"

[side_effects]
ollama = ["none", "read"]
"ollama:llama3.2" = ["none", "read", "network"]
"""


def tool(effects: SideEffects | None, name: str = "do") -> ToolDefinition:
    return ToolDefinition(name, "Does it.", SCHEMA, effects)


def turn(*effects: SideEffects | None, sticky: str | None = SMALL) -> Turn:
    return Turn(needs=needs_of((), [tool(each) for each in effects]), sticky=sticky)


def config(rules: str, folder: Path) -> Config:
    path = folder / "rules.toml"
    path.write_text(rules)
    assert check_rules(path, REGISTRY) == []
    return Config(REGISTRY, PolicyFile(path, REGISTRY).read().policy)


@requirement("S002-46")
@pytest.mark.parametrize(
    ("effects", "chosen"),
    [
        ((), SMALL),
        ((SideEffects.NONE, SideEffects.READ), SMALL),
        ((SideEffects.READ, SideEffects.WRITE), BIG),
        ((SideEffects.EXECUTE,), BIG),
        ((SideEffects.NETWORK,), BIG),
        ((None,), BIG),
    ],
)
def test_a_model_that_is_not_trusted_with_the_tools_of_a_turn_is_passed_over(
    tmp_path: Path, effects: tuple[SideEffects | None, ...], chosen: str
) -> None:
    decision = decide(turn(*effects), config(RULES, tmp_path), lambda model: None)
    assert decision.chosen_model == chosen
    if chosen == BIG:
        (rejected,) = [step for step in decision.chain if step.validation_failure]
        assert rejected.candidate_model == SMALL
        assert rejected.validation_failure is FailureCode.SIDE_EFFECTS_NOT_ALLOWED


def test_of_several_limits_all_hold(tmp_path: Path) -> None:
    network = turn(SideEffects.NETWORK, sticky=OTHER)
    assert decide(network, config(RULES, tmp_path), lambda m: None).chosen_model == BIG
    entry = ModelEntry(id="a:b", side_effects=(SideEffects.NONE, SideEffects.READ))
    assert Registry([entry]).allowed_effects("a:b") == {SideEffects.NONE, SideEffects.READ}
    assert REGISTRY.allowed_effects(BIG) is None


def test_what_a_provider_runs_itself_is_no_effect_of_ours() -> None:
    hosted = ToolDefinition("web_search", executor="provider", kind="web_search")
    assert needs_of((), [hosted]).side_effects == ()


@requirement("S002-46")
def test_a_rule_can_ask_what_the_tools_may_do(tmp_path: Path) -> None:
    rules = """
    schema_version = 1
    default = "ollama:llama3.3"
    [[rules]]
    name = "careful"
    use = "big"
    when = { tool_side_effects_include = ["write", "execute"] }
    """
    known = config(rules, tmp_path)
    for effects, model in (
        ((SideEffects.READ,), SMALL),
        ((SideEffects.READ, SideEffects.EXECUTE), BIG),
    ):
        decision = decide(turn(*effects, sticky=None), known, lambda m: None)
        assert decision.chosen_model == model


@pytest.mark.parametrize(
    "wrong",
    [
        '[side_effects]\nsmall = "read"',
        '[side_effects]\nsmall = ["reading"]',
        '[side_effects]\n"no:model" = ["read"]',
        '[[rules]]\nuse = "big"\nwhen = { tool_side_effects_include = ["delete"] }',
    ],
)
def test_a_wrong_word_for_an_effect_is_reported(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(f"schema_version = 1\n{wrong}\n")
    assert len(check_rules(path, REGISTRY)) == 1


@requirement("S002-46", "S002-84")
def test_a_session_with_a_tool_that_writes_does_not_go_to_such_a_model(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(RULES)
    router = Router(REGISTRY, lambda model: None, rules=PolicyFile(path, REGISTRY))
    with open_store(tmp_path / "s.db") as store:
        writes = il.Session.create(
            store, "/w", model=SMALL, router=router, tools=[tool(SideEffects.WRITE)]
        )
        assert writes.begin("hi").decision.chosen_model == BIG
        with pytest.raises(SwapError, match="write files"):
            writes.swap(SMALL)
        reads = il.Session.create(
            store, "/w", model=SMALL, router=router, tools=[tool(SideEffects.READ)]
        )
        assert reads.begin("hi").decision.chosen_model == SMALL
