"""Error bodies. The type of an error is in a header as a rule, and in `__type` where a body says
it; a body that says none is judged by its words."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.shape import form_of, put_back, spare
from interlingua.dialects.bedrock.tables import (
    ERRORS,
    HINTS,
    NAME,
    NEAR_ERRORS,
    NEAR_STREAM_ERRORS,
    STREAM_ERRORS,
)
from interlingua.dialects.shape import ShapeError
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

_MESSAGES = ("message", "Message", "errorMessage")
_TYPES = ("__type", "code", "errorCode")


def read_error(wire: Wire) -> Response:
    form: Wire = {}
    said = next((key for key in _MESSAGES if type(wire.get(key)) is str), None)
    typed = next((key for key in _TYPES if type(wire.get(key)) is str), None)
    if said is None and typed is None:
        raise ShapeError("", "an output or an error", wire)
    text = wire[said] if said is not None else ""
    code = _bare(wire[typed]) if typed is not None else None
    if said != "message":
        form["message"] = said
    if typed is None:
        form["untyped"] = True
    elif typed != "__type" or code != wire[typed]:
        form["type"] = [typed, wire[typed]]
    known = [key for key in (said, typed) if key is not None]
    raw = spare(wire, known, {}, form)
    error = ProviderError(kind_of(code, text), text, code, raw=raw)
    metadata = MessageMetadata(
        protocol=NAME,
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message=text,
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), error=error)


def _bare(word: str) -> str:
    """`com.amazon.coral.validate#ValidationException:http://…` is a `ValidationException`."""
    return word.rpartition("#")[2].partition(":")[0]


def kind_of(code: str | None, text: str) -> ErrorKind:
    kind = ERRORS.read(code) if code is not None else None
    if kind is None or kind is ErrorKind.INVALID_REQUEST:
        for pattern, hint in HINTS:
            if (kind is None or hint is ErrorKind.CONTEXT_OVERFLOW) and pattern.search(text):
                return hint
    return kind or ErrorKind.OTHER


def write_error(response: Response, error: ProviderError, scribe: Scribe) -> Wire:
    form = form_of(error.raw)
    out: Wire = {}
    key = form.get("message", "message")
    if key is not None or error.message:
        out[key or "message"] = error.message
    if not (form.get("untyped") and error.code is None and _kind_is(error, None)):
        _put_type(out, error, form.get("type"), scribe)
    if error.status is not None:
        scribe.lost(error, "status", "said by the HTTP status", severity="info")
    report_answer(response, scribe)
    if response.raw is not None:
        put_back(out, response, scribe, response.raw)
    return out if error.raw is None else put_back(out, error, scribe, error.raw)


def report_answer(response: Response, scribe: Scribe) -> None:
    message, metadata = response.message, response.message.metadata
    for field, held in (("content", message.content), ("name", message.name)):
        if held:
            scribe.lost(message, field, "an error has no answer beside it")
    if metadata.usage is not None:
        scribe.lost(message, "metadata.usage", "an error has no usage", severity="info")
    if metadata.stop_reason is not StopReason.ERROR:
        scribe.lost(message, "metadata.stop_reason", "an error is said", "approximated", "info")
    for other in response.alternatives:
        scribe.lost(other, None, "an error has no answer beside it")


def _kind_is(error: ProviderError, code: str | None) -> bool:
    return kind_of(code, error.message) is error.kind


def _put_type(out: Wire, error: ProviderError, own: Any, scribe: Scribe) -> None:
    if type(own) is list and _bare(own[1]) == error.code and _kind_is(error, error.code):
        out[own[0]] = own[1]
        return
    code = error.code
    if code is not None and _bare(code) == code and _kind_is(error, code):
        out["__type"] = code
        return
    word = NEAR_ERRORS.get(error.kind) or ERRORS.write(error.kind) or "InternalServerException"
    out["__type"] = word
    if code is not None:
        scribe.lost(error, "code", f"said as {word}", kind="approximated")
    if not _kind_is(error, word):
        scribe.lost(error, "kind", f"said as {word}", kind="approximated")


# -- errors in mid-stream -------------------------------------------------------------------------


def write_exception(response: Response, scribe: Scribe) -> tuple[str, Wire]:
    """An error as the frame of an exception, of which a stream knows a few: name and data."""
    error = response.error
    assert error is not None
    code = error.code
    if code not in STREAM_ERRORS or kind_of(code, error.message) is not error.kind:
        code = NEAR_STREAM_ERRORS.get(error.kind, "InternalServerException")
    out: Wire = {form_of(error.raw).get("message") or "message": error.message}
    if error.status is not None:
        scribe.lost(error, "status", "said by the HTTP status", severity="info")
    report_answer(response, scribe)
    if response.raw is not None:
        put_back(out, response, scribe, response.raw)
    if error.raw is not None:
        put_back(out, error, scribe, error.raw)
    if error.code not in (None, code):
        scribe.lost(error, "code", f"said as {code}", kind="approximated")
    if kind_of(code, error.message) is not error.kind:
        scribe.lost(error, "kind", f"said as {code}", kind="approximated")
    return code[:1].lower() + code[1:], out
