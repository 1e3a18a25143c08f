"""Exports of a session for people: one HTML page, Markdown or JSON lines."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Never, assert_type

import msgspec

from interlingua.costs.cost import cost_notes, cost_of, total, unpriced_parts
from interlingua.costs.table import PriceTable
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    MediaBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.codec import dumps
from interlingua.model.human import dollars, minute, plural
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, MessageStatus, Usage
from interlingua.store.rows import SessionRow
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
            return page(shown, self.messages, self.summary)
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


BEGIN = "offline.js"
STYLES = ("style.css", "reading.css", "convert.css")
_IMPORT = re.compile(r'^import \{ ([^}]*) \} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="main" tabindex="-1"></main>
<noscript>This page shows a conversation with JavaScript; the file has it as JSON, too.</noscript>
<script type="application/json" id="conversation">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(row: Mapping[str, Any], messages: Iterable[Message], summary: Mapping[str, Any]) -> bytes:
    """One HTML file that shows the page's transcript without a server; `row` is a session's row and
    `summary` its counts, as plain values. Its policy lets nothing else run and nothing be fetched;
    all text is put there as text."""
    script, style = bundle(), "".join(map(_text, STYLES))
    return _PAGE.format(
        policy=_policy(script, style),
        title=html.escape(str(row.get("name") or row.get("workspace_path") or "A conversation")),
        style=style,
        data=_data(row, messages, summary),
        script=script,
    ).encode()


def _policy(script: str, style: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(row: Mapping[str, Any], messages: Iterable[Message], summary: Mapping[str, Any]) -> str:
    """JSON that cannot end the HTML element around it."""
    encoded = [dumps(message).decode() for message in messages]
    head = msgspec.json.encode({"row": row, "summary": summary}).decode()
    return f'{head[:-1]},"messages":[{",".join(encoded)}]}}'.replace("<", "\\u003c")


@cache
def bundle() -> str:
    """The modules that the file needs, as one script: each in a function of its own."""
    made: dict[str, str] = {}
    _collect(BEGIN, made)
    body = "\n".join(made.values())
    return f'"use strict";\nconst MODULES = {{}};\n{body}\n'


def _collect(name: str, made: dict[str, str]) -> None:
    text = _text(name)
    for _, other in _IMPORT.findall(text):
        if other not in made:
            _collect(other, made)
    names = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(_imported, text))
    made[name] = f'MODULES["{name}"] = (() => {{\n{body}\nreturn {{ {names} }};\n}})();'


def _imported(match: re.Match[str]) -> str:
    return f'const {{ {match[1].replace(" as ", ": ")} }} = MODULES["{match[2]}"];\n'


def _text(name: str) -> str:
    return files("interlingua.web").joinpath(name).read_text(encoding="utf-8")


LONGEST = 600
"""Characters of a block that are shown unless all is requested."""


class LabelledText(NamedTuple):
    """The content of a block: its kind, and a text. `is_code` if it is data, not prose."""

    label: str
    text: str
    is_code: bool = False


def labelled_text(block: Block) -> LabelledText:
    if isinstance(block, MediaBlock):
        return LabelledText(block.type, _media(block))
    match block:
        case TextBlock():
            return LabelledText("", block.text)
        case ThinkingBlock():
            return LabelledText("thinking", block.text or "(signed, without text)")
        case RedactedThinkingBlock():
            return LabelledText("thinking", "(encrypted)")
        case ToolUseBlock():
            return LabelledText(f"calls {block.name}", _json(block.input), True)
        case ToolResultBlock():
            parts = [labelled_text(part) for part in block.content]
            text = "\n".join(
                f"[{part.label}] {part.text}" if part.label else part.text for part in parts
            )
            return LabelledText("result: an error" if block.is_error else "result", text, True)
        case RefusalBlock():
            return LabelledText("refuses", block.text)
        case CompactionBlock():
            return LabelledText("summary of what came before", block.text or "(encrypted)")
        case UnknownBlock():
            return LabelledText("unknown block", _json(block.raw), True)
        case _:
            assert_type(block, Never)  # type: ignore[unreachable]  # types of later versions
            return LabelledText("unknown block", block.type)


def _media(block: MediaBlock) -> str:
    source = block.source
    data = source.data if isinstance(source.data, str) else ""
    where = data if source.kind in ("url", "file_id", "file_ref", "text") else ""
    size = f"{len(data) * 3 // 4:,} bytes" if source.kind == "base64" else ""
    return ", ".join(part for part in (block.name, block.media_type, where, size) if part)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def head(message: Message) -> str:
    """The metadata of a message in one line."""
    metadata = message.metadata
    usage = metadata.usage
    parts = [
        message.name or "",
        metadata.model or "",
        minute(message.created_at) if message.created_at else "",
        status_text(metadata.status),
    ]
    if usage is not None and usage.total_tokens is not None:
        parts.append(f"{_count(usage.prompt_tokens)} in, {_count(usage.output_tokens)} out")
    if usage is not None and usage.cost_usd is not None:
        parts.append(dollars(usage.cost_usd))
    if usage is not None:
        parts += cost_notes(usage, metadata.model)
    return " · ".join(part for part in parts if part)


def _count(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"


def clipped(text: str, full: bool) -> str:
    if full or len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… ({len(text):,} characters)"


def title(row: SessionRow) -> str:
    return row.name or f"Session {row.id}"


def markdown(row: SessionRow, messages: Iterable[Message]) -> Iterator[str]:
    """A session as Markdown, piece by piece: text of people unchanged, data in fences."""
    yield f"# {_line(title(row))}\n\n"
    facts = [f"session `{row.id}`", plural(row.message_count, "message"), minute(row.created_at)]
    if row.active_model:
        facts.append(f"`{_line(row.active_model)}`")
    yield f"{', '.join(facts)}\n"
    for message in messages:
        yield f"\n## {message.role.value}\n"
        if known := head(message):
            yield f"\n*{_line(known)}*\n"
        for block in message.content:
            yield _markdown_block(labelled_text(block))


def _markdown_block(it: LabelledText) -> str:
    label = f"\n**{_line(it.label)}**\n" if it.label else ""
    if it.is_code:
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", it.text)), 3)
        return f"{label}\n{fence}\n{it.text}\n{fence}\n"
    if it.label:  # not for the reader: set apart
        quoted = "\n".join(f"> {line}" for line in it.text.split("\n"))
        return f"{label}\n{quoted}\n"
    return f"\n{it.text}\n"


def _line(text: str) -> str:
    return " ".join(text.split())


BARS = 120
"""Parts of the picture of a session's prompts; more answers share one."""
MOST_CHANGES = 200
COUNTS = (
    *("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"),
    *("output_tokens", "reasoning_tokens"),
)


class AnswerUsage(NamedTuple):
    """One answer of a session."""

    id: str
    model: str
    usage: Usage
    saved: Decimal | None


def totals_of(answers: list[AnswerUsage]) -> dict[str, Any]:
    """Counts, money and changes of model; losses and branches need a store."""
    return {
        "total": _sums(answers),
        "models": [
            {"model": model, **_sums(part)} for model, part in sorted(_by_model(answers).items())
        ],
        "prompts": _bars(answers),
        "changes": [{**change, "losses": None} for change in _changes(answers)],
        "branches": [],
        "copied_until": None,
    }


def answers_of(messages: Iterable[Message], prices: PriceTable) -> list[AnswerUsage]:
    """The messages that have a usage."""
    return [
        answer(message.id or "", message.created_at, message.metadata, prices)
        for message in messages
        if message.metadata.usage is not None
    ]


def answer(
    id: str, at: datetime | None, metadata: MessageMetadata, prices: PriceTable
) -> AnswerUsage:
    model = metadata.model or metadata.response_model or "unknown"
    usage = metadata.usage or Usage()
    return AnswerUsage(id, model, usage, saved_by_caching(usage, model, prices, at))


def saved_by_caching(
    usage: Usage, model: str, prices: PriceTable, at: datetime | None = None
) -> Decimal | None:
    """The additional cost of the same prompt without a cache; negative if cache writes cost more
    than reads saved. None if it cannot be known."""
    prompt = usage.prompt_tokens
    if prompt is None:
        return None
    if not usage.cached_input_tokens and not usage.cache_creation_input_tokens:
        return Decimal(0)
    plain = Usage(input_tokens=prompt, output_tokens=usage.output_tokens)
    try:
        without, real = (cost_of(each, model, prices, at) for each in (plain, usage))
    except (InterlinguaError, ValueError):
        return None
    return total(without.total, -real.total)


def _by_model(answers: Iterable[AnswerUsage]) -> dict[str, list[AnswerUsage]]:
    parts: dict[str, list[AnswerUsage]] = {}
    for answer in answers:
        parts.setdefault(answer.model, []).append(answer)
    return parts


def _sums(answers: list[AnswerUsage]) -> dict[str, Any]:
    """Counts are sums of known values; money is exact, as text."""
    costs = [a.usage.cost_usd for a in answers if a.usage.cost_usd is not None]
    priced = [a for a in answers if a.usage.cost_usd is not None]
    partly = sum(bool(unpriced_parts(each.usage, each.model)) for each in priced)
    saved = [a.saved for a in answers if a.saved is not None]
    counts = {name: sum(getattr(a.usage, name) or 0 for a in answers) for name in COUNTS}
    return {
        "answers": len(answers),
        **counts,
        "cost_usd": str(total(*costs)) if costs else None,
        "unpriced": len(answers) - len(costs) + partly,
        "saved_usd": str(total(*saved)) if saved else None,
        "saving_unknown": len(answers) - len(saved),
    }


def _bars(answers: list[AnswerUsage]) -> list[dict[str, Any]]:
    """The prompts in their order, several together where there are many."""
    size = max(1, -(-len(answers) // BARS))
    parts = [answers[at : at + size] for at in range(0, len(answers), size)]
    return [
        {
            "message_id": part[0].id,
            "answers": len(part),
            "fresh": sum(a.usage.input_tokens or 0 for a in part),
            "cached": sum(a.usage.cached_input_tokens or 0 for a in part),
            "written": sum(a.usage.cache_creation_input_tokens or 0 for a in part),
        }
        for part in parts
    ]


def _changes(answers: list[AnswerUsage]) -> list[dict[str, Any]]:
    pairs = pairwise(answers)
    found = [
        {"message_id": after.id, "from": before.model, "to": after.model}
        for before, after in pairs
        if before.model != after.model
    ]
    return found[:MOST_CHANGES]


def losses_of(
    message_ids: Iterable[str], payloads: Iterable[Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Losses of these answers by message id, from trace events; untraced answers are left out."""
    named = frozenset(message_ids)
    return {
        payload["message_id"]: payload.get("losses") or {"count": 0, "losses": []}
        for payload in payloads
        if payload.get("message_id") in named
    }


def status_text(status: MessageStatus) -> str:
    """How a message ended, if that is unusual. A stop by the user is not an error."""
    if status is MessageStatus.COMPLETE:
        return ""
    return "stopped" if status is MessageStatus.CANCELLED else status.value
