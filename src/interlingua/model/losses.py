"""Losses as values: a `Report` is the list of `Loss`es of one translation."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

import msgspec

from interlingua.errors import LossError
from interlingua.model.base import check_words

logger = logging.getLogger(__name__)
logging.getLogger("interlingua").addHandler(logging.NullHandler())

_planning: ContextVar[bool | list[dict[str, str | None]]] = ContextVar("planning", default=False)

LossKind = Literal["dropped", "downgraded", "approximated", "moved"]
Severity = Literal["info", "warning", "error"]


@contextmanager
def planning() -> Iterator[None]:
    """What is only tried out inside is not logged: nothing has been left out of anything yet."""
    token = _planning.set(True)
    try:
        yield
    finally:
        _planning.reset(token)


class DeferredWarnings:
    """Warnings about blocks that are left out of something that may still be sent, or not."""

    def __init__(self) -> None:
        self._waiting: list[dict[str, str | None]] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """What is left out inside is logged later, if at all."""
        token = _planning.set(self._waiting)
        try:
            yield
        finally:
            _planning.reset(token)

    def log(self) -> None:
        """It is sent: each warning once."""
        waiting, self._waiting = self._waiting, []
        for extra in waiting:
            logger.warning("block_dropped", extra=extra)


class Loss(msgspec.Struct, frozen=True, omit_defaults=True):
    """`path` is the place in the canonical value that could not be written."""

    kind: LossKind
    path: str
    reason: str
    severity: Severity = "warning"
    block_type: str | None = None
    message_id: str | None = None
    rule: str | None = None
    """The rule of a model's profile that asked for it."""

    def __post_init__(self) -> None:
        check_words(self)

    def __str__(self) -> str:
        what = f" {self.block_type}" if self.block_type else ""
        return f"{self.severity}: {self.kind}{what} at {self.path}: {self.reason}"


class Report(msgspec.Struct, eq=False):
    """Collects losses; `target` names the dialect or view that could not say them."""

    target: str
    losses: list[Loss] = []

    def add(
        self,
        kind: LossKind,
        path: str,
        reason: str,
        severity: Severity = "warning",
        block_type: str | None = None,
        message_id: str | None = None,
        rule: str | None = None,
    ) -> None:
        self.losses.append(Loss(kind, path, reason, severity, block_type, message_id, rule))

    def dropped_block(
        self,
        path: str,
        block_type: str,
        reason: str,
        severity: Severity = "warning",
        message_id: str | None = None,
        session_id: str | None = None,
        rule: str | None = None,
    ) -> None:
        """A whole block is left out: a loss, and exactly one warning in the log."""
        self.add("dropped", path, reason, severity, block_type, message_id, rule)
        extra = {
            "session_id": session_id,
            "message_id": message_id,
            "block_type": block_type,
            "adapter": self.target,
            "reason": reason,
        }
        planning = _planning.get()
        if isinstance(planning, list):
            planning.append(extra)
        elif not planning:
            logger.warning("block_dropped", extra=extra)

    def extend(self, other: Report) -> None:
        self.losses.extend(other.losses)

    def of_history(self) -> Report:
        """Losses in the messages only, without those in `$.options`."""
        losses = [loss for loss in self.losses if not loss.path.startswith("$.options")]
        return Report(self.target, losses)

    def require_lossless(self) -> None:
        """Raise `LossError` if there is any loss."""
        if self.losses:
            raise LossError(f"translation to {self.target}", self)

    def to_json(self) -> bytes:
        return msgspec.json.encode({"target": self.target, "losses": self.losses})

    @classmethod
    def from_json(cls, data: bytes | str) -> Report:
        plain = msgspec.json.decode(data)
        return cls(plain["target"], msgspec.convert(plain["losses"], list[Loss]))

    def __bool__(self) -> bool:
        return bool(self.losses)

    def __len__(self) -> int:
        return len(self.losses)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.losses)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self.target == other.target and self.losses == other.losses

    def __ne__(self, other: object) -> bool:  # msgspec's own compares identity
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # a report grows

    def __repr__(self) -> str:
        return f"Report({self.target!r}, {len(self.losses)} losses)"

    def __str__(self) -> str:
        if not self.losses:
            return f"{self.target}: nothing lost"
        counts = Counter(loss.kind for loss in self.losses)
        head = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        return "\n".join([f"{self.target}: {head}", *(f"  {loss}" for loss in self.losses)])
