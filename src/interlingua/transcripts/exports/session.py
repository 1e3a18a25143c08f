"""A session to export, as it is or redacted: the row, the messages and what they sum up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.model.codec import dumps
from interlingua.model.message import Message
from interlingua.store.rows import SessionRow
from interlingua.transcripts.exports import html
from interlingua.transcripts.exports.markdown import markdown
from interlingua.transcripts.redaction import Finding, Redactor, Rules


def session_lines(
    row: Mapping[str, Any], provider_ids: Mapping[str, str], messages: Iterable[Message]
) -> Iterator[bytes]:
    """A session as JSON Lines that can be imported again: its row, then each message."""
    header: dict[str, Any] = {"session": {k: v for k, v in row.items() if k != "updated_at"}}
    if provider_ids:
        header["provider_ids"] = provider_ids
    yield msgspec.json.encode(header) + b"\n"
    for message in messages:
        yield dumps(message) + b"\n"


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
    """A redacted session, with findings at `/messages/…`, `/session/…` or `/summary/…`."""

    session: SessionExport
    findings: tuple[Finding, ...]


def redact_export(session: SessionExport, rules: Rules, keep: Iterable[str] = ()) -> RedactedExport:
    """Redacts a session; `keep` are placeholders of an earlier run whose secrets stay."""
    redactor = _redactor_for(session, rules)
    if placeholders := frozenset(keep):
        _redacted(session, redactor)  # gives all of them their numbers, as the first try did
        rules = msgspec.structs.replace(rules, keep=rules.keep | redactor.secrets(placeholders))
        redactor = _redactor_for(session, rules)
    return _redacted(session, redactor)


def _redactor_for(session: SessionExport, rules: Rules) -> Redactor:
    """A redactor that has learned the secrets of all parts of the session."""
    redactor = Redactor(rules)
    row = session.row
    redactor.learn([row.name, row.workspace_path, session.messages, session.provider_ids])
    redactor.learn(session.summary, fixed_keys=True)
    return redactor


def _redacted(session: SessionExport, redactor: Redactor) -> RedactedExport:
    row = session.row
    # The names of the parts, and the keys of the summary, are this package's own and stay even
    # where a user's pattern matches them.
    name = redactor.redact(row.name, "/session/name")
    folder = redactor.redact(row.workspace_path, "/session/workspace_path")
    messages = redactor.redact(session.messages, "/messages")
    summary = redactor.redact(session.summary, "/summary", fixed_keys=True)
    ids = redactor.redact(session.provider_ids, "/provider_ids")
    row = msgspec.structs.replace(row, name=name.value, workspace_path=folder.value)
    findings = [found for part in (name, folder, messages, summary, ids) for found in part.findings]
    made = SessionExport(row, messages.value, summary.value, ids.value)
    return RedactedExport(made, tuple(findings))
