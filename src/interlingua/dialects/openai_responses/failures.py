"""Errors: in place of a response, and of a response that failed."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_responses.spelling import (
    absent,
    form,
    is_kept,
    put_back,
    raw_of,
    spare,
)
from interlingua.dialects.openai_responses.tables import (
    ERROR_CODES,
    ERROR_STATUSES,
    ERROR_TYPES,
    ERRORS,
)
from interlingua.dialects.openai_responses.turns import MADE
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus, StopReason

_TEXT_KEYS = ("error", "detail", "message")
"""Where the text of an error may stand in a body without an error object."""
_SAID = frozenset({"kind", "message", "code"})
_FAILED = MADE.replace(status=MessageStatus.ERROR, stop_reason=StopReason.ERROR)


# Reading -------------------------------------------------------------------------------------


def is_failure(wire: Wire) -> bool:
    """Whether a body is an error in place of a response."""
    if "output" in wire or wire.get("object") == "response":
        return False
    return type(wire.get("error")) is dict or any(type(wire.get(key)) is str for key in _TEXT_KEYS)


def read_failure(wire: Wire) -> Response:
    inner = wire.get("error")
    if type(inner) is dict:
        error = read_error(inner, wire.get("status"))
        beside = error.status is not None and error.status == wire.get("status")
        rest, spelled = spare(wire, {"error", "status"} if beside else {"error"})
        spelling: Wire = {"spelled": spelled} if spelled else {}
        if beside:
            spelling["status"] = "status"
        raw = raw_of(rest, spelling)
    else:
        error, raw = _read_flat(wire), None
    metadata = _FAILED.replace(error_message=error.message)
    return Response(Message(Role.ASSISTANT, metadata=metadata), error=error, raw=raw)


def read_error(wire: Wire, status: Any = None) -> ProviderError:
    """An error object."""
    code, word = wire.get("code"), wire.get("type")
    spelling: Wire = {}
    known = {"type"} if type(word) is str else set()
    number = status if type(status) is int else None
    if type(code) is str:
        known.add("code")
    elif type(code) is int and number is None:  # the HTTP status, as some servers have it
        number = code
        spelling["status"] = "code"
        known.add("code")
    message = wire.get("message")
    if type(message) is str:
        known.add("message")
    elif "message" not in wire:
        spelling["absent"] = ["message"]
    text = code if type(code) is str else None
    kind = _kind(text, word, number)
    if type(word) is str:
        if word == ERROR_TYPES[kind]:
            pass
        else:
            spelling["type"] = word
    elif "type" not in wire:
        spelling.setdefault("absent", []).append("type")
    spelling.setdefault("absent", []).extend(k for k in ("code", "param") if k not in wire)
    if not spelling["absent"]:
        del spelling["absent"]
    rest, spelled = spare(wire, known)
    if spelled:
        spelling["spelled"] = spelled
    raw = raw_of(rest, spelling)
    return ProviderError(kind, message if type(message) is str else "", text, number, raw)


def _read_flat(wire: Wire) -> ProviderError:
    """A text, and perhaps a code."""
    key = next(key for key in _TEXT_KEYS if type(wire.get(key)) is str)
    code = wire.get("code")
    text = code if type(code) is str else None
    status = next((wire[k] for k in ("status", "statusCode") if type(wire.get(k)) is int), None)
    known = {key} | ({"code"} if text is not None else set())
    rest, spelled = spare(wire, known)
    spelling: Wire = {"flat": key}
    if spelled:
        spelling["spelled"] = spelled
    if status is not None:
        number_key = "status" if wire.get("status") == status else "statusCode"
        rest.pop(number_key, None)
        spelling["status"] = number_key
    kind = _kind(text, None, status)
    return ProviderError(kind, wire[key], text, status, raw_of(rest, spelling))


def _kind(code: str | None, word: Any, status: int | None) -> ErrorKind:
    for each in (code, word):
        if type(each) is str and each in ERRORS:
            return ERRORS[each]
    if status is not None:
        return ERROR_STATUSES.get(status, ErrorKind.OTHER)
    return ErrorKind.OTHER


# Writing -------------------------------------------------------------------------------------


def write_failure(response: Response, error: ProviderError, scribe: Scribe) -> Wire:
    """The body that stands in place of a response."""
    spelling = form(error.raw)
    if "flat" in spelling:
        wire: Wire = {spelling["flat"]: error.message}
        if error.code is not None:
            wire["code"] = error.code
        said = _SAID
        if error.status is not None and "status" in spelling:
            wire[spelling["status"]] = error.status
            said = _SAID | {"status"}
        scribe.unsaid(error, said)
        _tell_kind(error, _kind(error.code, None, error.status), scribe)
        return put_back(wire, error.raw)
    body: Wire = {}
    beside = form(response.raw).get("status") == "status"
    if beside and error.status is not None:
        body["status"] = error.status
    body["error"] = write_error(error, scribe, beside)
    if response.raw is not None:
        scribe.unsaid_raw(response, response.raw)
        put_back(body, response.raw)
    return body


def write_error(error: ProviderError, scribe: Scribe, beside: bool = False) -> Wire:
    """An error object; `beside` where its status stands beside it."""
    spelling = form(error.raw)
    wire: Wire = {}
    if error.message or not is_kept(error.raw, "message"):
        wire["message"] = error.message
    in_code = spelling.get("status") == "code" and error.status is not None and error.code is None
    if in_code:
        wire["code"] = error.status
    elif error.code is not None or not absent(spelling, "code"):
        wire["code"] = error.code
    word = spelling.get("type")
    status = error.status if beside or in_code else None
    if word is None or _kind(error.code, word, status) is not error.kind:
        word = ERROR_TYPES[error.kind]
    needed = _kind(error.code, None, status) is not error.kind
    if needed or not is_kept(error.raw, "type"):
        wire["type"] = word
    if not absent(spelling, "param"):
        wire["param"] = None
    scribe.unsaid(error, _SAID | {"status"} if beside or in_code else _SAID)
    _tell_kind(error, _kind(error.code, wire.get("type"), status), scribe)
    mine = put_back({}, error.raw)
    return {**wire, **{key: value for key, value in mine.items() if wire.get(key) is None}}


def write_failed(error: ProviderError, scribe: Scribe) -> Wire:
    """The error of a response that failed: its codes are a closed set."""
    wire = write_error(error, scribe)
    if not form(error.raw) and error.code not in ERROR_CODES:
        if error.code is not None:
            scribe.lost(error, "code", "no code that a failed response may have")
        wire["code"] = "server_error"
        if error.kind is ErrorKind.RATE_LIMIT:
            wire["code"] = "rate_limit_exceeded"
        _tell_kind(error, _kind(wire["code"], None, None), scribe)
    return wire


def _tell_kind(error: ProviderError, again: ErrorKind, scribe: Scribe) -> None:
    if again is not error.kind:
        scribe.lost(error, "kind", f"reads as {again.value}", kind="approximated")
