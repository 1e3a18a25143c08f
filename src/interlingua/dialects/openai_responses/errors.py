"""Errors: in place of a response, and of a response that failed."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import failed_answer
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_responses.tables import (
    ERROR_CODES,
    ERROR_STATUSES,
    ERROR_TYPES,
    ERRORS,
    NAME,
)
from interlingua.dialects.openai_responses.text import form, is_kept, put_back, raw_of, spare
from interlingua.model.exchange import ErrorKind, ProviderError, Response

_TEXT_KEYS = ("error", "detail", "message")
"""Where the text of an error may stand in a body without an error object (`$form.flat`)."""
_STATUS_KEYS = ("status", "statusCode")
_SAID = frozenset({"kind", "message", "code"})


# -- reading --------------------------------------------------------------------------------------


def is_failure(wire: Wire) -> bool:
    """Whether a body is an error in place of a response."""
    if "output" in wire or wire.get("object") == "response":
        return False
    return type(wire.get("error")) is dict or any(type(wire.get(key)) is str for key in _TEXT_KEYS)


def read_failure(wire: Wire) -> Response:
    inner = wire.get("error")
    if type(inner) is not dict:
        return failed_answer(NAME, _read_flat(wire))
    error = read_error(inner, wire.get("status"))
    beside = error.status is not None and error.status == wire.get("status")
    rest, spelled = spare(wire, {"error", "status"} if beside else {"error"})
    spelling: Wire = {"spelled": spelled} if spelled else {}
    if beside:
        spelling["status"] = "status"
    return failed_answer(NAME, error).replace(raw=raw_of(rest, spelling))


def read_error(wire: Wire, status: Any = None) -> ProviderError:
    """An error object. Where its HTTP status stood, and its type where we would write another, the
    fields cannot tell (`$form.status`, `$form.type`)."""
    kept = Kept()
    code, word, message = wire.get("code"), wire.get("type"), wire.get("message")
    known = {key for key in ("code", "type", "message") if type(wire.get(key)) is str}
    number = status if type(status) is int else None
    if type(code) is int and number is None:  # the HTTP status, as some servers have it
        number = code
        kept.form["status"] = "code"
        known.add("code")
    text = code if type(code) is str else None
    kind = _kind(text, word, number)
    if type(word) is str and word != ERROR_TYPES[kind]:
        kept.form["type"] = word
    for key in ("message", "type", "code", "param"):
        if key not in wire:
            kept.miss(key)
    kept.rest, spelled = spare(wire, known)
    if spelled:
        kept.form["spelled"] = spelled
    raw = kept.raw(NAME)
    return ProviderError(kind, message if type(message) is str else "", text, number, raw)


def _read_flat(wire: Wire) -> ProviderError:
    """A text, and perhaps a code."""
    key = next(key for key in _TEXT_KEYS if type(wire.get(key)) is str)
    code = wire.get("code") if type(wire.get("code")) is str else None
    number = next((name for name in _STATUS_KEYS if type(wire.get(name)) is int), None)
    rest, spelled = spare(wire, (key, number or key, key if code is None else "code"))
    spelling: Wire = {"flat": key}
    if spelled:
        spelling["spelled"] = spelled
    status = None
    if number is not None:
        status = wire[number]
        spelling["status"] = number
    kind = _kind(code, None, status)
    return ProviderError(kind, wire[key], code, status, raw_of(rest, spelling))


def _kind(code: str | None, word: Any, status: int | None) -> ErrorKind:
    for each in (code, word):
        if type(each) is str and each in ERRORS:
            return ERRORS[each]
    return ErrorKind.OTHER if status is None else ERROR_STATUSES.get(status, ErrorKind.OTHER)


# -- writing --------------------------------------------------------------------------------------


def write_failure(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    """The body that stands in place of a response."""
    if "flat" in form(error.raw):
        return _write_flat(error, recorder)
    body: Wire = {}
    beside = form(response.raw).get("status") == "status"
    if beside and error.status is not None:
        body["status"] = error.status
    body["error"] = write_error(error, recorder, beside)
    if response.raw is not None:
        recorder.unwritten_raw(response, response.raw)
    return put_back(body, response.raw)


def _write_flat(error: ProviderError, recorder: LossRecorder) -> Wire:
    spelling = form(error.raw)
    out: Wire = {spelling["flat"]: error.message}
    said = _SAID
    if error.code is not None:
        out["code"] = error.code
    if error.status is not None and "status" in spelling:
        out[spelling["status"]] = error.status
        said = _SAID | {"status"}
    recorder.unwritten(error, said)
    _tell_kind(error, _kind(error.code, None, error.status), recorder)
    return put_back(out, error.raw)


def write_error(error: ProviderError, recorder: LossRecorder, beside: bool = False) -> Wire:
    """An error object; `beside` where its status stands beside it."""
    spelling = form(error.raw)
    gone = spelling.get("absent", ())
    out: Wire = {}
    if error.message or not is_kept(error.raw, "message"):
        out["message"] = error.message
    in_code = spelling.get("status") == "code" and error.status is not None and error.code is None
    if in_code:
        out["code"] = error.status
    elif error.code is not None or "code" not in gone:
        out["code"] = error.code
    word = spelling.get("type")
    status = error.status if beside or in_code else None
    if word is None or _kind(error.code, word, status) is not error.kind:
        word = ERROR_TYPES[error.kind]
    needed = _kind(error.code, None, status) is not error.kind
    if needed or not is_kept(error.raw, "type"):
        out["type"] = word
    if "param" not in gone:
        out["param"] = None
    recorder.unwritten(error, _SAID | {"status"} if beside or in_code else _SAID)
    _tell_kind(error, _kind(error.code, out.get("type"), status), recorder)
    mine = put_back({}, error.raw)
    return {**out, **{key: value for key, value in mine.items() if out.get(key) is None}}


def write_failed(error: ProviderError, recorder: LossRecorder) -> Wire:
    """The error of a response that failed: its codes are a closed set."""
    out = write_error(error, recorder)
    if not form(error.raw) and error.code not in ERROR_CODES:
        if error.code is not None:
            recorder.lost(error, "code", "no code that a failed response may have")
        limited = error.kind is ErrorKind.RATE_LIMIT
        out["code"] = "rate_limit_exceeded" if limited else "server_error"
        _tell_kind(error, _kind(out["code"], None, None), recorder)
    return out


def _tell_kind(error: ProviderError, again: ErrorKind, recorder: LossRecorder) -> None:
    if again is not error.kind:
        recorder.lost(error, "kind", f"reads as {again.value}", kind="approximated")
