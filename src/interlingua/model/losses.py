"""Losses as values: a `Report` has the losses and the notes of one conversion."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol

import msgspec

from interlingua.errors import LossError
from interlingua.model.base import check_words
from interlingua.model.human import plural
from interlingua.model.reasons import ADDED, Reason, in_own_words
from interlingua.model.reasons import Severity as Severity

logger = logging.getLogger(__name__)
logging.getLogger("interlingua").addHandler(logging.NullHandler())

_planning: ContextVar[bool | list[dict[str, str | None]]] = ContextVar("planning", default=False)

LossKind = Literal["dropped", "downgraded", "approximated", "moved"]
_USUAL: Severity = "warning"
_NAMED = re.compile(r"\$(?:\.options)?\.\w+")
NOTES = frozenset({"foreign_model", "model_missing"})
"""Codes of notes whose severity is not `info`."""


def _is_heard() -> bool:
    """Whether any handler gets what is logged here: making a record takes longer than all the rest
    of a loss."""
    at: logging.Logger | None = logger
    while at is not None:
        for handler in at.handlers:
            if type(handler) is not logging.NullHandler:
                return True
        at = at.parent if at.propagate else None
    return False


@contextmanager
def planning() -> Iterator[None]:
    """Losses inside are not logged: conversions are only tried out."""
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
        """Losses inside are logged later, if at all."""
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


class Loss(msgspec.Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True):
    """A part that the target could not represent, or a note about a part that it represents
    differently. `path` is its place in the canonical value, `at` its places in the source."""

    kind: LossKind
    path: str
    reason: str
    severity: Severity = msgspec.field(default_factory=lambda: _USUAL)  # also in JSON
    block_type: str | None = None
    message_id: str | None = None
    rule: str | None = None
    """The rule of a model's profile that caused it."""
    code: str = ""
    """A stable identifier of the reason; empty for reasons of plug-ins."""
    at: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_words(self)

    @property
    def is_note(self) -> bool:
        """Whether the answer is the same in spite of it."""
        return self.severity == "info" or self.code in NOTES

    def placed(self, at: tuple[str, ...]) -> Loss:
        """The loss with its places in the source, and with the source's names."""
        reason = in_own_words(self.reason, self.path, at[0])
        return msgspec.structs.replace(self, at=at, reason=reason)

    def __str__(self) -> str:
        where = ", ".join(self.at) or self.path
        if not self.at and self.code and (self.code in ADDED or _NAMED.fullmatch(where)):
            return f"{self.severity}: {self.reason}"  # which begins with the name
        if self.code:
            return f"{self.severity}: {where}: {self.reason}"
        what = f" {self.block_type}" if self.block_type else ""
        return f"{self.severity}: {where}: {self.kind}{what}: {self.reason}"


class Locator(Protocol):
    """Finds the places in a source body that entries of a report are about."""

    def places(self, entries: Sequence[Loss]) -> list[tuple[str, ...]]: ...


class Report(msgspec.Struct, eq=False):
    """The losses and repairs of one conversion to `target`, a dialect or a view.

    `losses` change the meaning of the conversation or what the model does with it; `notes` do not:
    values that were filled in, renamed or moved, and facts that only the sender understands. A
    report without losses is false."""

    target: str
    entries: list[Loss] = []
    """Losses and notes, in the order in which they were found."""
    source: Locator | None = None
    """Finds the places in the source on request."""
    service: str | None = None
    """The host of the dialect that sentences name; None for the dialect itself."""

    def located(self) -> list[Loss]:
        """The entries with their places in the source."""
        if self.source is not None and self.entries:
            source, self.source = self.source, None
            places = source.places(self.entries)
            self.entries[:] = [
                entry.placed(at) if at else entry
                for entry, at in zip(self.entries, places, strict=True)
            ]
        return self.entries

    @property
    def losses(self) -> list[Loss]:
        # Written out, since it is asked for with every request: a call for each entry costs more.
        entries = self.entries if self.source is None else self.located()
        return [e for e in entries if e.severity != "info" and e.code not in NOTES]

    @property
    def notes(self) -> list[Loss]:
        return [entry for entry in self.located() if entry.is_note]

    def add(
        self,
        kind: LossKind,
        path: str,
        reason: str,
        severity: Severity | None = None,
        block_type: str | None = None,
        message_id: str | None = None,
        rule: str | None = None,
    ) -> None:
        """`reason` is that of a code (`because`); plug-ins may pass a text of their own. Its code
        has a severity, unless another one is passed."""
        code, text = "", reason
        if type(reason) is Reason:
            code, text = reason.completed(self.service or self.target, path, block_type)
            severity = severity or reason.severity
        self.entries.append(
            Loss(
                *(kind, path, text, severity or _USUAL, block_type, message_id, rule, code),
                at=() if path[:1] == "$" else (path,),  # a line of a file is its own place
            )
        )

    def dropped_block(
        self,
        path: str,
        block_type: str,
        reason: str,
        severity: Severity | None = None,
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
            "reason": self.entries[-1].reason,
        }
        planning = _planning.get()
        if isinstance(planning, list):
            planning.append(extra)
        elif not planning and _is_heard():
            logger.warning("block_dropped", extra=extra)

    def extend(self, other: Report) -> None:
        if other.entries:
            self.located()
            self.entries.extend(other.located())

    def of_history(self) -> Report:
        """Losses and notes in the messages only, without those of the model and `$.options`."""
        others = ("$.options", "$.model")
        entries = [entry for entry in self.entries if not entry.path.startswith(others)]
        return Report(self.target, entries)

    def require_lossless(self) -> None:
        """Raise `LossError` if there is any loss."""
        if self:
            raise LossError(f"translation to {self.target}", self)

    def to_json(self) -> bytes:
        plain = {"target": self.target, "losses": self.losses, "notes": self.notes}
        return msgspec.json.encode(plain)

    @classmethod
    def from_json(cls, data: bytes | str) -> Report:
        plain = msgspec.json.decode(data)
        entries = [*plain["losses"], *plain.get("notes", ())]
        return cls(plain["target"], msgspec.convert(entries, list[Loss]))

    def __bool__(self) -> bool:
        return any(not entry.is_note for entry in self.entries)

    def __len__(self) -> int:
        return sum(not entry.is_note for entry in self.entries)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.losses)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self.target == other.target and self.entries == other.entries

    def __ne__(self, other: object) -> bool:  # msgspec's own compares identity
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # a report grows

    def __repr__(self) -> str:
        counts = f"{plural(len(self.losses), 'loss')}, {plural(len(self.notes), 'note')}"
        return f"Report({self.target!r}, {counts})"

    def __str__(self) -> str:
        losses, notes = self.losses, sorted(self.notes, key=lambda note: note.severity == "info")
        first = [note for note in notes if note.severity != "info"]
        counts = Counter(loss.kind for loss in losses)
        head = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing lost"
        if notes:
            head += f", {plural(len(notes), 'note')}"
        return "\n".join(
            [
                f"{self.target}: {head}",
                *(f"  {entry}" for entry in (*first, *losses, *notes[len(first) :])),
            ]
        )


def loss_of(target: str, *args: Any) -> Loss:
    """One loss, as `Report.add` makes it of these arguments."""
    report = Report(target)
    report.add(*args)
    return report.entries[0]
