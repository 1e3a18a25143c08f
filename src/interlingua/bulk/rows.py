"""What goes through a run: rows as they were found, and as they go out."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.model.losses import Loss


class Row(NamedTuple):
    """A conversation, or the JSON of a body; or why neither can be read."""

    value: Any = None
    wire: bytes | dict[str, Any] | None = None
    problem: str | None = None


class Converted(NamedTuple):
    """A body of the target format; None where a row that cannot be read has to stay a row."""

    wire: bytes | None
    model: str | None
    losses: list[Loss]
