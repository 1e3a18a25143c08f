"""Responses, both ways."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, expect, own_word
from interlingua.dialects.openai_responses.failures import (
    is_failure,
    read_error,
    read_failure,
    write_failed,
    write_failure,
)
from interlingua.dialects.openai_responses.logprobs import put_logprobs, take_logprobs
from interlingua.dialects.openai_responses.reading import ItemReader
from interlingua.dialects.openai_responses.spelling import (
    about,
    absent,
    form,
    is_kept,
    put_back,
    raw_of,
    spare,
)
from interlingua.dialects.openai_responses.tables import (
    FILLERS,
    NAME,
    RESPONSE,
    STATUSES,
    STOP_REASONS,
)
from interlingua.dialects.openai_responses.turns import MADE
from interlingua.dialects.openai_responses.usage import read_usage, write_usage
from interlingua.dialects.openai_responses.writing import ItemWriter
from interlingua.errors import ReadError, found
from interlingua.model.base import same
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ToolUseBlock
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason


def read_response(wire: Any) -> Response:
    try:
        return _read(wire)
    except ReadError as odd:
        raise about(odd, RESPONSE) from None


def _read(wire: Any) -> Response:
    if type(wire) is not dict:
        raise ReadError(NAME, "$", "an object", found(wire))
    if is_failure(wire):
        return read_failure(wire)
    output = wire.get("output")
    if output is None and _is_response(wire):
        output = []
    elif type(output) is not list:
        raise ReadError(NAME, "$.output", "a list", found(output))
    id = wire.get("id")
    items = ItemReader(all_made=True, seed=id if type(id) is str else None)
    items.read(output, "$.output")
    items.flush()
    message = items.messages[0] if items.messages else Message(Role.ASSISTANT, metadata=MADE)
    message, tokens = take_logprobs(message)
    known = {"output"} if "output" in wire and wire["output"] is not None else set()
    error = _read_error_of(wire, known)
    metadata = _metadata(wire, message, error, known)
    if tokens:
        metadata = metadata.replace(logprobs=tokens)
    return Response(
        message.replace(metadata=metadata), error=error, raw=_raw(wire, message.content, known)
    )


def _is_response(wire: Wire) -> bool:
    """Whether a body without output is a response all the same, as one that has not begun."""
    is_running = "id" in wire and type(wire.get("status")) is str
    return "output" in wire or wire.get("object") == "response" or is_running


def _read_error_of(wire: Wire, known: set[str]) -> ProviderError | None:
    error = wire.get("error")
    if type(error) is not dict or not error:
        return None
    known.add("error")
    return read_error(error)


def _metadata(
    wire: Wire, message: Message, error: ProviderError | None, known: set[str]
) -> MessageMetadata:
    changes: dict[str, Any] = {}
    for key, field in (("id", "response_id"), ("model", "response_model")):
        if wire.get(key) is not None:
            changes[field] = expect(wire[key], str, NAME, f"$.{key}")
            known.add(key)
    usage = wire.get("usage")
    diagnostics = message.metadata.diagnostics
    if type(usage) is dict and usage:
        changes["usage"], odd = read_usage(usage)
        diagnostics += tuple(odd)
        known.add("usage")
    status, reason = _words(wire, known)
    stop_reason, message_status = ending(status, reason, message.content)
    return MessageMetadata(
        protocol=NAME,
        stop_reason=stop_reason,
        raw_stop_reason=reason if reason is not None else status,
        status=message_status,
        error_message=error.message if error is not None else None,
        diagnostics=diagnostics,
        provider_raw=message.metadata.provider_raw,
        **changes,
    )


def _words(wire: Wire, known: set[str]) -> tuple[str | None, str | None]:
    """The status, and why a response is incomplete."""
    status = wire.get("status")
    if status is None or type(status) is not str:
        return None, None
    known.add("status")
    details = wire.get("incomplete_details")
    if status == "incomplete" and type(details) is dict and type(details.get("reason")) is str:
        known.add("incomplete_details")
        return status, details["reason"]
    return status, None


def ending(
    status: str | None, reason: str | None, content: tuple[Block, ...]
) -> tuple[StopReason | None, MessageStatus]:
    """How a response with this status, reason and content ended."""
    stop_reason, message_status = STATUSES.get(status, (StopReason.OTHER, MessageStatus.COMPLETE))
    if stop_reason is StopReason.END_TURN or stop_reason is None:
        for block in content:
            if type(block) is RefusalBlock:
                return StopReason.REFUSAL, message_status
            if type(block) is ToolUseBlock and block.executor == "client":
                stop_reason = StopReason.TOOL_USE
    elif reason is not None:
        stop_reason = STOP_REASONS.read(reason) or StopReason.OTHER
    return stop_reason, message_status


def _raw(wire: Wire, content: tuple[Block, ...], known: set[str]) -> Wire | None:
    rest, spelled = spare(wire, known)
    spelling: Wire = {}
    details = wire.get("incomplete_details")
    if "incomplete_details" in known and type(details) is dict:
        if len(details) > 1:
            rest["incomplete_details"] = {k: v for k, v in details.items() if k != "reason"}
        if details["reason"] not in STOP_REASONS.words:
            spelling["reason"] = True
    if "error" in known and "id" not in known:
        spelling["failed"] = True  # else it would be taken for an error in place of a response
    if "output_text" in rest and rest["output_text"] == _text(content):
        del rest["output_text"]
        spelling["output_text"] = True
    for key, filler in FILLERS.items():
        if key in rest and same(rest[key], filler):
            del rest[key]
        elif key in spelled and same(spelled[key], filler):
            del spelled[key]
    needed = ("id", "model", "output", "status", *FILLERS)
    gone = [key for key in needed if key not in wire]
    if gone:
        spelling["absent"] = gone
    if spelled:
        spelling["spelled"] = spelled
    return raw_of(rest, spelling)


def _text(content: tuple[Block, ...]) -> str:
    return "".join([block.text for block in content if type(block) is TextBlock])


# Writing -------------------------------------------------------------------------------------


def write_response(response: Response, scribe: Scribe) -> Wire:
    message = response.message
    error = response.error
    for other in response.alternatives:
        scribe.lost(other, None, f"{NAME} has one answer only")
    if error is None and message.metadata.error_message is not None:
        error = ProviderError(ErrorKind.OTHER, message.metadata.error_message)
    elif error is not None and message.metadata.error_message not in (None, error.message):
        scribe.lost(message, "metadata.error_message")
    is_begun = message.content or message.metadata.response_id is not None
    if error is not None and not (is_begun or "failed" in form(response.raw)):
        return write_failure(response, error, scribe)
    return _write(response, message, error, scribe)


def _write(
    response: Response, message: Message, error: ProviderError | None, scribe: Scribe
) -> Wire:
    metadata = message.metadata
    spelling = form(response.raw)
    wire: Wire = {}
    if metadata.response_id is not None:
        wire["id"] = metadata.response_id
    if metadata.response_model is not None:
        wire["model"] = metadata.response_model
    _write_ending(wire, response, message, scribe)
    writer = ItemWriter(scribe, whole=True, seed=metadata.response_id)
    writer.message(put_logprobs(message, scribe) if metadata.logprobs else message)
    if writer.items or not is_kept(response.raw, "output"):
        wire["output"] = writer.items
    if error is not None:
        wire["error"] = write_failed(error, scribe)
    if metadata.usage is not None:
        wire["usage"] = write_usage(metadata.usage, scribe)
    if spelling.get("output_text"):
        wire["output_text"] = _text(message.content)
    if response.raw is not None:
        scribe.unsaid_raw(response, response.raw)
        put_back(wire, response.raw)
    for key, filler in (("id", "resp_0"), ("model", ""), *FILLERS.items()):
        if key not in wire and not absent(spelling, key):
            wire[key] = list(filler) if type(filler) is list else filler
    return wire


def _write_ending(wire: Wire, response: Response, message: Message, scribe: Scribe) -> None:
    """Status and reason: the wire's own words, while they say what the fields say."""
    metadata = message.metadata
    status, reason = _own_words(response, message)
    is_absent = is_kept(response.raw, "status") and _agrees(None, None, message)
    if status is None and not is_absent:
        status, reason = _plain_words(metadata)
    if status is not None:
        wire["status"] = status
    if reason is not None:
        kept = put_back({}, response.raw).get("incomplete_details")
        wire["incomplete_details"] = {**(kept if type(kept) is dict else {}), "reason": reason}
    again = ending(status, reason, message.content)
    if again[0] is not metadata.stop_reason:
        why = f"reads as {again[0].value if again[0] else None}"
        scribe.lost(message, "metadata.stop_reason", why, kind="approximated", severity="info")
    if again[1] is not metadata.status:
        why = f"reads as {again[1].value}"
        scribe.lost(message, "metadata.status", why, kind="approximated", severity="info")


def _own_words(response: Response, message: Message) -> tuple[str | None, str | None]:
    """The words that were read, if they were read here and still hold."""
    word = own_word(message.metadata, NAME)
    if type(word) is not str:
        return None, None
    is_reason = word in STOP_REASONS.words or "reason" in form(response.raw)
    status, reason = ("incomplete", word) if is_reason else (word, None)
    return (status, reason) if _agrees(status, reason, message) else (None, None)


def _agrees(status: str | None, reason: str | None, message: Message) -> bool:
    metadata = message.metadata
    stop_reason, message_status = ending(status, reason, message.content)
    return stop_reason is metadata.stop_reason and message_status is metadata.status


def _plain_words(metadata: MessageMetadata) -> tuple[str | None, str | None]:
    match metadata.status:
        case MessageStatus.ERROR:
            return "failed", None
        case MessageStatus.CANCELLED:
            return "cancelled", None
        case MessageStatus.PARTIAL:
            return "in_progress", None
    match metadata.stop_reason:
        case StopReason.ERROR:
            return "failed", None
        case StopReason.CANCELLED:
            return "cancelled", None
        case StopReason.OTHER:
            return "incomplete", None
        case None:
            return None, None
        case stop_reason:
            reason = STOP_REASONS.write(stop_reason)
            return ("completed", None) if reason is None else ("incomplete", reason)
