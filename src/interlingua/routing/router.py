"""Routing for a running program: files, clocks and failures around the pure decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from interlingua.bus.event import Event
from interlingua.bus.payloads.base import Payload
from interlingua.bus.payloads.routes import RouteOverridden, Slot
from interlingua.routing.availability import EVENT_TYPES, Availability, Change
from interlingua.routing.chain import Config, decide
from interlingua.routing.decision import Decision
from interlingua.routing.files import PolicyFile
from interlingua.routing.limits import CapabilityLookup
from interlingua.routing.registry import Registry
from interlingua.routing.turn import Turn


class Emit(Protocol):
    """How events are told: a bus's `emit`, or that of the trace of a turn."""

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
        """What is in force now. A file that was refused is told once for each version of it."""
        if self.rules is None:
            return self._config
        policy, invalid = self.rules.read()
        if invalid is not None:
            self._tell("routing.policy_invalid", invalid)
        if policy is not self._config.policy:
            self._config = replace(self._config, policy=policy)
        return self._config

    def route(self, turn: Turn, emit: Emit | None = None) -> Decision:
        """Decide, and tell it through `emit` (of the turn's trace), also if there is no model. An
        override that names no model raises before anything is told, since no turn starts."""
        started = self._clock()
        self.tell(self.availability.expire())
        decision = decide(turn, self.config(), self.capabilities, self.availability.why_not)
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
        """Emit what became of marks, as `availability.failed` and `succeeded` gave it."""
        for change in changes:
            self._tell(EVENT_TYPES[type(change)], change)

    def _tell(self, type: str, payload: Payload, emit: Emit | None = None) -> None:
        teller = emit or self._emit
        if teller is not None:
            teller(type, payload)
