"""The decision of routing for one turn, and the forms in which it is stored and shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlingua.errors import InterlinguaError
from interlingua.events.payloads import ChainStep, RouteDecided, Slot, Verdict
from interlingua.model.metadata import RoutingMode, RoutingRecord
from interlingua.profiles.names import AmbiguousModelError, UnknownModelError

if TYPE_CHECKING:
    from interlingua.routing.swap import Refusal


class RoutingError(InterlinguaError):
    """No turn starts."""


class OverrideError(RoutingError):
    """A message begins with `@` and an override that cannot be followed."""


class UnknownAliasError(OverrideError, UnknownModelError):
    """A name that is neither a model nor an alias: `name`. Similar names are in `near`."""

    def __init__(self, name: str, near: list[str], hint: str = "") -> None:
        UnknownModelError.__init__(self, name, None, near)
        self.name = name
        meant = f"; did you mean {', '.join(near)}?" if near else ""
        self.args = (f"no model or alias is called {_short(name)!r}{meant}{hint}",)


class AmbiguousAliasError(UnknownAliasError, AmbiguousModelError):
    """A name that several providers have; `near` are the ids of theirs."""

    def __init__(self, name: str, near: list[str], hint: str = "") -> None:
        UnknownAliasError.__init__(self, name, near)
        text = f"several providers have {_short(name)!r}; choose one: {' or '.join(near)}{hint}"
        self.args = (text,)


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:60]}…"


class NoModelError(RoutingError):
    """No slot of the chain has a model that can serve the turn; `decision` has the whole chain."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        tried = "; ".join(
            f"{step.candidate_model}: {step.reason}"
            for step in decision.chain
            if step.candidate_model is not None
        )
        super().__init__(f"no model can serve this turn ({tried or 'none is configured'})")


class SwapError(RoutingError):
    """The session holds something that the new model cannot take. Nothing was changed."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal
        super().__init__(refusal.text)


class RegistryError(RoutingError):
    """A list of models in which two have the same id or alias."""


MODES: dict[Slot, RoutingMode] = {
    Slot.PER_MESSAGE_OVERRIDE: RoutingMode.OVERRIDE,
    Slot.MANUAL_STICKY: RoutingMode.MANUAL,
    Slot.RULE: RoutingMode.RULE,
    Slot.PATTERN: RoutingMode.PATTERN,
    Slot.DELEGATE_REQUEST: RoutingMode.DELEGATE,
    Slot.WORKSPACE_DEFAULT: RoutingMode.DEFAULT,
    Slot.GLOBAL_DEFAULT: RoutingMode.DEFAULT,
}
"""The mode on the message for each slot; the whole chain is in the event."""

QUOTA_EXCEEDED = "quota_exceeded"


@dataclass(frozen=True)
class Decision:
    """`chain` has one step per slot up to the winner; all seven if none won."""

    chosen_model: str | None
    chain: tuple[ChainStep, ...] = ()
    reason: str | None = None
    """Why no model was chosen."""

    @property
    def winner_index(self) -> int:
        return -1 if self.chosen_model is None else len(self.chain) - 1

    @property
    def winner(self) -> ChainStep | None:
        return None if self.chosen_model is None else self.chain[-1]

    def require(self) -> str:
        """The chosen model, or a NoModelError that lists what was tried."""
        if self.chosen_model is None:
            raise NoModelError(self)
        return self.chosen_model

    def record(self) -> RoutingRecord:
        """The summary that an assistant message carries."""
        model, step = self.require(), self.chain[-1]
        others = [s.candidate_model for s in self.chain[:-1] if s.candidate_model is not None]
        others += [other.model for other in step.pattern_alternatives]
        return RoutingRecord(
            MODES[step.policy],
            model,
            step.reason or "",
            step.rule_name if step.policy is Slot.RULE else None,
            step.confidence if step.policy is Slot.PATTERN else None,
            tuple([other for other in dict.fromkeys(others) if other != model]),
        )

    def event(self, elapsed_ms: float = 0.0) -> RouteDecided:
        """The payload of `route.decided`; exactly one for each turn."""
        return RouteDecided(
            chosen_model=self.chosen_model,
            winner_index=self.winner_index,
            elapsed_ms=elapsed_ms,
            chain=self.chain,
            reason=self.reason,
        )


def quota_refusal() -> Decision:
    """The decision for a turn that was refused before routing, because a cap is reached."""
    return Decision(None, (), QUOTA_EXCEEDED)


def show(decision: Decision | None) -> str:
    """The output of `/model show`: the last chain, one line per slot."""
    if decision is None:
        return "No turn has been routed yet."
    lines = []
    for number, step in enumerate(decision.chain, start=1):
        model = f"  {step.candidate_model}" if step.candidate_model else ""
        code = f" [{step.validation_failure}]" if step.validation_failure else ""
        reason = f"  ({step.reason}){code}" if step.reason else code
        sure = f"  confidence {step.confidence:.2f}" if step.confidence is not None else ""
        lines.append(
            f"{number}. {step.policy:<20}  {step.verdict:<14}{model}{reason}{sure}".rstrip()
        )
    chosen = decision.chosen_model or f"none ({decision.reason or 'no model can serve this turn'})"
    return "\n".join([f"Model of the last turn: {chosen}", *lines])


def not_applicable(slot: Slot, reason: str | None = None) -> ChainStep:
    return ChainStep(policy=slot, verdict=Verdict.NOT_APPLICABLE, reason=reason)
