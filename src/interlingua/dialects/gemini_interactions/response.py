"""Responses: an interaction with the steps of its answer, token counts, and errors."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.gemini_interactions.messages import (
    read_answer,
    read_outputs,
    write_answer,
    write_outputs,
)
from interlingua.dialects.gemini_interactions.tables import (
    COMPLETED,
    ERROR_STATUSES,
    ERRORS,
    NAME,
    NEAR_STOP_REASONS,
    OBJECT,
    OVERFLOW,
    SERVED_TIERS,
    STATUSES,
    STOP_REASONS,
    TOOL_USES,
    UNKNOWN_STOP,
)
from interlingua.dialects.google import Counts
from interlingua.dialects.kernel.errors import (
    ShapeError,
    at_path,
    failed_answer,
    read_each,
    read_whole,
    require,
    unwritten_answer,
)
from interlingua.dialects.kernel.fields import (
    QUIET,
    Attrs,
    Reading,
    Table,
    constant,
    plain,
    together,
    usual,
)
from interlingua.dialects.kernel.preserved import (
    Preserved,
    keep,
    raw_of,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import MODALITIES, Split
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay, own_word, report_stop_word
from interlingua.dialects.metadata import report_metadata
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because


def _kind_of(code: str | None, status: int | None, message: str) -> ErrorKind:
    kind = None if code is None else ERRORS.read(code.lower())
    if kind is None and status is not None:
        kind = ERROR_STATUSES.get(status)
    if kind in (None, ErrorKind.INVALID_REQUEST) and OVERFLOW in message:
        return ErrorKind.CONTEXT_OVERFLOW
    return kind or ErrorKind.OTHER


def _read_words(wire: Wire) -> Reading:
    """Reads the code of an error: a word, or a number with a word beside it, as in Google's
    services."""
    code, word, message = wire.get("code"), wire.get("status"), wire.get("message", "")
    attrs: Attrs = {"message": require(message, str, ".message")}
    number = code if type(code) is int else None
    text = next((each for each in (code, word) if type(each) is str and each), None)
    if text is not None:
        attrs["code"] = text
    if number is not None:
        attrs["status"] = number
    return {**attrs, "kind": _kind_of(text, number, attrs["message"])}


def _write_words(error: Any, recorder: LossRecorder) -> Wire:
    code, message = error.code, error.message
    if error.status is not None:
        recorder.lost(error, "status", because("status_in_http"))
    if code is not None and _kind_of(code, None, message) is error.kind:
        return {"code": code, "message": message}
    word = _WORDS.get(error.kind) or ERRORS.write(error.kind) or "unknown"
    if _kind_of(word, None, message) is not error.kind:
        recorder.lost(error, "kind", because("sent_as", value=word), kind="approximated")
    if code is not None:
        recorder.lost(error, "code", because("sent_as", value=word), kind="approximated")
    return {"code": word, "message": message}


_WORDS = {ErrorKind.CONTEXT_OVERFLOW: "invalid_request"}
ERROR = Table(
    ProviderError,
    together(
        ("code", "status", "message"),
        ("kind", "code", "status", "message"),
        _read_words,
        _write_words,
    ),
)


def read_error(value: Any) -> ProviderError:
    """An error object; a text alone is one from a host in front of the service."""
    if type(value) is str:
        return ProviderError(ErrorKind.OTHER, value, raw=keep(NAME, None, {"text": True}))
    preserved = Preserved()
    attrs = ERROR.read(require(value, dict), preserved)
    if not attrs:
        attrs = {"kind": ErrorKind.OTHER, "message": ""}
        preserved.spelling["absent"] = ["code", "message"]
    return ProviderError(**attrs, raw=preserved.raw(NAME))


def write_error(error: ProviderError, recorder: LossRecorder) -> Any:
    own_raw = raw_of(NAME, error.raw)
    out: Wire = {}
    if spelling_in(own_raw).get("text") and error.kind is ErrorKind.OTHER and error.code is None:
        recorder.unwritten(error, frozenset({"kind", "message"}))
        return error.message
    ERROR.write(error, out, own_raw, recorder)
    return out if error.raw is None else restore_raw(out, error, error.raw, recorder)


def read_failure(wire: Wire) -> Response:
    """A body that is an error in place of an interaction."""
    preserved = Preserved()
    preserved.add_others(wire, frozenset({"error"}))
    error = at_path(".error", read_error, wire["error"])
    return failed_answer(NAME, error).replace(raw=preserved.raw(NAME))


def write_failure(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    out: Wire = {"error": write_error(error, recorder)}
    unwritten_answer(response, recorder)
    return out if response.raw is None else restore_raw(out, response, response.raw, recorder)


PROMPT, CACHED = "total_input_tokens", "total_cached_tokens"
OUTPUT, THOUGHT = "total_output_tokens", "total_thought_tokens"
TOTAL, TOOLS = "total_tokens", "total_tool_use_tokens"
OLD_THOUGHT = "total_reasoning_tokens"
"""The key for tokens of thoughts in SDK 1.55.0 (2025-12)."""
_MODALITIES: TwoWay[str, str] = TwoWay({word: word for word in MODALITIES})
COUNTS = Counts(
    *(PROMPT, CACHED, OUTPUT, THOUGHT, TOTAL, TOOLS),
    splits={
        "input_tokens_by_modality": Split("input_modalities", _MODALITIES, "modality", "tokens"),
        "output_tokens_by_modality": Split("output_modalities", _MODALITIES, "modality", "tokens"),
        "grounding_tool_count": Split("tool_uses", TOOL_USES, "type", "count"),
    },
)
write_usage = COUNTS.write


def read_usage(wire: Any, found: list[Diagnostic]) -> Usage | None:
    if wire is None:
        return None
    preserved = Preserved()
    if OLD_THOUGHT in require(wire, dict, ".usage") and THOUGHT not in wire:
        preserved.spelling["named"] = {THOUGHT: OLD_THOUGHT}
        wire = {THOUGHT if key == OLD_THOUGHT else key: item for key, item in wire.items()}
    usage, diagnostics = COUNTS.read(wire, NAME, preserved)
    found += diagnostics
    return usage


class Body(msgspec.Struct):
    """The keys of an interaction besides its steps and its outcome."""

    id: str | None = None
    model: str | None = None


BODY = Table(
    Body,
    plain("id", "id", str, blank=True),
    plain("model", "model", str, blank=True),
    constant("object", OBJECT),
    usual("role", "model"),
    beside=("steps", "outputs", "status", "usage", "errors", "service_tier"),
)
"""`role` belongs to the older revision."""


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    is_interaction = "status" in wire or "steps" in wire or "outputs" in wire
    if "error" in wire and not is_interaction:
        return read_failure(wire)
    if not is_interaction:
        raise ShapeError("", "an interaction or an error", wire)
    return read_interaction(wire)


def read_interaction(wire: Wire) -> Response:
    """A response that is not an error body; also the assembled one of a stream."""
    preserved, found = Preserved(), list[Diagnostic]()
    body = BODY.read(wire, preserved)
    message = _read_content(wire, preserved)
    usage = read_usage(wire.get("usage"), found)
    fields: Wire = {
        "response_id": body.get("id"),
        "response_model": body.get("model"),
        "usage": _with_tier(usage, wire, preserved),
        **_read_status(wire, preserved),
    }
    if "usage" in wire and wire["usage"] is None:
        preserved.keep_spelling("usage", None)
    error = _read_errors(wire, preserved)
    if error is not None:
        fields["error_message"] = error.message
    metadata = message.metadata.replace(**fields, diagnostics=tuple(found))
    return Response(message.replace(metadata=metadata), error=error, raw=preserved.raw(NAME))


def _with_tier(usage: Usage | None, wire: Wire, preserved: Preserved) -> Usage | None:
    """The counts with the service tier, which is beside them."""
    word = wire.get("service_tier")
    tier = SERVED_TIERS.read(word) if type(word) is str else None
    if usage is not None and tier is not None:
        return usage.replace(service_tier=tier)
    if "service_tier" in wire:
        preserved.add("service_tier", word)
    return usage


def _read_content(wire: Wire, preserved: Preserved) -> Message:
    """Steps; or outputs, which the older revision has (`$form.outputs`)."""
    if "steps" in wire or "outputs" not in wire:
        if "outputs" in wire:
            preserved.add("outputs", wire["outputs"])
        return read_answer(preserved.take(wire, "steps", list) or [])
    preserved.spelling["outputs"] = True
    return read_outputs(preserved.take(wire, "outputs", list) or [])


def _read_status(wire: Wire, preserved: Preserved) -> Wire:
    word = wire.get("status")
    if word is None:
        preserved.keep_spelling("status", None) if "status" in wire else preserved.mark_absent(
            "status"
        )
        return {}
    reason, status = STATUSES.get(
        require(word, str, ".status"), (StopReason.OTHER, MessageStatus.COMPLETE)
    )
    return {"stop_reason": reason, "raw_stop_reason": word, "status": status}


def _read_errors(wire: Wire, preserved: Preserved) -> ProviderError | None:
    """The error of a failed interaction. Errors of one that did not fail are preserved as a
    note; `$form.failed` records that this was no error body."""
    errors = preserved.take(wire, "errors", list) if "errors" in wire else None
    if not errors:
        return None
    if wire.get("status") != "failed":
        preserved.rest["errors"] = errors
        return None
    read = read_each(errors[:1], ".errors", read_error)
    if len(errors) > 1:
        preserved.rest["errors"] = errors[1:]
    preserved.spelling["failed"] = True
    return read[0]


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, response.raw)
    for other in response.alternatives:
        recorder.lost(other, None, because("one_choice"))
    if response.error is not None and not spelling_in(own_raw).get("failed"):
        return write_failure(response, response.error, recorder)
    message, metadata = response.message, response.message.metadata
    out: Wire = {}
    BODY.write(Body(metadata.response_id, metadata.response_model), out, own_raw, QUIET)
    if metadata.stop_reason is not None or not was_absent(own_raw, "status"):
        out["status"] = _status_word(message, recorder)
    key, write = "steps", write_answer
    if spelling_in(own_raw).get("outputs"):
        key, write = "outputs", write_outputs
    steps = write(message, recorder)
    if steps or not was_absent(own_raw, key):
        out[key] = steps
    if metadata.usage is not None:
        out["usage"] = _write_counts(metadata.usage, out, recorder)
    if response.error is not None:
        out["errors"] = [write_error(response.error, recorder), *own_raw.get("errors", ())]
    _report(message, recorder)
    return out if response.raw is None else restore_raw(out, response, response.raw, recorder)


def _write_counts(usage: Usage, out: Wire, recorder: LossRecorder) -> Wire:
    """The counts, and beside them the tier that served."""
    tier = usage.service_tier
    if tier is None or (word := SERVED_TIERS.write(tier)) is None:
        return write_usage(usage, recorder)
    out["service_tier"] = word
    untold = usage.replace(service_tier=None)
    recorder.alias(untold, usage)
    return write_usage(untold, recorder)


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
    word = STOP_REASONS.write(reason) or NEAR_STOP_REASONS.get(reason, UNKNOWN_STOP)
    if (again := STATUSES[word][0]) is not reason:
        report_stop_word(message, word, again, recorder)
    if STATUSES[word][1] is not metadata.status:
        recorder.lost(message, "metadata.status", because("sent_as", value=word))
    return word


def _report(message: Message, recorder: LossRecorder) -> None:
    metadata = message.metadata
    if message.name is not None:
        recorder.lost(message, "name")
    report_metadata(message, recorder)
    if metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    if metadata.provider_raw is not None:
        recorder.unwritten_raw(message, metadata.provider_raw, "metadata.provider_raw")
