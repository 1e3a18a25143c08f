"""The record of a view: one JSON shape of conversations, two ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.views.account import Account
from interlingua.views.base import Written


@dataclass(frozen=True)
class View:
    """`read` and `write` are for messages; a view that also holds tools has the other two."""

    name: str
    read: Callable[[Any], tuple[Message, ...]]
    write: Callable[[Iterable[Message]], Written]
    read_context: Callable[[Any], Request] | None = None
    write_context: Callable[[Request], Written] | None = None

    def read_request(self, plain: Any) -> Request:
        """All that the wire holds: the messages, and tools where the view has them."""
        if self.read_context is not None:
            return self.read_context(plain)
        return Request(self.read(plain))

    def write_request(self, request: Request) -> Written:
        """A whole request; paths in the report are those of the request."""
        if self.write_context is not None:
            return self.write_context(request)
        wire, report = self.write(request.messages)
        losses = [
            msgspec.structs.replace(loss, path=f"$.messages{loss.path.removeprefix('$')}")
            for loss in report
        ]
        account = Account(Report(self.name, losses), "$")
        account.request(request)
        for number in range(len(request.tools)):
            account.lost(f"$.tools[{number}]", f"{self.name} has no tools")
        return Written(wire, account.report)
