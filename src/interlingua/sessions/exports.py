"""A conversation on its way out of a session."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.dialects.registry import dialect as dialect_of
from interlingua.losses import Report
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.retell import retell

CANONICAL = "canonical"


def export(
    messages: Sequence[Message], to: str = CANONICAL, model: str | None = None
) -> tuple[bytes, Report]:
    """All messages as canonical JSON, or as one request in a dialect."""
    if to == CANONICAL:
        return dumps(list(messages)), Report(CANONICAL)
    target = dialect_of(to)
    name = None if model is None else model.partition(":")[2] or model
    told = retell(Request(tuple(messages), name), target, name)
    written = target.write_request(told.value, told.scribe)
    return written.json(), written.report.of_history()
