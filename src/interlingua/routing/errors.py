"""Why a turn cannot start, or a model cannot be changed."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from interlingua.errors import InterlinguaError

if TYPE_CHECKING:
    from interlingua.routing.decision import Decision
    from interlingua.routing.swap import Refusal


class RoutingError(InterlinguaError):
    """No turn starts."""


class OverrideError(RoutingError):
    """A message begins with `@`, and what follows is no order that can be followed."""


class UnknownAliasError(OverrideError):
    """Neither a model's id nor an alias; `name` is what was asked for."""

    def __init__(self, name: str, known: list[str], hint: str = "") -> None:
        self.name = name
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        near = get_close_matches(name, known, 3)
        meant = f"; did you mean {', '.join(near)}?" if near else ""
        super().__init__(f"no model or alias is called {shown!r}{meant}{hint}")


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
