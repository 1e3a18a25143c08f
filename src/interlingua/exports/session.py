"""A session to be exported, as it is or redacted: the row, the messages and what they sum up to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.exports import html
from interlingua.exports.lines import session_lines
from interlingua.exports.markdown import markdown
from interlingua.model.message import Message
from interlingua.redaction import Finding, Redactor, Rules
from interlingua.store.rows import SessionRow

ExportFormat = Literal["html", "markdown", "jsonl"]
KINDS: dict[ExportFormat, tuple[str, str]] = {
    "html": ("html", "text/html"),
    "markdown": ("md", "text/markdown"),
    "jsonl": ("jsonl", "application/x-ndjson"),
}
"""The end of a file's name, and its media type."""


class SessionExport(NamedTuple):
    """Everything that is written of a session."""

    row: SessionRow
    messages: tuple[Message, ...]
    summary: dict[str, Any]
    provider_ids: dict[str, str]

    def written(self, format: ExportFormat) -> bytes:
        row = msgspec.to_builtins(self.row)
        if format == "html":
            shown = {name: row.get(name) for name in _SHOWN}
            return html.page(shown, self.messages, self.summary)
        if format == "markdown":
            return "".join(markdown(self.row, self.messages)).encode()
        return b"".join(session_lines(row, self.provider_ids, self.messages))


_SHOWN = ("id", "name", "workspace_path", "active_model", "message_count", "created_at")


class RedactedExport(NamedTuple):
    """What became of a session, and what was taken out of it. Places begin with `/messages/`,
    `/session/` or `/summary/`."""

    session: SessionExport
    findings: tuple[Finding, ...]


def redact_export(session: SessionExport, rules: Rules, keep: Iterable[str] = ()) -> RedactedExport:
    """The session without what the rules name. `keep` are placeholders of a first try whose
    secrets are to stay."""
    plain = _plain(session)
    redactor = Redactor(rules)
    redactor.learn(plain)
    if wanted := frozenset(keep):
        redactor.redact(plain)  # gives all of them their numbers, as the first try did
        rules = msgspec.structs.replace(rules, keep=rules.keep | redactor.secrets(wanted))
        redactor = Redactor(rules)
        redactor.learn(plain)
    value, findings = redactor.redact(plain)
    row = msgspec.structs.replace(session.row, **value["session"])
    messages, summary, ids = value["messages"], value["summary"], value["provider_ids"]
    return RedactedExport(SessionExport(row, tuple(messages), summary, ids), findings)


def _plain(session: SessionExport) -> dict[str, Any]:
    row = session.row
    named = {"name": row.name, "workspace_path": row.workspace_path}
    return {
        "session": named,
        "messages": session.messages,
        "summary": session.summary,
        "provider_ids": session.provider_ids,
    }
