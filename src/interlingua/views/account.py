"""What a view has no place for, put into the report: blocks, fields, and `raw` of others."""

from __future__ import annotations

from collections.abc import Iterable

from interlingua.errors import LossError
from interlingua.losses import Loss, LossKind, Report, Severity
from interlingua.model.base import Raw, Value, _defaults, same
from interlingua.model.blocks import (
    SUMMARY,
    TYPE_OF,
    Block,
    CompactionBlock,
    TextBlock,
    ToolResultBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import NO_METADATA, Message
from interlingua.model.metadata import Diagnostic
from interlingua.views.base import FORM, ISSUER, form_of, step

# Whether the conversation still means the same without a block, or without a field.
_MINOR_BLOCKS = frozenset({"thinking", "redacted_thinking", "unknown"})
_MINOR_FIELDS = frozenset(
    {"cache", "id", "session_id", "created_at", "schema_version", "raw_arguments", "tool_name"}
)


class Account:
    """What a view cannot hold of one message, or of another value, put into the report."""

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

    def issuer_of(self, block: Block) -> str | None:
        """The dialect of whoever signed a block: what its wire named, else its message, else where
        the messages were read from; None where nobody says it."""
        named = form_of(self.report.target, getattr(block, "raw", None)).get(ISSUER)
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
        block_type = TYPE_OF[type(block)] if block is not None else None
        self.report.add(kind, path, reason, severity, block_type, self._message_id())

    def block(self, path: str, block: Block, reason: str | None = None) -> None:
        """A whole block has no place; where it is critical, the write fails."""
        word = TYPE_OF[type(block)]
        reason = reason or f"{self.report.target} has no such block"
        severity: Severity = "warning" if word in _MINOR_BLOCKS else "error"
        if self._is_critical(path):
            loss = Loss("dropped", path, reason, "error", word, self._message_id())
            raise LossError(f"{self.report.target} view", Report(self.report.target, [loss]))
        session_id = self.owner.session_id if self.owner is not None else None
        self.report.dropped_block(path, word, reason, severity, self._message_id(), session_id)

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
        """Every field that says something and is not among those held."""
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

    def results(self, message: Message, *held: str) -> list[tuple[str, ToolResultBlock]]:
        """The results of a tool message with their places; there should be exactly one."""
        found: list[tuple[str, ToolResultBlock]] = []
        for number, block in enumerate(message.content):
            place = f"{self.path}.content[{number}]"
            if isinstance(block, ToolResultBlock):
                found.append((place, block))
            else:
                self.block(place, block)
        if not found:
            self.lost(self.path, "a tool message without a result", "error")
            return []
        self.message(message, *held)
        if len(found) > 1:
            reason = "one message for each result"
            self.lost(f"{self.path}.content", reason, kind="approximated")
        return found

    def raw(self, raw: Raw, path: str, severity: Severity = "warning") -> None:
        """What only a dialect understands; spelling is never a loss."""
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
        """Those diagnostics that reading again will not make."""
        again = list(held)
        for number, each in enumerate(message.metadata.diagnostics):
            if each in again:
                again.remove(each)
            else:
                place = f"{self.path}.metadata.diagnostics[{number}]"
                self.lost(place, f"{self.report.target} has no diagnostics", "info")

    def _message_id(self) -> str | None:
        return self.owner.id if self.owner is not None else None

    def _is_critical(self, path: str) -> bool:
        critical = self.owner.metadata.critical if self.owner is not None else False
        if isinstance(critical, bool):
            return critical
        return any(path.startswith(f"{self.path}.content[{number}]") for number in critical)
