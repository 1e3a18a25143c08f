"""Bodies of requests inside files, said in a dialect of some provider's API."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError
from interlingua.losses import Report
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.retell import retell
from interlingua.transcripts.totals import bare, models_of
from interlingua.transcripts.transcript import Transcript

_LISTS = ("messages", "input")


def read_body(body: dict[str, Any], name: str, report: Report) -> Request:
    """A request; one with a message that cannot be read is read message by message."""
    try:
        return dialect(name).read_request(body)
    except InterlinguaError as error:
        key = next((key for key in _LISTS if isinstance(body.get(key), list)), None)
        if key is None:
            raise
        return _read_singly(body, key, name, report, error)


def _read_singly(
    body: dict[str, Any], key: str, name: str, report: Report, whole: InterlinguaError
) -> Request:
    messages: list[Message] = []
    for number, wire in enumerate(body[key]):
        try:
            messages.extend(dialect(name).read_request({key: [wire]}).messages)
        except InterlinguaError as error:
            report.add("dropped", f"$.{key}[{number}]", str(error), "error")
    if not report:
        report.add("dropped", "$", str(whole), "error")
    return Request(tuple(messages))


def write_body(transcript: Transcript, name: str, report: Report, own: str) -> dict[str, Any]:
    """A transcript as a request in the dialect `name`. What was read from the same format, which
    is called `own`, is said as it was; all else is retold first."""
    request = Request(transcript.messages, tools=transcript.tools)
    if transcript.format != own:
        done = retell(request, name)
        request = done.value
        report.extend(done.report)
        _tell_unsaid(transcript, report)
    written = dialect(name).write_request(request)
    report.extend(written.report.of_history())
    body: dict[str, Any] = written.wire
    return body


def _tell_unsaid(transcript: Transcript, report: Report) -> None:
    """Requests hold what was said; who said it, when and at what cost has no place in them."""
    for at, message in enumerate(transcript.messages):
        if message.metadata.usage is not None or message.metadata.response_model is not None:
            reason = "a request cannot hold the model and the usage of an answer"
            path = f"$.messages[{at}].metadata"
            report.add("dropped", path, reason, "info", None, message.id)


def model_of(transcript: Transcript) -> str | None:
    """The model that a session went on with, by its provider's name for it."""
    if transcript.model_changes:
        return bare(transcript.model_changes[-1].model)
    models = transcript.models or models_of(transcript.messages)
    return models[-1] if models else None
