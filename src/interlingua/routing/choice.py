"""The model a person chose with `/model`: it holds until it is taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from interlingua.bus.payloads.routes import RouteOverridden


class Command(NamedTuple):
    """A command line that routing understands; `argument` may be empty."""

    name: Literal["model", "rules", "models", "cost"]
    argument: str = ""


_NAMES: dict[str, Literal["model", "rules", "models", "cost"]] = {
    "/model": "model",
    "/rules": "rules",
    "/models": "models",
    "/cost": "cost",
}


def parse_command(text: str) -> Command | None:
    """`/model <id>`, `/model -`, `/model show`, `/rules check|show|reload`, `/models`, `/cost`;
    None if the text is none of them."""
    head, _, rest = text.strip().partition(" ")
    name = _NAMES.get(head)
    if name is None or "\n" in text.strip():
        return None
    return Command(name, rest.strip())


@dataclass
class Choice:
    """One session's sticky model. During a turn the model does not change: what is chosen then
    waits for the end of the turn, and the last of several wins."""

    model: str | None = None
    in_turn: bool = False
    _waits: bool = False
    _next: str | None = None

    def set(self, model: str | None) -> RouteOverridden:
        """Choose a model, or with None take the choice back."""
        told = RouteOverridden(
            via="command", model=model, previous_model=self.model, queued=self.in_turn
        )
        if self.in_turn:
            self._waits, self._next = True, model
        else:
            self.model = model
        return told

    @property
    def queued(self) -> bool:
        return self._waits

    def begin_turn(self) -> str | None:
        """The sticky model of the turn that begins now."""
        self.in_turn = True
        return self.model

    def end_turn(self) -> None:
        """What was chosen meanwhile holds from now on."""
        self.in_turn = False
        if self._waits:
            self.model, self._waits, self._next = self._next, False, None
