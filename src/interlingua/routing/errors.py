"""Why a turn cannot start, or a model cannot be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlingua.errors import InterlinguaError
from interlingua.models.names import AmbiguousModelError, UnknownModelError

if TYPE_CHECKING:
    from interlingua.routing.decision import Decision
    from interlingua.routing.swap import Refusal


class RoutingError(InterlinguaError):
    """No turn starts."""


class OverrideError(RoutingError):
    """A message begins with `@`, and what follows is no order that can be followed."""


class UnknownAliasError(OverrideError, UnknownModelError):
    """Neither a model's id or name nor an alias; `name` is what was asked for, `near` names that
    look like it."""

    def __init__(self, name: str, near: list[str], hint: str = "") -> None:
        UnknownModelError.__init__(self, name, None, near)
        self.name = name
        meant = f"; did you mean {', '.join(near)}?" if near else ""
        self.args = (f"no model or alias is called {_short(name)!r}{meant}{hint}",)


class AmbiguousAliasError(UnknownAliasError, AmbiguousModelError):
    """A name that several providers have; `near` are the ids of theirs."""

    def __init__(self, name: str, near: list[str], hint: str = "") -> None:
        UnknownAliasError.__init__(self, name, near)
        text = f"several providers have {_short(name)!r}: say which, {' or '.join(near)}{hint}"
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
