"""Responses: an interaction, with the steps of its answer. Errors are in `errors.py`."""

from __future__ import annotations

import msgspec

from interlingua.dialects.gemini_interactions.errors import (
    read_error,
    read_failure,
    write_error,
    write_failure,
)
from interlingua.dialects.gemini_interactions.messages import read_answer, write_answer
from interlingua.dialects.gemini_interactions.tables import (
    COMPLETED,
    NAME,
    NEAR_STOP_REASONS,
    OBJECT,
    STATUSES,
    STOP_REASONS,
)
from interlingua.dialects.gemini_interactions.usage import read_usage, write_usage
from interlingua.dialects.kernel.errors import ShapeError, each, read_whole, want
from interlingua.dialects.kernel.fields import QUIET, Table, constant, plain
from interlingua.dialects.kernel.kept import Kept, did_without, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import own_word
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason


class Body(msgspec.Struct):
    """The keys of an interaction that are neither its steps nor how it went."""

    id: str | None = None
    model: str | None = None


BODY = Table(
    Body,
    plain("id", "id", str, blank=True),
    plain("model", "model", str, blank=True),
    constant("object", OBJECT),
    beside=("steps", "status", "usage", "errors"),
)


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    if "error" in wire and "status" not in wire and "steps" not in wire:
        return read_failure(wire)
    if "steps" not in wire and "status" not in wire:
        raise ShapeError("", "an interaction or an error", wire)
    return read_interaction(wire)


def read_interaction(wire: Wire) -> Response:
    """A response that is no error body; also what a stream tells of one."""
    kept, found = Kept(), list[Diagnostic]()
    body = BODY.read(wire, kept)
    steps = kept.take(wire, "steps", list)
    message = read_answer(steps or [])
    fields: Wire = {
        "response_id": body.get("id"),
        "response_model": body.get("model"),
        "usage": read_usage(wire.get("usage"), found),
        **_read_status(wire, kept),
    }
    if "usage" in wire and wire["usage"] is None:
        kept.spell("usage", None)
    error = _read_errors(wire, kept)
    if error is not None:
        fields["error_message"] = error.message
    metadata = message.metadata.replace(**fields, diagnostics=tuple(found))
    return Response(message.replace(metadata=metadata), error=error, raw=kept.raw(NAME))


def _read_status(wire: Wire, kept: Kept) -> Wire:
    word = wire.get("status")
    if word is None:
        kept.spell("status", None) if "status" in wire else kept.miss("status")
        return {}
    reason, status = STATUSES.get(
        want(word, str, ".status"), (StopReason.OTHER, MessageStatus.COMPLETE)
    )
    return {"stop_reason": reason, "raw_stop_reason": word, "status": status}


def _read_errors(wire: Wire, kept: Kept) -> ProviderError | None:
    """What an interaction failed of; the errors of one that did not are no more than a note. That
    it is no error body, nothing else tells (`$form.failed`)."""
    errors = kept.take(wire, "errors", list) if "errors" in wire else None
    if not errors:
        return None
    if wire.get("status") != "failed":
        kept.rest["errors"] = errors
        return None
    read = each(errors[:1], ".errors", read_error)
    if len(errors) > 1:
        kept.rest["errors"] = errors[1:]
    kept.form["failed"] = True
    return read[0]


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, response.raw)
    for other in response.alternatives:
        recorder.lost(other, None, "there is one answer only")
    if response.error is not None and not form_in(mine).get("failed"):
        return write_failure(response, response.error, recorder)
    message, metadata = response.message, response.message.metadata
    out: Wire = {}
    BODY.write(Body(metadata.response_id, metadata.response_model), out, mine, QUIET)
    if metadata.stop_reason is not None or not did_without(mine, "status"):
        out["status"] = _status_word(message, recorder)
    steps = write_answer(message, recorder)
    if steps or not did_without(mine, "steps"):
        out["steps"] = steps
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
    if response.error is not None:
        out["errors"] = [write_error(response.error, recorder), *mine.get("errors", ())]
    _report(message, recorder)
    return out if response.raw is None else put_back(out, response, response.raw, recorder)


def _status_word(message: Message, recorder: LossRecorder) -> str:
    metadata = message.metadata
    reason, status, word = metadata.stop_reason, metadata.status, own_word(metadata, NAME)
    if type(word) is str and (reason, status) == STATUSES.get(
        word, (StopReason.OTHER, MessageStatus.COMPLETE)
    ):
        return word
    for word, meant in STATUSES.items():
        if meant == (reason, status):
            return word
    return _near_word(message, metadata, recorder)


def _near_word(message: Message, metadata: MessageMetadata, recorder: LossRecorder) -> str:
    reason = metadata.stop_reason
    if reason is None:
        recorder.filled(message, "metadata.stop_reason", COMPLETED)
        return COMPLETED
    word = STOP_REASONS.write(reason) or NEAR_STOP_REASONS[reason]
    if STATUSES[word][0] is not reason:
        recorder.lost(message, "metadata.stop_reason", f"said as {word}", kind="approximated")
    if STATUSES[word][1] is not metadata.status:
        recorder.lost(message, "metadata.status", f"said as {word}", severity="info")
    return word


def _report(message: Message, recorder: LossRecorder) -> None:
    metadata = message.metadata
    if message.name is not None:
        recorder.lost(message, "name")
    if metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    if metadata.provider_raw is not None:
        recorder.unwritten_raw(message, metadata.provider_raw, "metadata.provider_raw")
