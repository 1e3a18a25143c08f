"""The record of a view: one JSON shape of conversations, two ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from interlingua.errors import ReadError
from interlingua.losses import Report
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message, Role
from interlingua.views.account import Account
from interlingua.views.base import Written


class Write(Protocol):
    def __call__(self, messages: Iterable[Message], issuer: str | None = None) -> Written: ...


class WriteContext(Protocol):
    def __call__(self, request: Request, issuer: str | None = None) -> Written: ...


@dataclass(frozen=True)
class View:
    """`read` and `write` are for messages; a view that also holds tools has the other two."""

    name: str
    read: Callable[[Any], tuple[Message, ...]]
    write: Write
    read_context: Callable[[Any], Request] | None = None
    write_context: WriteContext | None = None

    def read_request(self, plain: Any) -> Request:
        """All that the wire holds: the messages, and tools where the view has them."""
        if self.read_context is not None:
            return self.read_context(plain)
        return Request(self.read(plain))

    def read_response(self, plain: Any) -> Response:
        """One message, a model's own."""
        messages = self.read_request(plain).messages
        if len(messages) == 1 and messages[0].role is Role.ASSISTANT:
            return Response(messages[0])
        roles = ", ".join([message.role.value for message in messages]) or "none"
        raise ReadError(f"{self.name} view", "$", "one assistant message", roles)

    def write_request(self, request: Request, issuer: str | None = None) -> Written:
        """A whole request; paths in the report are those of the request. `issuer` is the dialect
        that it was read from: whose the signatures are that do not say it."""
        if self.write_context is not None:
            return self.write_context(request, issuer)
        wire, report = self.write(request.messages, issuer)
        losses = [
            msgspec.structs.replace(loss, path=f"$.messages{loss.path.removeprefix('$')}")
            for loss in report
        ]
        account = Account(Report(self.name, losses), "$")
        account.request(request)
        for number in range(len(request.tools)):
            account.lost(f"$.tools[{number}]", f"{self.name} has no tools")
        return Written(wire, account.report)
