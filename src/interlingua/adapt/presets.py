"""Rows for training, evaluation and batches, and the messages of a page: formats of transcripts
that hold one conversation as one JSON value, so that they are targets and sources like the others.

`transcripts` reads and writes files of them; here it is one value at a time, for lines and tables.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import ReadError, found
from interlingua.model.base import _defaults, same
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.reasons import because
from interlingua.model.spelled_numbers import spelled

PRESETS: dict[str, str] = {
    "hf-messages": "Hugging Face messages and tools",
    "openai-finetune": "OpenAI fine-tuning",
    "sharegpt": "ShareGPT",
    "atif": "ATIF trajectories",
    "openai-batch": "lines of an OpenAI batch",
    "anthropic-batch": "lines of an Anthropic batch",
    "ui-message": "UI messages of the AI SDK",
}
"""Known without loading any of them."""
BATCHES = {"openai-batch": "openai-chat", "anthropic-batch": "anthropic"}
"""Lines whose body is a request of a dialect, and the one that is written."""
_LISTED = "ui-message"
"""Fields whose value is a list of messages; all others are objects."""


class Row(NamedTuple):
    """One conversation, and its losses."""

    wire: Any
    report: Report


def write(request: Request, name: str) -> Row:
    """The conversation of a request as one value; how to generate has no place in it."""
    from interlingua.transcripts import Transcript, format_of

    models = (request.model,) if request.model else ()
    transcript = Transcript(
        format="request", messages=request.messages, tools=request.tools, models=models
    )
    format = format_of(name)
    assert format.write is not None
    draft = format.write(transcript, "row.json" if name == _LISTED else "row.jsonl")
    wire = msgspec.json.decode(next(iter(draft.files.values())))
    report = Report(name, [*draft.report.entries])
    _report_options(request, report)
    if "tools" in format.unsupported_fields:
        for number in range(len(request.tools)):
            report.add("dropped", f"$.tools[{number}]", because("unsupported"))
    return Row(wire, report)


def line_of(body: Any, name: str) -> dict[str, Any]:
    """A body as a line of a batch. Its name is derived from the body, so the same file is produced
    again; a caller that sends the same body twice has to name them."""
    digest = sha256(msgspec.json.encode(body, order="sorted", enc_hook=spelled)).hexdigest()
    row = {"custom_id": f"il-{digest[:16]}"}
    if name == "anthropic-batch":
        return {**row, "params": body}
    return {**row, "method": "POST", "url": "/v1/chat/completions", "body": body}


def _report_options(request: Request, report: Report) -> None:
    defaults = _defaults(type(request.options))
    for option in request.options.__struct_fields__:
        if option != "raw" and not same(getattr(request.options, option), defaults[option]):
            path, reason = f"$.options.{option}", because("unsupported")
            report.add("dropped", path, reason)
    if request.continues is not None:
        reason = because("continues_foreign")
        report.add("dropped", "$.continues", reason)


def read(plain: Any, name: str) -> Request:
    """The conversation of one value."""
    if name == _LISTED:
        return _read_page(plain)
    if not isinstance(plain, dict):
        raise ReadError(name, "$", "an object", found(plain))
    from interlingua.transcripts import format_of
    from interlingua.transcripts.rows import RowFormat

    format = format_of(name)
    assert isinstance(format, RowFormat)
    report = Report(name)
    conversation = format.read_row(plain, report)
    _require_whole(report, name)
    return Request(conversation.messages, tools=conversation.tools)


def _read_page(plain: Any) -> Request:
    from interlingua.transcripts.ui_message.read import with_notes

    items = plain if isinstance(plain, list) else [plain]
    messages = []
    before = None
    for item in items:
        messages += with_notes(item, before == "assistant")
        before = item["role"]
    return Request(tuple(messages))


def _require_whole(report: Report, name: str) -> None:
    """A file may be read in part; a value is read, or refused."""
    for loss in report:
        if loss.severity == "error":
            raise ReadError(name, loss.path, "a conversation", loss.reason)
