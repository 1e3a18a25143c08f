"""Routing for a running program: files, clocks and failures around the pure decision."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from interlingua.events.event import Event
from interlingua.events.payloads import (
    ChainStep,
    PatternAlternative,
    Payload,
    PolicyInvalid,
    RouteOverridden,
    Slot,
    Verdict,
)
from interlingua.routing.availability import EVENT_TYPES, Availability, Change
from interlingua.routing.decision import Decision, not_applicable
from interlingua.routing.patterns import best_of
from interlingua.routing.policy import MOST_BYTES, NO_POLICY, Policy, PolicyReader
from interlingua.routing.predicates import Problem
from interlingua.routing.registry import Registry
from interlingua.routing.swap import CapabilityLookup, Unavailable, failure_of, never_unavailable
from interlingua.routing.turn import Turn


@dataclass(frozen=True)
class Config:
    """The available models, and the rules file."""

    registry: Registry = field(default_factory=Registry)
    policy: Policy = NO_POLICY
    global_default: str | None = None
    """The default if the rules file has none."""

    @cached_property
    def names(self) -> Registry:
        """The registry with the short names and the limits of the rules file."""
        known = self.registry
        if self.policy.aliases:
            known = known.with_aliases(self.policy.aliases)
        return known.trusting(self.policy.side_effects) if self.policy.side_effects else known


@dataclass(frozen=True)
class Candidate:
    """The proposal of a slot."""

    model: str
    reason: str
    rule_name: str | None = None
    confidence: float | None = None
    alternatives: tuple[PatternAlternative, ...] = ()


Outcome = Candidate | str | None
"""A candidate, the reason for having none, or no proposal."""


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
    return "no rule matches" if here.rules or everywhere.rules else None


def _pattern(turn: Turn, config: Config) -> Outcome:
    if not turn.patterns:
        return None
    match = best_of(turn.patterns, config.policy.pattern)
    if isinstance(match, str):
        return match
    return Candidate(
        match.model,
        f"performed best in {match.sample_size} turns like this one",
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


logger = logging.getLogger(__name__)


def check_rules(path: str | os.PathLike[str], registry: Registry | None = None) -> list[Problem]:
    """Everything wrong with a rules file; an empty list if it can be used.

    Without a registry, models are checked for their form only.
    """
    reader = PolicyReader(registry)
    try:
        reader.read(_bytes(Path(path)))
    except OSError as problem:
        return [Problem("file", f"cannot be read: {problem.strerror or problem}")]
    return reader.problems


class PolicyRead(NamedTuple):
    """The policy in force; `invalid` is set once for each version of the file that is refused,
    and becomes the event `routing.policy_invalid`."""

    policy: Policy
    invalid: PolicyInvalid | None = None


class PolicyFile:
    """One rules file. While it is faulty, the last good version of it stays in force; a file that
    is not there has no rules."""

    def __init__(self, path: str | os.PathLike[str], registry: Registry | None = None) -> None:
        self.path = Path(path)
        self.problems: list[Problem] = []
        self._registry = registry
        self._policy = NO_POLICY
        self._stamp: tuple[int, ...] | str | None = None
        self._lock = threading.Lock()

    def read(self, reload: bool = False) -> PolicyRead:
        """The policy for a turn that starts now; with `reload` also if the file looks the same."""
        with self._lock:
            stamp = _stamp(self.path)
            if stamp == self._stamp and not reload:
                return PolicyRead(self._policy)
            self._stamp = stamp
            invalid = self._renew()
            return PolicyRead(self._policy, invalid)

    def _renew(self) -> PolicyInvalid | None:
        reader = PolicyReader(self._registry)
        try:
            policy = reader.read(_bytes(self.path))
            self.problems = reader.problems
        except FileNotFoundError:
            self._policy, self.problems = NO_POLICY, []
            return None
        except OSError as problem:
            self.problems = [Problem("file", f"cannot be read: {problem.strerror or problem}")]
        if not self.problems:
            self._policy = policy
            return None
        logger.warning("routing_policy_invalid", extra={"problems": len(self.problems)})
        return PolicyInvalid(
            path=str(self.path),
            problems=tuple([str(problem) for problem in self.problems[:20]]),
            version_in_force=self._policy.version,
        )


def _bytes(path: Path) -> bytes:
    """The file's bytes, at most one more than the limit, which shows that it is too large."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _stamp(path: Path) -> tuple[int, ...] | str:
    """A value that changes when a file is written or replaced."""
    try:
        state = path.stat()
    except OSError as problem:
        return f"not there: {problem.errno}"
    return (state.st_mtime_ns, state.st_size, state.st_ino)


class Emit(Protocol):
    """Emits an event: a bus's `emit`, or that of the trace of a turn."""

    def __call__(self, type: str, payload: Payload | Mapping[str, Any], /) -> Event | None: ...


class Router:
    """Decides turn after turn: reads the rules file when it changed, keeps account of failures, and
    emits one `route.decided` per decision. One may serve many sessions."""

    def __init__(
        self,
        registry: Registry,
        capabilities: CapabilityLookup,
        *,
        rules: PolicyFile | None = None,
        availability: Availability | None = None,
        global_default: str | None = None,
        emit: Emit | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.registry = registry
        self.capabilities = capabilities
        self.rules = rules
        self.availability = availability or Availability()
        self._config = Config(registry, global_default=global_default)
        self._emit = emit
        self._clock = clock

    def config(self) -> Config:
        """The configuration now in force. A file that is refused is reported once for each version
        of it."""
        if self.rules is None:
            return self._config
        policy, invalid = self.rules.read()
        if invalid is not None:
            self._tell("routing.policy_invalid", invalid)
        if policy is not self._config.policy:
            self._config = replace(self._config, policy=policy)
        return self._config

    def route(
        self, turn: Turn, emit: Emit | None = None, capabilities: CapabilityLookup | None = None
    ) -> Decision:
        """Decides and emits the decision through `emit` (of the turn's trace), also if there is no
        model. An override that names no model raises before anything is emitted, since no turn
        starts. `capabilities` replaces the router's own lookup, for a caller that has just made
        it."""
        started = self._clock()
        self.tell(self.availability.expire())
        decision = decide(
            turn, self.config(), capabilities or self.capabilities, self.availability.why_not
        )
        elapsed = max(0.0, (self._clock() - started) * 1000)
        self._tell("route.decided", decision.event(round(elapsed, 3)), emit)
        winner = decision.winner
        if winner is not None and winner.policy is Slot.PER_MESSAGE_OVERRIDE:
            chose = RouteOverridden(
                via=turn.override_via, model=decision.chosen_model, previous_model=turn.sticky
            )
            self._tell("route.overridden", chose, emit)
        return decision

    def tell(self, changes: list[Change]) -> None:
        """Emits the changes that `availability.failed` and `succeeded` returned."""
        for change in changes:
            self._tell(EVENT_TYPES[type(change)], change)

    def _tell(self, type: str, payload: Payload, emit: Emit | None = None) -> None:
        teller = emit or self._emit
        if teller is not None:
            teller(type, payload)
