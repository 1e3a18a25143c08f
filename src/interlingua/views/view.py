"""The record of a view, one JSON shape of conversations, and the account of what it cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from interlingua.errors import LossError, ReadError, WriteError
from interlingua.model.arguments import recover, to_text
from interlingua.model.base import JsonObject, Raw, Value, _defaults, same
from interlingua.model.blocks import (
    SUMMARY,
    Block,
    CompactionBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Loss, LossKind, Report, Severity
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import Diagnostic
from interlingua.views.base import FORM, ISSUER, Written, own_raw, placed, spelling_of, step

# Whether the conversation still means the same without a block, or without a field.
_MINOR_BLOCKS = frozenset({"thinking", "redacted_thinking", "unknown"})
_MINOR_FIELDS = frozenset(
    {"cache", "id", "session_id", "created_at", "schema_version", "raw_arguments", "tool_name"}
)

_ROLES = (Role.USER, Role.ASSISTANT, Role.TOOL, Role.SYSTEM, Role.DEVELOPER)
"""The roles that views write; a message of a later one is refused."""


class Account:
    """Reports what a view cannot hold of one message, or of another value."""

    def __init__(
        self,
        report: Report,
        path: str,
        message: Message | None = None,
        issuer: str | None = None,
    ) -> None:
        self.report = report
        self.path = path
        self.owner = message
        self._issuer = issuer
        if message is not None and message.role not in _ROLES:
            problem = f"there is no word for the role {message.role.value!r}"
            raise WriteError(f"{report.target} view", path, problem)

    def issuer_of(self, block: Block) -> str | None:
        """The dialect that signed a block: by its wire, its message, or where
        the messages were read from; None where it is not known."""
        named = spelling_of(self.report.target, getattr(block, "raw", None)).get(ISSUER)
        known = self.owner.metadata if self.owner is not None else NO_METADATA
        return named or known.protocol or known.provider or self._issuer

    def lost(
        self,
        path: str,
        reason: str,
        severity: Severity = "warning",
        kind: LossKind = "dropped",
        block: Block | None = None,
    ) -> None:
        block_type = block.type if block is not None else None
        self.report.add(kind, path, reason, severity, block_type, self._message_id())

    def block(self, path: str, block: Block, reason: str | None = None) -> None:
        """Reports a block that is left out; where it is critical, the write fails."""
        word = block.type
        reason = reason or f"{self.report.target} has no such block"
        severity: Severity = "warning" if word in _MINOR_BLOCKS else "error"
        if self._is_critical(path):
            loss = Loss("dropped", path, reason, "error", word, self._message_id())
            raise LossError(f"{self.report.target} view", Report(self.report.target, [loss]))
        session_id = self.owner.session_id if self.owner is not None else None
        self.report.dropped_block(path, word, reason, severity, self._message_id(), session_id)

    def own_or_dropped(self, path: str, block: Block) -> JsonObject | None:
        """An unknown block that came from this view, as it was; any other is reported."""
        own = isinstance(block, UnknownBlock) and own_raw(self.report.target, block.raw)
        if not own:
            self.block(path, block)
        return own or None

    def summary(self, path: str, block: CompactionBlock) -> TextBlock | None:
        """Compacted history as labelled text; None where only its issuer could read it."""
        if not block.text:
            if block.data is None:
                self.lost(path, "a compaction that failed says nothing", "info", block=block)
            else:
                self.block(path, block, "history that only its issuer can read")
            return None
        self.lost(path, "compacted history as labelled text", kind="downgraded", block=block)
        if block.raw is not None:
            self.raw(block.raw, f"{path}.raw")
        return TextBlock(SUMMARY.format(block.text))

    def fields(self, value: Value, path: str, *held: str, severity: Severity | None = None) -> None:
        """Every field with a value that is not among those held."""
        defaults = _defaults(type(value))
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if name in held or same(item, defaults[name]):
                continue
            if name in ("raw", "provider_raw"):
                self.raw(item, f"{path}.{name}", severity or "warning")
            else:
                minor: Severity = "info" if name in _MINOR_FIELDS else "warning"
                reason = f"{self.report.target} has no {name}"
                self.lost(f"{path}.{name}", reason, severity or minor)

    def message(self, message: Message, *held: str, metadata: Iterable[str] = ()) -> None:
        """The fields of a message and of its metadata, apart from its content."""
        self.fields(message, self.path, "role", "content", "metadata", *held)
        known = message.metadata
        derived = {getattr(block, "tool_use_id", None) for block in message.content}
        if known.parent_tool_use_id in derived:
            metadata = {*metadata, "parent_tool_use_id"}
        place = f"{self.path}.metadata"
        self.fields(known, place, "status", *metadata, severity="info")
        if "status" not in metadata and known.status != "complete":
            self.lost(f"{place}.status", f"{self.report.target} has no status")

    def request(self, request: Request) -> None:
        """Everything in a request beside its messages and tools."""
        self.fields(request, self.path, "messages", "tools", "options")
        self.fields(request.options, f"{self.path}.options")

    def results(
        self, message: Message, held: Iterable[str] | None = ()
    ) -> list[tuple[str, ToolResultBlock]]:
        """The results of a tool message with their paths; there should be exactly one. The fields
        of the message are reported unless `held` is None."""
        found: list[tuple[str, ToolResultBlock]] = []
        for block, place in placed(message.content, self.path):
            if isinstance(block, ToolResultBlock):
                found.append((place, block))
            else:
                self.block(place, block)
        if not found:
            self.lost(self.path, "a tool message without a result", "error")
            return []
        if held is not None:
            self.message(message, *held)
        if len(found) > 1:
            reason = "one message for each result"
            self.lost(f"{self.path}.content", reason, kind="approximated")
        return found

    def raw(self, raw: Raw, path: str, severity: Severity = "warning") -> None:
        """Reports what only another dialect understands; spelling is never a loss."""
        for dialect, own in raw.items():
            place = step(path, dialect)
            reason = f"only {dialect} understands it"
            if dialect == self.report.target:
                continue
            if not isinstance(own, dict):
                self.lost(place, reason, severity)
                continue
            for key in own:
                if key != FORM:
                    self.lost(step(place, key), reason, severity)

    def diagnostics(self, message: Message, held: Iterable[Diagnostic]) -> None:
        """Reports the diagnostics that reading again does not give."""
        again = list(held)
        for number, each in enumerate(message.metadata.diagnostics):
            if each in again:
                again.remove(each)
            else:
                place = f"{self.path}.metadata.diagnostics[{number}]"
                self.lost(place, f"{self.report.target} has no diagnostics", "info")

    def arguments(self, block: ToolUseBlock, path: str) -> None:
        """Reports argument text that carries more than the input, where arguments are objects."""
        text = block.raw_arguments
        if text is None:
            return
        recovered = recover(text)
        if not same(recovered.input, block.input) or text == to_text(block.input):
            return
        severity: Severity = "info" if recovered.mode == "strict" else "warning"
        reason = f"{self.report.target} requires arguments to be an object"
        self.lost(f"{path}.raw_arguments", reason, severity, block=block)

    def _message_id(self) -> str | None:
        return self.owner.id if self.owner is not None else None

    def _is_critical(self, path: str) -> bool:
        critical = self.owner.metadata.critical if self.owner is not None else False
        if isinstance(critical, bool):
            return critical
        return any(path.startswith(f"{self.path}.content[{number}]") for number in critical)


class Write(Protocol):
    def __call__(self, messages: Iterable[Message], issuer: str | None = None) -> Written: ...


@dataclass(frozen=True)
class View:
    """`read` and `write` are for messages; a view that also holds tools has the other two."""

    name: str
    read: Callable[[Any], tuple[Message, ...]]
    write: Write
    read_context: Callable[[Any], Request] | None = None
    write_context: Callable[[Request, str | None], Written] | None = None

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
        """A whole request; paths in the report are those of the request. `issuer`: the
        dialect that it was read from, for signatures that name none."""
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
