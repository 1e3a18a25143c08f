"""Sessions out of a store: as JSON Lines that can be imported again, or in another format.

A session is one line `{"session": …, "provider_ids": …}` and then one line for each message, in
its canonical form, and with `trace` one line `{"event": …}` for each event. So a session of any
length is written and read in constant memory. When a session was last changed is a fact of its
store and not written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from interlingua.cli import formats
from interlingua.cli.stores import PAGE, all_messages
from interlingua.dialects.record import Written
from interlingua.exports.lines import session_lines
from interlingua.exports.markdown import markdown
from interlingua.exports.session import SessionExport
from interlingua.exports.summary import answers_of, losses_of, totals_of
from interlingua.losses import Report
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.prices.table import bundled
from interlingua.store.rows import SessionRow

if TYPE_CHECKING:
    from interlingua.cli.redact_option import Hiding
    from interlingua.store.base import Store

JSONL = "jsonl"
MARKDOWN = "markdown"
HTML: Final = "html"
"""One session a file."""


def targets() -> list[str]:
    """What a session can be written as, beside the formats of other agents."""
    return [JSONL, MARKDOWN, HTML, *formats.names()]


class ExportOptions(NamedTuple):
    """How sessions are to be written: the format, which model goes on, with events or not, and
    what takes secrets out."""

    target: str
    model: str | None = None
    trace: bool = False
    hide: Hiding | None = None


def pieces(store: Store, row: SessionRow, wanted: ExportOptions, report: Report) -> Iterator[bytes]:
    """One session as bytes that end with a line; losses go to the report."""
    target, hide = wanted.target, wanted.hide
    row = row if hide is None else hide.row(row)
    if target == JSONL:
        yield from _lines(store, row, wanted, report)
    elif target == HTML:
        yield _page(store, row, wanted, report)
    elif target == MARKDOWN:
        yield from (piece.encode() for piece in markdown(row, _messages(store, row, report, hide)))
    elif target == formats.CANONICAL:
        yield from _canonical(store, row, report, hide)
    else:
        written = _as_request(store, row, wanted, report)
        report.extend(written.report.of_history())
        yield formats.to_bytes(written.wire, pretty=False) + b"\n"


def _messages(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None
) -> Iterator[Message]:
    """All messages, without secrets if that is asked for."""
    found = _all_messages(store, row, report)
    return found if hide is None else iter(hide.session(row, list(found)))


def _all_messages(store: Store, row: SessionRow, report: Report) -> Iterator[Message]:
    """Those that a newer version wrote with a role of its own are a loss."""
    count = 0
    for message in all_messages(store, row):
        count += 1
        yield message
    if count < row.message_count:
        missing = f"{row.message_count - count} with a role that is not known here"
        report.add("dropped", "$.messages", missing, "error")


def _lines(store: Store, row: SessionRow, wanted: ExportOptions, report: Report) -> Iterator[bytes]:
    hide = wanted.hide
    messages = _messages(store, row, report, hide)
    yield from session_lines(msgspec.to_builtins(row), _provider_ids(store, row), messages)
    after = 0
    while wanted.trace and (events := store.events(row.id, after, PAGE)):
        after = events[-1].seq
        for event in events:
            if hide is not None:
                payload = hide.value(event.payload, event.id)
                event = msgspec.structs.replace(event, payload=payload)
            yield msgspec.json.encode({"event": event}) + b"\n"


def _page(store: Store, row: SessionRow, wanted: ExportOptions, report: Report) -> bytes:
    """The page's transcript as a file of its own."""
    hide = wanted.hide
    messages = tuple(_messages(store, row, report, hide))
    summary = totals_of(answers_of(messages, bundled()))
    changed = {change["message_id"] for change in summary["changes"]}
    losses = losses_of(changed, _answers(store, row.id) if changed else ())
    for change in summary["changes"]:
        change["losses"] = losses.get(change["message_id"])
    if hide is not None:
        summary = hide.value(summary, "summary")
    return SessionExport(row, messages, summary, {}).written(HTML)


def _answers(store: Store, id: str) -> Iterator[dict[str, Any]]:
    """What the trace says of the answers of a session."""
    after = 0
    while events := store.events(id, after, PAGE, ["llm.call_completed"]):
        after = events[-1].seq
        yield from (event.payload for event in events)


def _provider_ids(store: Store, row: SessionRow) -> dict[str, str]:
    calls = store.tool_calls(row.id)
    return {call.id: call.provider_id for call in calls if call.provider_id is not None}


def _canonical(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None
) -> Iterator[bytes]:
    """The messages as one JSON list."""
    yield b"["
    for number, message in enumerate(_messages(store, row, report, hide)):
        yield (b",\n" if number else b"") + dumps(message)
    yield b"]\n"


def _as_request(store: Store, row: SessionRow, wanted: ExportOptions, report: Report) -> Written:
    """The request that would continue this session."""
    messages = messages_abroad(store, row, report, wanted.hide)
    model = wanted.model or _model(row, messages)
    value = Request(messages, model.partition(":")[2] or model if model else None)
    return formats.write(value, wanted.target, formats.CANONICAL)


def messages_abroad(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None = None
) -> tuple[Message, ...]:
    """All messages, with the providers' own ids of calls."""
    known = _provider_ids(store, row)
    messages = _messages(store, row, report, hide)
    return tuple([_renamed(message, known) if known else message for message in messages])


def _model(row: SessionRow, messages: tuple[Message, ...]) -> str | None:
    if row.active_model:
        return row.active_model
    used = (message.metadata.model for message in reversed(messages))
    return next((model for model in used if model), None)


def _renamed(message: Message, ids: dict[str, str]) -> Message:
    content = tuple([_renamed_block(block, ids) for block in message.content])
    parent = message.metadata.parent_tool_use_id
    if parent in ids:
        metadata = message.metadata.replace(parent_tool_use_id=ids[parent])
        return message.replace(content=content, metadata=metadata)
    return message if content == message.content else message.replace(content=content)


def _renamed_block(block: Block, ids: dict[str, str]) -> Block:
    if type(block) is ToolUseBlock and block.id in ids:
        return block.replace(id=ids[block.id])
    if type(block) is ToolResultBlock and block.tool_use_id in ids:
        return block.replace(tool_use_id=ids[block.tool_use_id])
    return block
