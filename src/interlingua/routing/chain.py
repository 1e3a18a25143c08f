"""The chain of seven slots: asked in their order, and the first candidate that can serve wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from interlingua.events.payloads import ChainStep, PatternAlternative, Slot, Verdict
from interlingua.routing.decision import Decision, not_applicable
from interlingua.routing.limits import (
    CapabilityLookup,
    Unavailable,
    failure_of,
    never_unavailable,
)
from interlingua.routing.patterns import best_of
from interlingua.routing.policy import NO_POLICY, Policy
from interlingua.routing.registry import Registry
from interlingua.routing.turn import Turn


@dataclass(frozen=True)
class Config:
    """The models that are there, and what the rules file says about them."""

    registry: Registry = field(default_factory=Registry)
    policy: Policy = NO_POLICY
    global_default: str | None = None
    """Where the rules file has no default of its own."""

    @cached_property
    def names(self) -> Registry:
        """The registry with the short names and the limits of the rules file."""
        known = self.registry
        if self.policy.aliases:
            known = known.with_aliases(self.policy.aliases)
        return known.trusting(self.policy.side_effects) if self.policy.side_effects else known


@dataclass(frozen=True)
class Candidate:
    """What a slot proposes."""

    model: str
    reason: str
    rule_name: str | None = None
    confidence: float | None = None
    alternatives: tuple[PatternAlternative, ...] = ()


Outcome = Candidate | str | None
"""A candidate, why there is none, or nothing to say."""


def decide(
    turn: Turn,
    config: Config,
    capabilities: CapabilityLookup,
    unavailable: Unavailable = never_unavailable,
) -> Decision:
    """The model of a turn. Depends on its arguments alone.

    An override that names no model raises an UnknownAliasError: the writer must see the mistake,
    and no other model may see the message. A candidate that cannot serve the turn is rejected, and
    the next slot is tried."""
    chain: list[ChainStep] = []
    for slot, ask in SLOTS.items():
        answer = ask(turn, config)
        if not isinstance(answer, Candidate):
            chain.append(not_applicable(slot, answer))
            continue
        failure = failure_of(answer.model, turn.needs, config.names, capabilities, unavailable)
        chain.append(
            ChainStep(
                policy=slot,
                verdict=Verdict.CHOSE if failure is None else Verdict.REJECTED,
                candidate_model=answer.model,
                reason=answer.reason if failure is None else failure.reason,
                rule_name=answer.rule_name,
                confidence=answer.confidence,
                pattern_alternatives=answer.alternatives,
                validation_failure=None if failure is None else failure.code,
            )
        )
        if failure is None:
            return Decision(answer.model, tuple(chain))
    return Decision(None, tuple(chain), "no model can serve this turn")


def _override(turn: Turn, config: Config) -> Outcome:
    if turn.override is None:
        return None
    model = config.names.require(turn.override)
    if turn.override_via == "api":
        return Candidate(model, f"the request asks for {turn.override}")
    return Candidate(model, f"@{turn.override} at the start of the message")


def _sticky(turn: Turn, config: Config) -> Outcome:
    if turn.sticky is None:
        return None
    return Candidate(config.names.resolve(turn.sticky) or turn.sticky, f"/model {turn.sticky}")


def _rule(turn: Turn, config: Config) -> Outcome:
    here, everywhere = config.policy.scope(turn.workspace_path), config.policy.everywhere
    for scope, word in ((here, "workspace rule"), (everywhere, "rule")):
        for rule in scope.rules:
            if rule.test(turn):
                return Candidate(rule.model, f"{word} {rule.name}", rule_name=rule.name)
    return "no rule holds" if here.rules or everywhere.rules else None


def _pattern(turn: Turn, config: Config) -> Outcome:
    if not turn.patterns:
        return None
    match = best_of(turn.patterns, config.policy.pattern)
    if isinstance(match, str):
        return match
    return Candidate(
        match.model,
        f"did best in {match.sample_size} turns like this one",
        confidence=match.confidence,
        alternatives=match.alternatives,
    )


def _delegate(turn: Turn, config: Config) -> Outcome:
    delegation = turn.delegate
    if delegation is None:
        return None
    if delegation.model is not None:
        model = config.names.resolve(delegation.model) or delegation.model
        entry = config.registry.entries.get(model)
        if entry is not None and not entry.can_delegate:
            return f"no work may be delegated to {model}"
        return Candidate(model, "asked for by a delegated task")
    for entry in config.registry.entries.values():
        if entry.can_delegate and delegation.tier in (None, entry.tier):
            return Candidate(entry.id, f"a {entry.tier} model for a delegated task")
    return "no model of this tier takes delegated work"


def _workspace_default(turn: Turn, config: Config) -> Outcome:
    own = turn.workspace_default
    model = own and (config.names.resolve(own) or own)
    model = model or config.policy.scope(turn.workspace_path).default
    return Candidate(model, "workspace default") if model else None


def _global_default(turn: Turn, config: Config) -> Outcome:
    own = config.global_default
    model = config.policy.everywhere.default or (own and (config.names.resolve(own) or own))
    return Candidate(model, "global default") if model else None


SLOTS: dict[Slot, Callable[[Turn, Config], Outcome]] = {
    Slot.PER_MESSAGE_OVERRIDE: _override,
    Slot.MANUAL_STICKY: _sticky,
    Slot.RULE: _rule,
    Slot.PATTERN: _pattern,
    Slot.DELEGATE_REQUEST: _delegate,
    Slot.WORKSPACE_DEFAULT: _workspace_default,
    Slot.GLOBAL_DEFAULT: _global_default,
}
